//! Runs that outlive the program that started them, on real processes: what can happen to that program, to the
//! supervisor, to the terminal and to the directory, and what every other program sees of it.

mod crashes;
mod earlier_version;
mod logs;
mod looking;
mod many;
mod outliving;
mod stopped;
mod stopping;
mod waiting;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use test_support::fake_agent::quick;
use test_support::{Ran, World, wait_until};

/// A world with a preset `scout`.
fn world() -> World {
    crate::world().with_scout()
}

/// `bg start` with a fake agent that plays the script.
fn start_command(world: &World, script: &Value, arguments: &[&str]) -> Command {
    let agent = world.agent(script);
    let mut all = vec!["bg", "start", "--preset", "scout", "--agent", &agent, "look around"];
    all.extend(arguments);
    world.command(all)
}

/// Starts a run and returns its id.
fn start(world: &World, script: &Value) -> String {
    let ran = Ran::from(start_command(world, script, &[]).output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout.trim().to_owned()
}

/// The same with an agent that waits after its first message; returns when it waits.
fn start_working(world: &World) -> String {
    let id = start(world, &world.working());
    wait_until(|| world.path("working").exists() && has_said(world, &id, "working on it"));
    id
}

fn run_dir(world: &World, id: &str) -> PathBuf {
    world.project().join(".pi/subagents/runs").join(id)
}

fn has_said(world: &World, id: &str, text: &str) -> bool {
    let events = fs::read_to_string(run_dir(world, id).join("events.jsonl"));
    events.unwrap_or_default().contains(text)
}

/// `bg status ID --json`: the only row.
fn status(world: &World, id: &str) -> Value {
    world.run(&["bg", "status", id, "--json"]).json()["runs"][0].clone()
}

/// Waits for the end of a run without taking its notification.
fn wait_for_result(world: &World, id: &str) {
    wait_until(|| run_dir(world, id).join("result.json").exists());
}

fn signal(pid: Pid, signal: Signal) {
    kill_process(pid, signal).unwrap();
}

/// The names of the files in a directory.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A program that keeps running and starts runs through a dispatcher: `fake-caller`.
struct LongLivedCaller {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl LongLivedCaller {
    fn open(world: &World, owner: &str, script: &Value) -> LongLivedCaller {
        let mut command = world.command_of(env!("CARGO_BIN_EXE_fake-caller"));
        command.args([owner, &world.agent(script)]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        LongLivedCaller { child, answers }
    }

    /// Sends a line and returns the answer.
    fn ask(&mut self, line: &str) -> String {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        answer.trim().to_owned()
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Lets it end by itself.
    fn close(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}
