//! Fewer descriptors than tasks.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use test_support::fake_agent::tasks;
use test_support::{Running, World, wait_until};

use super::world;

/// How many tasks there are, and how many run at a time, as far as possible.
const TASKS: usize = 60;

/// Starts the tasks in a shell that has set these limits. The agents wait for [`World::let_go`].
fn start(world: &World, limits: &str) -> Running {
    fs::write(world.path("tasks.json"), tasks(TASKS).to_string()).unwrap();
    world.settings(&json!({"machineConcurrency": TASKS}));
    let agent = world.agent(&json!([{"await": world.path("go")}, {"tell": "limits"}]));
    let mut command = world.command(["delegate", "--json", "--agent", &agent, "--concurrency"]);
    command.arg(TASKS.to_string()).arg(world.path("tasks.json"));
    let line = format!("{limits} && exec \"$0\" \"$@\"");
    Running::start(World::behind(&["/bin/sh", "-c", &line], &command))
}

/// What the agents say about their limits of open files.
fn finish(world: &World, running: Running) -> Vec<String> {
    world.let_go();
    let ran = running.finish();
    world.assert_nothing_left();
    assert_eq!((ran.code, world.runs().len()), (Some(0), TASKS), "{ran:?}");
    let document = ran.json();
    let said = |task: &Value| {
        assert_eq!(
            (&task["outcome"], &task["warnings"]),
            (&json!("completed"), &json!([])),
            "{task}"
        );
        task["output"].as_str().unwrap().split_once(", ").unwrap().1.to_owned()
    };
    let said: BTreeSet<String> = document["tasks"].as_array().unwrap().iter().map(said).collect();
    said.into_iter().collect()
}

fn is_started(run: impl AsRef<Path>) -> bool {
    let events = fs::read_to_string(run.as_ref().join("events.jsonl")).unwrap_or_default();
    events.contains("run_started")
}

#[test]
fn tasks_wait_until_there_are_descriptors_for_them() {
    let world = world();
    let running = start(&world, "ulimit -n 48");
    let descriptors = format!("/proc/{}/fd", running.pid());
    wait_until(|| fs::read_dir(&descriptors).unwrap().count() > 28);
    assert_eq!(finish(&world, running), ["files 48"]);
}

/// An agent that uses `select` relies on the limit that its caller has set.
#[test]
fn a_soft_limit_is_raised_for_the_caller_and_not_for_its_agents() {
    let world = world();
    let running = start(&world, "ulimit -Sn 48");
    wait_until(|| world.runs().iter().filter(|run| is_started(run)).count() == TASKS);
    assert_eq!(finish(&world, running), ["files 48"]);
}
