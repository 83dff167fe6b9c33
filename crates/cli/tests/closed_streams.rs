//! Standard streams that are closed when a command starts, as `>&-` does in a shell.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use test_support::fake_agent::quick;
use test_support::{Ran, World};

use crate::world;

/// The same command, started by a shell with these redirections.
fn redirected(command: &Command, redirections: &str) -> Ran {
    let line = format!("exec \"$0\" \"$@\" {redirections}");
    Ran::from(World::behind(&["/bin/sh", "-c", &line], command).output().unwrap())
}

#[test]
fn what_cannot_be_printed_is_an_error_of_every_command() {
    let world = world().with_scout();
    let agent = world.agent(&quick());
    let tasks = world.path("tasks.json");
    fs::write(&tasks, test_support::fake_agent::tasks(2).to_string()).unwrap();
    let tasks = tasks.to_str().unwrap();
    for arguments in [
        ["--version"].as_slice(),
        &["--help"],
        &["run", "--help"],
        &["run", "--agent", &agent, "go"],
        &["run", "--json", "--agent", &agent, "go"],
        &["delegate", "--agent", &agent, tasks],
        &["delegate", "--json", "--agent", &agent, tasks],
        &["sessions", "list"],
        &["sessions", "list", "--json"],
        &["bg", "status"],
        &["bg", "list", "--json"],
        &["preset", "list"],
        &["doctor", "--json"],
        &["completions", "bash"],
        &["agent", "--mode", "json", "go"],
        &["bridge"],
        &["mcp"],
    ] {
        let ran = redirected(&world.command(arguments), ">&-");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains("standard output is closed"), "{arguments:?}: {ran:?}");
    }
    for arguments in [["--version"].as_slice(), &["--help"], &["preset", "list"]] {
        let ran = redirected(&world.command(arguments), "> /dev/full");
        assert_eq!(ran.code, Some(1), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains("No space left on device"), "{arguments:?}: {ran:?}");
    }
    world.assert_nothing_left();
}

/// Node and Python open `/dev/null` for reading and writing, as the standard library of Rust does.
#[test]
fn what_is_thrown_away_on_purpose_is_no_error() {
    let world = world();
    let agent = world.agent(&quick());
    for redirections in ["> /dev/null", "1<> /dev/null", "<&- 2>&- > /dev/null"] {
        for arguments in [["--version"].as_slice(), &["run", "--agent", &agent, "go"]] {
            let ran = redirected(&world.command(arguments), redirections);
            assert_eq!(ran.code, Some(0), "{arguments:?} {redirections}: {ran:?}");
        }
    }
    world.assert_nothing_left();
}

#[test]
fn with_no_stream_at_all_the_run_is_recorded_and_the_exit_code_is_true() {
    let world = world();
    let ran = redirected(&world.play_command(&quick(), &[]), "<&- >&- 2>&-");
    world.assert_nothing_left();
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(1), "", ""));
    let run = world.only_run();
    let result: Value =
        serde_json::from_slice(&fs::read(run.join("result.json")).unwrap()).unwrap();
    assert_eq!((&result["outcome"], &result["output"]), (&json!("completed"), &json!("found it")));
    let events = fs::read_to_string(run.join("events.jsonl")).unwrap();
    for line in events.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        assert!(event["seq"].is_u64(), "another stream was written into it: {line}");
    }
}
