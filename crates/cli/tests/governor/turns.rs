//! Slots and turns.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::process::Signal;
use test_support::wait_until;

use super::{agents, counts, start_call, started, wait_for_counts, world};

#[test]
fn twelve_programs_with_three_hundred_tasks_share_six_slots_and_each_call_gets_its_turn() {
    const CALLS: usize = 12;
    const TASKS: usize = 25;
    const SLOTS: usize = 6;
    let world = world(SLOTS);
    let names: Vec<String> = (0..CALLS).map(|number| format!("call{number}")).collect();
    let calls: Vec<_> = names.iter().map(|name| start_call(&world, name, TASKS, "")).collect();
    // The first ones have the slots; every call that has none waits for its turn, and so do they for more.
    wait_for_counts(&world, SLOTS, CALLS);
    let before = started(&world).len();
    assert_eq!(before, SLOTS);
    let is_over = AtomicBool::new(false);
    let most = thread::scope(|scope| {
        let sampler = scope.spawn(|| {
            let mut most = 0;
            while !is_over.load(Ordering::Relaxed) {
                most = most.max(agents(&world));
            }
            most
        });
        world.let_go();
        for call in calls {
            let ran = call.finish();
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        }
        is_over.store(true, Ordering::Relaxed);
        sampler.join().unwrap()
    });
    world.wait_until_nothing_is_left();
    assert!((1..=SLOTS).contains(&most), "{most} at a time");
    assert_eq!(counts(&world), (0, 0));
    let started = started(&world);
    assert_eq!(started.len(), CALLS * TASKS);
    // As long as all calls have tasks, none is ahead of another by more than a round. Agents that start at the same time
    // may write their names in another order.
    let mut turns: BTreeMap<&str, usize> = names.iter().map(|name| (name.as_str(), 0)).collect();
    for (index, name) in started[before..].iter().enumerate() {
        *turns.get_mut(name.as_str()).unwrap() += 1;
        let (most, least) = (turns.values().max().unwrap(), turns.values().min().unwrap());
        if *most == TASKS - SLOTS {
            break;
        }
        assert!(most - least <= 2, "after {index} turns: {turns:?}");
    }
}

#[test]
fn a_call_of_two_tasks_does_not_wait_for_one_of_many() {
    let world = world(2);
    let long = start_call(&world, "long", 40, "");
    wait_for_counts(&world, 2, 1);
    let short = start_call(&world, "short", 2, "");
    wait_for_counts(&world, 2, 2);
    world.let_go();
    assert_eq!(short.finish().code, Some(0));
    let between = started(&world).len();
    assert!(between < 40, "{between} had started when the short call ended");
    assert_eq!(long.finish().code, Some(0));
    let started = started(&world);
    let turns = started.iter().enumerate().filter(|(_, name)| *name == "short");
    let turns: Vec<usize> = turns.map(|(index, _)| index).collect();
    assert!(turns.len() == 2 && turns[1] <= 8, "{turns:?}");
    world.wait_until_nothing_is_left();
}

/// A program that the terminal or a debugger holds up must not hold up all others.
#[test]
fn a_call_that_does_not_take_its_turn_is_passed_over() {
    let world = world(1);
    let first = start_call(&world, "first", 1, "");
    wait_for_counts(&world, 1, 0);
    let stopped = start_call(&world, "stopped", 1, "");
    wait_for_counts(&world, 1, 1);
    stopped.signal(Signal::STOP);
    let other = start_call(&world, "other", 1, "");
    wait_for_counts(&world, 1, 2);
    world.let_go();
    assert_eq!(first.finish().code, Some(0));
    assert_eq!(other.finish().code, Some(0));
    assert_eq!(started(&world), ["first", "other"]);
    stopped.signal(Signal::CONT);
    assert_eq!(stopped.finish().code, Some(0));
    wait_until(|| counts(&world) == (0, 0));
    world.wait_until_nothing_is_left();
}
