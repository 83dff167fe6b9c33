//! Programs and supervisors that are killed let go of what they have.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use test_support::{World, wait_until};

use super::{counts, start_call, wait_for_counts, world};

fn kill(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// The supervisors that are at work.
fn supervisors(world: &World) -> Vec<u32> {
    let processes = world.processes();
    let found = processes.iter().filter(|(_, words)| words.contains(" supervise "));
    found.map(|(pid, _)| *pid).collect()
}

#[test]
fn no_slot_is_lost_when_a_third_of_all_programs_and_supervisors_are_killed() {
    const CALLS: usize = 12;
    const TASKS: usize = 10;
    const SLOTS: usize = 6;
    let world = world(SLOTS);
    let names: Vec<String> = (0..CALLS).map(|number| format!("call{number}")).collect();
    let work = "sleep 0.05";
    let calls: Vec<_> = names.iter().map(|name| start_call(&world, name, TASKS, work)).collect();
    wait_for_counts(&world, SLOTS, CALLS);
    world.let_go();
    let mut killed = Vec::new();
    let mut survivors = Vec::new();
    for (index, call) in calls.into_iter().enumerate() {
        // Of those that are there now, every third.
        for pid in supervisors(&world).into_iter().step_by(3) {
            kill(pid);
        }
        if index % 3 == 0 {
            kill(call.pid());
            killed.push(call);
        } else {
            survivors.push(call);
        }
    }
    for call in survivors {
        let ran = call.finish();
        let document: Value = ran.json();
        let outcomes = document["tasks"].as_array().unwrap().iter();
        let outcomes: Vec<&str> = outcomes.map(|task| task["outcome"].as_str().unwrap()).collect();
        assert_eq!(outcomes.len(), TASKS);
        let is_expected = |outcome: &&str| ["completed", "interrupted"].contains(outcome);
        assert!(outcomes.iter().all(is_expected), "{outcomes:?}");
        let completed = outcomes.iter().filter(|outcome| **outcome == "completed").count();
        assert!(completed > 0, "{outcomes:?}");
    }
    for call in killed {
        assert_eq!(call.finish().code, None);
    }
    // What was left by programs that were killed together with their supervisors is ended by a list.
    wait_until(|| {
        world.run(&["sessions", "list", "--json"]);
        world.processes().is_empty()
    });
    assert_eq!(counts(&world), (0, 0));
    let after = start_call(&world, "after", 1, "");
    assert_eq!(after.finish().code, Some(0));
    let files = ["running", "queue", "waiting"].map(|name| {
        let user = rustix::process::geteuid().as_raw();
        let directory = world.path(&format!("pi-subagents-locks-{user}/{name}"));
        std::fs::read_dir(directory).unwrap().count()
    });
    // A turn is a file until the next one that waits finds it without its process.
    assert_eq!([files[0], files[2]], [0, 0]);
    world.wait_until_nothing_is_left();
}
