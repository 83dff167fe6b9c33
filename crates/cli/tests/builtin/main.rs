//! The built-in agent on real processes, against a model without a network: what it prints, what
//! the provider sees of it, what it does to files, and that nothing of it is left.

#![expect(clippy::unwrap_used, reason = "this is how a test fails")]

mod choice;
mod compaction;
mod errors;
mod harness;
mod keys;
mod malformed;
mod models;
mod prompts;
mod recorded;
mod sessions;
mod sizes;
mod stops;
mod supervised;
mod tools;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use test_support::{Program, World};

/// A world with the programs that were just built.
fn world() -> World {
    World::new(Program {
        pi_subagents: env!("CARGO_BIN_EXE_pi-subagents"),
        fake_agent: env!("CARGO_BIN_EXE_fake-agent"),
    })
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A turn of the model that calls one tool.
fn call(name: &str, args: &Value) -> Value {
    json!({"tools": [{"name": name, "args": args}]})
}

/// A turn of the model that calls bash.
fn bash(command: &str) -> Value {
    call("bash", &json!({"command": command}))
}
