//! `status`, `watch --everywhere`, and what is said of a limit.

use std::fs::{self, File};
use std::process::Stdio;

use serde_json::json;
use test_support::fake_agent::tasks;
use test_support::{Running, wait_until};

use super::{start_call, status, wait_for_counts, world};

#[test]
fn status_shows_what_runs_and_waits_in_all_projects() {
    let world = world(1);
    let empty = world.run(&["status"]);
    assert!(empty.stdout.starts_with("0 agents are running, of 1 that may.\n"), "{empty:?}");
    let first = start_call(&world, "first", 1, "");
    wait_for_counts(&world, 1, 0);
    let other = world.path("other");
    fs::create_dir_all(other.join(".git")).unwrap();
    let agent = world.agent(&json!([{"say": "done"}]));
    let mut command = world.command(["run", "--json", "--name", "second", "--agent", &agent, "go"]);
    let second = Running::start({
        command.current_dir(&other);
        command
    });
    wait_for_counts(&world, 1, 1);
    let page = world.run(&["status"]);
    assert!(page.stdout.contains("1 agent is running, of 1 that may."), "{page:?}");
    let waits = "second  queued: 1 of 1 agents are running (since ";
    assert!(page.stdout.contains("first-0") && page.stdout.contains(waits), "{page:?}");
    let document = status(&world);
    let running = &document["running"][0];
    assert_eq!((&running["name"], &running["agent"]), (&json!("first-0"), &json!("program")));
    assert!(running["memory"].as_u64().unwrap() > 0, "{running}");
    assert!(running["runDir"].as_str().unwrap().starts_with(world.project().to_str().unwrap()));
    assert_eq!(document["waiting"][0]["cwd"], json!(other));
    assert!(document["memory"]["available"].as_u64().unwrap() > 0);

    // From the other project.
    let mut command = world.command(["watch", "--everywhere", "--plain"]);
    command.current_dir(&other);
    let seen = world.path("seen");
    let mut watch =
        command.stdout(Stdio::null()).stderr(File::create(&seen).unwrap()).spawn().unwrap();
    let watched = || fs::read_to_string(&seen).unwrap();
    wait_until(|| watched().contains("first-0: "));
    world.let_go();
    assert_eq!(first.finish().code, Some(0));
    assert_eq!(second.finish().code, Some(0));
    watch.wait().unwrap();
    assert!(watched().contains("first-0"), "{}", watched());
    world.wait_until_nothing_is_left();
}

/// The supervisor of a background run works in its run directory, and calls it `.`.
#[test]
fn background_runs_that_run_and_wait_are_watched_from_everywhere() {
    let world = world(1);
    let working = json!({"tool": {"name": "ls", "args": {"path": "."}, "result": "nothing"}});
    let go = json!({"await": world.path("go")});
    let script = json!(["start", working, go, {"say": "done"}, {"end": false}, "settle"]);
    let start = |name: &str| {
        let agent = world.agent(&script);
        let ran = world.run(&["bg", "start", "--name", name, "--agent", &agent, "go"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    };
    start("first");
    wait_for_counts(&world, 1, 0);
    start("second");
    wait_for_counts(&world, 1, 1);
    let document = status(&world);
    let runs = world.project().join(".pi/subagents/runs");
    let run_dir = &document["running"][0]["runDir"];
    assert!(run_dir.as_str().unwrap().starts_with(runs.to_str().unwrap()), "{document}");

    let other = world.path("other");
    fs::create_dir_all(other.join(".git")).unwrap();
    let mut command = world.command(["watch", "--everywhere", "--plain"]);
    command.current_dir(&other);
    let seen = world.path("seen");
    let mut watch =
        command.stdout(Stdio::null()).stderr(File::create(&seen).unwrap()).spawn().unwrap();
    let watched = || fs::read_to_string(&seen).unwrap();
    wait_until(|| watched().contains("first: ") && watched().contains("second: queued: "));
    world.let_go();
    assert_eq!(watch.wait().unwrap().code(), Some(0), "{}", watched());
    world.wait_until_nothing_is_left();
}

#[test]
fn more_tasks_at_a_time_than_the_machine_bears_are_told() {
    let world = world(2);
    let agent = world.agent(&json!([{"say": "done"}]));
    let arguments = ["delegate", "--json", "--concurrency", "8", "--agent", &agent];
    let ran = world.feed(world.command(arguments), &tasks(3).to_string());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let words = "--concurrency 8 is more than the 2 agents that may run at a time on this machine \
                 (machineConcurrency)";
    assert!(ran.stderr.contains(words), "{ran:?}");
    world.assert_nothing_left();
}
