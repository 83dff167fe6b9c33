//! Agents of other makes, played by a program that prints what they print: every way in which they end, what they are
//! given, and which of them works.

mod acp;
mod choice;
mod claude;
mod codex;
mod fallback;
mod fields;
mod sessions;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use test_support::{Ran, World, write_file, write_program};

use crate::spine::events::events;
use crate::world;

/// A world in which the agent of this name is a program that plays a script.
fn playing(agent: &str, script: &Value) -> World {
    let world = world();
    let command = json!([env!("CARGO_BIN_EXE_fake-agent"), script.to_string()]);
    world.settings(&json!({"agents": {agent: {"command": command, "protocol": agent}}}));
    world
}

/// A program that plays another script each time that it is started, and writes its arguments into the file `calls`.
pub(crate) fn program_in_turn(world: &World, scripts: &[Value]) -> PathBuf {
    for (number, script) in (1..).zip(scripts) {
        write_file(&world.path(&format!("script-{number}.json")), &script.to_string());
    }
    let program = world.path("programs/oracle");
    let (calls, scripts) = (world.path("calls"), world.path("script"));
    let text = format!(
        "#!/bin/sh\necho \"$*\" >> {calls}\nnumber=$(grep -c '' {calls})\n\
         exec {} @{}-$number.json \"$@\"\n",
        env!("CARGO_BIN_EXE_fake-agent"),
        scripts.display(),
        calls = calls.display(),
    );
    write_program(&program, &text);
    program
}

/// A task of that agent, with these arguments. It may change everything: not every system can keep it
/// from that.
fn run(world: &World, agent: &str, arguments: &[&str]) -> Ran {
    let all = [&["run", "--json", "--access", "full", "--agent", agent], arguments, &["do it"]];
    let ran = world.run(&all.concat());
    world.assert_nothing_left();
    ran
}

/// How a task ended, and the reason.
fn outcome(ran: &Ran) -> (String, String) {
    let task = ran.task();
    let text = |name: &str| task[name].as_str().unwrap_or_default().to_owned();
    (text("outcome"), text("error"))
}

/// The steps that print a recorded stream.
pub(crate) fn recorded(agent: &str, name: &str) -> Vec<Value> {
    let path =
        format!("{}/../protocol/tests/streams/{agent}/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| json!({"line": line})).collect()
}

/// The steps, and then an exit with this code.
fn then_exit(mut steps: Vec<Value>, code: u8) -> Value {
    steps.push(json!({"exit": code}));
    Value::from(steps)
}

fn meta(run_dir: &Path) -> Value {
    serde_json::from_slice(&fs::read(run_dir.join("meta.json")).unwrap()).unwrap()
}

/// The events of a task without those that tell only numbers.
fn story(ran: &Ran) -> Vec<String> {
    events(&ran.run_dir()).into_iter().filter(|event| event != "usage_reported").collect()
}
