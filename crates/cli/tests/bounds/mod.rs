//! What no file and no peer can do: hold a command up, or make it grow. And what runs are kept for how
//! long.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod clock;
mod damaged_runs;
mod retention;
mod temporary_stores;

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use test_support::{Ran, World};

use crate::world;

/// An agent that answers at once.
fn answers(text: &str) -> Value {
    json!(["start", {"say": text}, {"end": false}, "settle"])
}

/// Runs a command that must neither wait nor need more than so much memory.
#[track_caller]
fn run_within(world: &World, mebibytes: u32, arguments: &[&str]) -> Ran {
    let limit = format!("ulimit -v {}; exec timeout 30 \"$0\" \"$@\"", mebibytes * 1024);
    let mut command: Command = World::behind(&["sh", "-c", &limit], &world.command(arguments));
    let ran = Ran::from(command.output().unwrap());
    assert_ne!(ran.code, Some(124), "{arguments:?} did not end: {ran:?}");
    ran
}

/// Makes a file as long as no run ever makes one, without taking anything from the disk.
fn inflate(path: &Path) {
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(60 << 30).unwrap();
}

/// Changes a JSON file.
fn rewrite(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    change(&mut value);
    std::fs::write(path, value.to_string()).unwrap();
}
