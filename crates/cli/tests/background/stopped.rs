//! Background supervisors that their own agents stop: no parent is there to wake them.

use serde_json::{Value, json};
use test_support::{World, wait_until};

use super::{has_said, run_dir, start, status, world};

/// Starts an agent that stops its supervisor in this way, and returns when it has.
fn start_attack(world: &World, attack: &Value) -> String {
    let script = json!([
        {"message": {"text": "working on it", "stop": "toolUse"}},
        {"await": world.path("attack")},
        attack,
        {"await": world.path("go")},
        {"say": "found it"},
    ]);
    let id = start(world, &script);
    wait_until(|| has_said(world, &id, "working on it"));
    std::fs::write(world.path("attack"), "").unwrap();
    wait_until(|| is_stopped(world));
    id
}

fn is_stopped(world: &World) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", world.supervisor())).unwrap();
    stat.contains(") T ") || stat.contains(") t ")
}

#[test]
fn every_program_that_looks_at_a_run_wakes_its_supervisor() {
    for look in [["bg", "list"].as_slice(), &["bg", "status"], &["sessions", "list"]] {
        let world = world();
        let id = start_attack(&world, &json!("stop_parent"));
        assert_eq!(world.run(look).code, Some(0));
        wait_until(|| !is_stopped(&world));
        world.let_go();
        let ran = world.run(&["bg", "wait", &id]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "found it\n"), "{ran:?}");
        world.wait_until_nothing_is_left();
    }
}

#[test]
fn a_program_that_waits_kills_a_supervisor_that_cannot_be_woken() {
    let world = world();
    let id = start_attack(&world, &json!("hold_parent"));
    let ran = world.run(&["bg", "wait", &id]);
    world.wait_until_nothing_is_left();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(run_dir(&world, &id).join("result.json").exists());
    let run = status(&world, &id);
    assert_eq!((&run["status"], &run["outcome"]), (&json!("failed"), &json!("interrupted")));
    assert_eq!(run["finalText"], "working on it");
    assert_eq!(
        run["error"],
        "Interrupted: another program kept stopping the supervisor of this run, so it was killed"
    );
}
