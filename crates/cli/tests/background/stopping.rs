//! `bg stop`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use test_support::{Running, World, wait_until};

use super::{
    has_said, quick, run_dir, signal, start, start_working, status, wait_for_result, world,
};

/// The only run of the document.
fn stopped(document: &Value) -> Value {
    assert_eq!(document["runs"].as_array().map(Vec::len), Some(1), "{document}");
    document["runs"][0].clone()
}

/// Starts an agent and a command of it in a session of its own, which both ignore SIGTERM.
fn start_stubborn(world: &World) -> String {
    let hidden = json!(["setsid", "ignore_sigterm", {"touch": world.path("hidden")}, "hang"]);
    let script = json!([
        "ignore_sigterm",
        {"message": {"text": "working on it", "stop": "toolUse"}},
        {"spawn": {"steps": hidden, "empty_environment": true}},
        {"await": world.path("hidden")},
        {"touch": world.path("working")},
        "hang",
    ]);
    let id = start(world, &script);
    wait_until(|| world.path("working").exists() && has_said(world, &id, "working on it"));
    id
}

#[test]
fn the_whole_tree_is_stopped_and_that_is_proven() {
    let world = world();
    let id = start_stubborn(&world);
    let ran = world.run(&["bg", "stop", &id]);
    world.assert_nothing_left();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout, format!("{id}  aborted    scout: 0 processes left\n"));
    let run = status(&world, &id);
    assert_eq!((&run["status"], &run["outcome"]), (&json!("aborted"), &json!("cancelled")));
    assert_eq!(run["finalText"], "working on it");
}

#[test]
fn at_once_means_without_grace() {
    let world = world();
    let id = start_stubborn(&world);
    let run = stopped(&world.run(&["bg", "stop", "--now", "--json", &id]).json());
    world.assert_nothing_left();
    assert_eq!((&run["status"], &run["left"]), (&json!("aborted"), &json!(0)));
    let took = run["endTime"].as_u64().unwrap() - run["startTime"].as_u64().unwrap();
    assert!(took < 5_000, "there was a grace: {took} ms");
}

#[test]
fn a_stopped_supervisor_is_woken() {
    let world = world();
    let id = start_working(&world);
    signal(world.supervisor(), Signal::STOP);
    let run = stopped(&world.run(&["bg", "stop", "--json", &id]).json());
    world.assert_nothing_left();
    assert_eq!((&run["status"], &run["left"]), (&json!("aborted"), &json!(0)));
    assert_eq!((&run["finalText"], &run["hadEnded"]), (&json!("working on it"), &json!(false)));
    assert!(has_said(&world, &id, "\"type\":\"stopping\""), "it has stopped the run itself");
}

#[test]
fn a_supervisor_that_never_answers_is_killed() {
    let world = world();
    let id = start_working(&world);
    let pid = world.supervisor();
    let is_over = AtomicBool::new(false);
    let run = thread::scope(|scope| {
        scope.spawn(|| {
            wait_until(|| {
                let _ = kill_process(pid, Signal::STOP);
                is_over.load(Ordering::Relaxed)
            });
        });
        signal(pid, Signal::STOP);
        let ran = world.run(&["bg", "stop", "--now", "--json", &id]);
        is_over.store(true, Ordering::Relaxed);
        stopped(&ran.json())
    });
    world.assert_nothing_left();
    assert_eq!((&run["status"], &run["left"]), (&json!("aborted"), &json!(0)));
    assert_eq!(run["finalText"], "working on it");
}

#[test]
fn many_stop_one_run_and_it_ends_once() {
    let world = world();
    let id = start_working(&world);
    let programs: Vec<Running> =
        (0..4).map(|_| Running::start(world.command(["bg", "stop", "--json", &id]))).collect();
    for program in programs {
        let ran = program.finish();
        let run = stopped(&ran.json());
        assert_eq!(
            (ran.code, &run["status"], &run["left"]),
            (Some(0), &json!("aborted"), &json!(0))
        );
    }
    let again = stopped(&world.run(&["bg", "stop", "--json", &id]).json());
    assert_eq!((&again["status"], &again["hadEnded"]), (&json!("aborted"), &json!(true)));
    world.assert_nothing_left();
    let events = std::fs::read_to_string(run_dir(&world, &id).join("events.jsonl")).unwrap();
    assert_eq!(events.matches("\"type\":\"stopping\"").count(), 1, "{events}");
    assert_eq!(events.matches("\"type\":\"run_ended\"").count(), 1, "{events}");
}

#[test]
fn several_are_stopped_and_what_had_ended_stays_what_it_was() {
    let world = world();
    let finished = start(&world, &quick());
    wait_for_result(&world, &finished);
    let running = start_working(&world);
    // With an unknown id, the whole command is refused.
    let refused = world.run(&["bg", "stop", &running, "zzzzzzzz"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("is called \"zzzzzzzz\""), "{refused:?}");
    assert_eq!(status(&world, &running)["status"], "running");
    let ran = world.run(&["bg", "stop", &finished, &running, &running]);
    world.assert_nothing_left();
    assert_eq!(ran.code, Some(0));
    assert_eq!(
        ran.stdout,
        format!(
            "{finished}  completed  scout (it had ended before): 0 processes left\n\
             {running}  aborted    scout: 0 processes left\n"
        )
    );
    world.let_go();
}
