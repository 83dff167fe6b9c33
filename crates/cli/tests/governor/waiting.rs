//! A background run that waits: it is there at once, says why it waits, and can be stopped.

use std::fs::File;
use std::process::Stdio;

use serde_json::{Value, json};
use test_support::fake_agent::quick;
use test_support::{Ran, World, wait_until};

use super::{start_call, wait_for_counts, world};

/// Starts a background run, which must return at once, and returns its id.
fn start_background(world: &World) -> String {
    let agent = world.agent(&quick());
    let ran = world.run(&["bg", "start", "--preset", "scout", "--agent", &agent, "look around"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout.trim().to_owned()
}

fn record(world: &World, id: &str) -> Value {
    let document = world.run(&["bg", "status", id, "--json"]).json();
    document["runs"][0].clone()
}

const REASON: &str = "queued: 1 of 1 agents are running";

#[test]
fn a_background_run_waits_for_its_slot_and_says_so_everywhere() {
    let world = world(1);
    let first = start_call(&world, "first", 1, "");
    wait_for_counts(&world, 1, 0);
    let id = start_background(&world);
    wait_until(|| record(&world, &id)["waiting"].is_object());
    let waits = record(&world, &id);
    assert_eq!(waits["status"], "running");
    let waiting = &waits["waiting"];
    assert_eq!(
        [&waiting["for"], &waiting["running"], &waiting["most"]],
        [&json!("slots"), &json!(1), &json!(1)]
    );
    assert!(waiting["since"].as_u64().unwrap() >= waits["startTime"].as_u64().unwrap());
    let status = world.run(&["bg", "status", &id]);
    assert!(status.stdout.contains(REASON), "{status:?}");
    let list = world.run(&["bg", "list"]);
    assert!(list.stdout.contains(REASON), "{list:?}");
    let all = super::status(&world);
    assert_eq!(all["waiting"][0]["runId"], json!(id));
    assert_eq!(all["waiting"][0]["words"], REASON);

    world.let_go();
    assert_eq!(first.finish().code, Some(0));
    let ran = world.run(&["bg", "wait", &id]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ended = record(&world, &id);
    assert_eq!((&ended["status"], &ended["waiting"]), (&json!("completed"), &Value::Null));
    world.wait_until_nothing_is_left();
}

#[test]
fn a_background_run_that_waits_is_stopped_without_its_agent() {
    let world = world(1);
    let first = start_call(&world, "first", 1, "");
    wait_for_counts(&world, 1, 0);
    let id = start_background(&world);
    wait_for_counts(&world, 1, 1);
    let ran = world.run(&["bg", "stop", &id, "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let stopped = record(&world, &id);
    assert_eq!((&stopped["status"], &stopped["outcome"]), (&json!("aborted"), &json!("cancelled")));
    let listed = world.run(&["sessions", "list"]).stdout;
    let of_scout = listed.lines().find(|line| line.contains("scout")).unwrap();
    assert_eq!(of_scout.split_whitespace().nth(1), Some("aborted"), "as in `bg list`: {listed}");
    let events = std::fs::read_to_string(
        world.project().join(".pi/subagents/runs").join(&id).join("events.jsonl"),
    );
    assert!(!events.unwrap().contains("run_started"));
    wait_for_counts(&world, 1, 0);
    world.let_go();
    assert_eq!(first.finish().code, Some(0));
    world.wait_until_nothing_is_left();
}

#[test]
fn a_foreground_run_says_once_why_it_waits() {
    let world = world(1);
    let first = start_call(&world, "first", 1, "");
    wait_for_counts(&world, 1, 0);
    let agent = world.agent(&quick());
    let seen = world.path("seen");
    let mut command = world.command(["run", "--name", "second", "--agent", &agent, "go"]);
    let mut second =
        command.stdout(Stdio::null()).stderr(File::create(&seen).unwrap()).spawn().unwrap();
    let said = || std::fs::read_to_string(&seen).unwrap();
    wait_until(|| said().contains(&format!("second: {REASON}\n")));
    world.let_go();
    assert_eq!(first.finish().code, Some(0));
    assert_eq!(second.wait().unwrap().code(), Some(0), "{}", said());
    assert_eq!(said().matches("queued: ").count(), 1, "{}", said());
    world.wait_until_nothing_is_left();
}

#[test]
fn a_foreground_call_that_waits_is_stopped_at_once() {
    let world = world(1);
    let first = start_call(&world, "first", 1, "");
    wait_for_counts(&world, 1, 0);
    let second = start_call(&world, "second", 3, "");
    wait_for_counts(&world, 1, 1);
    second.signal(rustix::process::Signal::INT);
    let ran: Ran = second.finish();
    assert_eq!(ran.code, Some(130), "{ran:?}");
    for task in ran.json()["tasks"].as_array().unwrap() {
        assert_eq!(task["error"], "Cancelled before it was started");
    }
    wait_for_counts(&world, 1, 0);
    world.let_go();
    assert_eq!(first.finish().code, Some(0));
    world.wait_until_nothing_is_left();
}
