//! Many tasks at once.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use test_support::{Ran, wait_until};

use super::{delegate, world};

fn tasks(count: usize) -> Value {
    let task = |number| json!({"name": format!("t{number}"), "prompt": format!("task {number}")});
    json!({"tasks": (0..count).map(task).collect::<Vec<_>>()})
}

#[test]
fn sixteen_tasks_run_four_at_a_time_and_keep_their_order() {
    let world = world();
    let started_directory = world.path("started");
    fs::create_dir(&started_directory).unwrap();
    // Every child writes a file of its own and waits until the test lets it continue.
    let shell = format!(
        "mktemp -p {} > /dev/null; while [ ! -e {} ]; do sleep 0.01; done; exec {} --mode json",
        started_directory.display(),
        world.path("go").display(),
        env!("CARGO_BIN_EXE_fake-agent"),
    );
    let agent = json!(["sh", "-c", shell]).to_string();
    let call = world.path("call.json");
    fs::write(&call, tasks(16).to_string()).unwrap();
    let mut command =
        world.command(["delegate", "--json", "--agent", &agent, call.to_str().unwrap()]);
    let child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let started = || fs::read_dir(&started_directory).unwrap().count();
    wait_until(|| started() == 4);
    assert_eq!(world.runs().len(), 4, "the others are queued, and have no run yet");
    fs::write(world.path("go"), "").unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    world.assert_nothing_left();
    assert_eq!(started(), 16);
    let document = ran.json();
    let said: Vec<String> = document["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| {
            format!("{}: {}", task["name"].as_str().unwrap(), task["output"].as_str().unwrap())
        })
        .collect();
    let expected: Vec<String> =
        (0..16).map(|number| format!("t{number}: You said: task {number}")).collect();
    assert_eq!((ran.code, said), (Some(0), expected));
}

#[test]
fn the_runs_of_one_call_share_its_id() {
    let world = world();
    let script = json!(["start", {"tell": "prompt"}]);
    for count in [3, 2] {
        let ran = delegate(&world, &script, &tasks(count), &[]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let ran = world.run(&["run", "--agent", &world.agent(&script), "one task"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    world.assert_nothing_left();
    let ids = world.runs().into_iter().map(|run| {
        let meta: Value =
            serde_json::from_slice(&fs::read(run.join("meta.json")).unwrap()).unwrap();
        meta["callId"].as_str().unwrap().to_owned()
    });
    let ids: Vec<String> = ids.collect();
    let calls: Vec<usize> = ids.chunk_by(|one, other| one == other).map(<[String]>::len).collect();
    assert_eq!(calls, [3, 2, 1], "{ids:?}");
    assert_ne!(ids[0], ids[5]);
}

#[test]
fn the_problem_of_one_task_is_not_that_of_the_others() {
    let world = world();
    let call = json!({"tasks": [
        {"name": "good", "prompt": "one"},
        {"name": "profile", "prompt": "two", "profile": "nope"},
        {"name": "cwd", "prompt": "three", "cwd": "relative"},
        {"name": "missing", "prompt": "four", "cwd": "/no/such/directory"},
        {"name": "last", "prompt": "five"},
    ]});
    let ran = delegate(&world, &json!(["start", {"tell": "prompt"}]), &call, &[]);
    world.assert_nothing_left();
    assert_eq!(ran.code, Some(1));
    let errors: Vec<Value> =
        ran.json()["tasks"].as_array().unwrap().iter().map(|task| task["error"].clone()).collect();
    assert_eq!(
        errors,
        [
            Value::Null,
            json!("Unknown profile: \"nope\". Available profiles: (none)"),
            json!("cwd must be an absolute path"),
            json!(
                "Failed to spawn sub-agent process: the working directory /no/such/directory does not exist"
            ),
            Value::Null,
        ]
    );
    assert_eq!(world.runs().len(), 5, "every task is recorded, also one that was refused");
}

#[test]
fn summaries_are_printed_in_order_with_their_profiles() {
    let world = world();
    super::profile(&world, "fast", "---\nname: fast\nmodel: x/y\nthinkingLevel: low\n---\n");
    let call = world.path("call.json");
    let tasks = json!({"profile": "fast", "tasks": [
        {"name": "a", "prompt": "p"}, {"name": "b", "prompt": "p", "profile": "nope"}]});
    fs::write(&call, tasks.to_string()).unwrap();
    let agent = world.agent(&json!([{"say": "done"}]));
    let ran = world.run(&["delegate", "--quiet", "--agent", &agent, call.to_str().unwrap()]);
    let lines: Vec<String> = ran
        .stdout
        .lines()
        .map(|line| {
            let (before, rest) = line.split_once("(session: ").unwrap();
            format!("{before}(session: ID){}", &rest[17..])
        })
        .collect();
    assert_eq!(
        lines,
        [
            "✓ a: completed (session: ID) (profile: fast, model=x/y, thinking=low)",
            "✗ b: error — Unknown profile: \"nope\". Available profiles: fast (session: ID) (nope)",
        ]
    );
}

#[test]
fn cancelling_stops_what_runs_and_what_is_queued() {
    let world = world();
    let script = json!([
        {"message": {"text": "working", "stop": "toolUse"}},
        {"spawn": {"steps": ["setsid", "hang"]}},
        "hang",
    ]);
    let agent = world.agent(&script);
    let call = world.path("call.json");
    fs::write(&call, tasks(5).to_string()).unwrap();
    let mut command = world.command([
        "delegate",
        "--json",
        "--concurrency",
        "2",
        "--agent",
        &agent,
        call.to_str().unwrap(),
    ]);
    let child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let has_spoken = |run: &std::path::PathBuf| {
        fs::read_to_string(run.join("events.jsonl")).unwrap_or_default().contains("working")
    };
    wait_until(|| world.runs().len() == 2 && world.runs().iter().all(has_spoken));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    world.assert_nothing_left();
    assert_eq!(ran.code, Some(130));
    let document = ran.json();
    let tasks = document["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 5);
    for (index, task) in tasks.iter().enumerate() {
        let output = if index < 2 { "working" } else { "" };
        assert_eq!((&task["outcome"], &task["output"]), (&json!("cancelled"), &json!(output)));
    }
    assert_eq!(tasks[4]["error"], "Cancelled before it was started");
    assert_eq!(world.runs().len(), 5);
}

#[test]
fn wrong_arguments_start_nothing_and_name_the_field() {
    let world = world();
    for (call, expected) in [
        (json!({"tasks": []}), "tasks: must hold at least one task"),
        (json!({"tasks": [{"name": "a"}]}), "tasks[0].prompt: is missing"),
        (json!("x"), "arguments: must be an object"),
    ] {
        let ran = delegate(&world, &json!([]), &call, &[]);
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains(expected), "{ran:?}");
    }
    let ran = world.run(&["delegate", "/no/such/file.json"]);
    assert_eq!(ran.code, Some(2));
    assert!(world.runs().is_empty());
}

#[test]
fn a_hundred_tasks_are_no_problem_for_the_command_line() {
    let world = world();
    let ran = delegate(&world, &json!([{"say": "done"}]), &tasks(100), &["--concurrency", "16"]);
    world.assert_nothing_left();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.json()["tasks"].as_array().unwrap().len(), 100);
}
