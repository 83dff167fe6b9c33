//! How many agents run at a time over all programs of a user, whose turn it is, and what is said of those that wait.

mod killed;
mod status;
mod turns;
mod waiting;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use test_support::{Running, World, wait_until};

/// A world in which so many agents run at a time.
fn world(most: usize) -> World {
    let world = crate::world().with_scout();
    world.settings(&json!({"machineConcurrency": most}));
    world
}

/// A call of `delegate` with so many tasks, whose agents write its name into the log when they start, and wait for
/// [`World::let_go`].
fn start_call(world: &World, name: &str, count: usize, work: &str) -> Running {
    let shell = format!("echo {name} >> {}; {work}", log(world).display());
    let script = json!([
        "start",
        {"shell": shell},
        {"tool": {"name": "ls", "args": {"path": "."}, "result": "nothing"}},
        {"await": world.path("go")},
        {"say": "done"},
        {"end": false},
        "settle",
    ]);
    let task = |number| json!({"name": format!("{name}-{number}"), "prompt": "go"});
    let tasks: Vec<Value> = (0..count).map(task).collect();
    let file = world.path(&format!("{name}.json"));
    fs::write(&file, json!({"tasks": tasks}).to_string()).unwrap();
    let agent = world.agent(&script);
    Running::start(world.command([
        "delegate",
        "--json",
        "--concurrency",
        "32",
        "--agent",
        &agent,
        file.to_str().unwrap(),
    ]))
}

fn log(world: &World) -> PathBuf {
    world.path("log")
}

/// The calls whose agents have started, in the order of their starts.
fn started(world: &World) -> Vec<String> {
    let log = fs::read_to_string(log(world)).unwrap_or_default();
    log.lines().map(str::to_owned).collect()
}

fn status(world: &World) -> Value {
    let ran = world.run(&["status", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json()
}

/// How many agents have a slot, and how many calls wait.
fn counts(world: &World) -> (usize, usize) {
    let status = status(world);
    let count = |name: &str| status[name].as_array().unwrap().len();
    (count("running"), count("waiting"))
}

fn wait_for_counts(world: &World, running: usize, waiting: usize) {
    wait_until(|| counts(world) == (running, waiting));
}

/// How many agents run, by the list of processes.
fn agents(world: &World) -> usize {
    let processes = world.processes();
    processes
        .iter()
        .filter(|(_, words)| words.starts_with(env!("CARGO_BIN_EXE_fake-agent")))
        .count()
}
