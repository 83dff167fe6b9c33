//! What users see on a terminal while agents work, and what stays of it: the program on a real
//! pseudo-terminal, and a terminal in memory that shows what it writes.
//!
//! The screens are kept in `snapshots`; `INSTA_UPDATE=always` writes them anew.

mod diffs;
mod keys;
mod kinds;
mod records;
mod screens;
mod stops;
pub(crate) mod terminal;
mod watching;
mod wizard;

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use test_support::World;

/// A world with a preset `scout`.
fn world() -> World {
    crate::world().with_scout()
}

/// An agent that says and does something, works until the file `go` is in its directory, and then
/// answers.
fn working() -> Value {
    json!([
        "start",
        {"message": {"text": "I look around first.", "stop": "toolUse"}},
        {"tool": {"id": "1", "name": "ls", "args": {"path": "src"}, "result": "main.rs\nlib.rs"}},
        {"message": {"text": "Two files. Now the tests.", "stop": "toolUse"}},
        {"tool_start": {"id": "2", "name": "bash", "args": {"command": "cargo test"}}},
        {"await": "go"},
        {"tool": {"id": "2", "name": "bash", "args": {"command": "cargo test"}, "result": "ok"}},
        {"say": "All tests pass."},
        {"end": false},
        "settle",
    ])
}

/// The command, on a terminal that knows colours.
fn on_terminal(mut command: Command) -> Command {
    command.env("TERM", "xterm-256color");
    command
}

fn run(world: &World, script: &Value, arguments: &[&str]) -> Command {
    let agent = world.agent(script);
    let mut all = vec!["run", "--agent", &agent];
    all.extend(arguments);
    all.push("look around");
    on_terminal(world.command(all))
}

/// `delegate` with so many tasks, each in a directory of its own.
fn delegate(world: &World, script: &Value, count: usize, concurrency: usize) -> Command {
    let tasks: Vec<Value> = (1..=count)
        .map(|number| json!({"name": format!("agent {number}"), "prompt": "p", "cwd": room(world, number)}))
        .collect();
    delegate_these(world, script, &tasks, concurrency)
}

fn delegate_these(world: &World, script: &Value, tasks: &[Value], concurrency: usize) -> Command {
    let call = world.path("call.json");
    fs::write(&call, json!({"tasks": tasks}).to_string()).unwrap();
    let (agent, concurrency) = (world.agent(script), concurrency.to_string());
    let call = call.to_str().unwrap();
    on_terminal(world.command(["delegate", "--agent", &agent, "--concurrency", &concurrency, call]))
}

/// Makes the directory of a task.
fn room(world: &World, number: usize) -> String {
    let room = world.path(&format!("room-{number}"));
    fs::create_dir_all(&room).unwrap();
    room.to_str().unwrap().to_owned()
}

/// Lets the agents with these numbers continue.
fn let_go(world: &World, numbers: impl IntoIterator<Item = usize>) {
    for number in numbers {
        fs::write(world.path(&format!("room-{number}/go")), "").unwrap();
    }
}
