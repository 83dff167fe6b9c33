//! `pi-subagents mcp` with clients that we did not write: those of the official SDKs, pinned
//! in `e2e/requirements.txt` and `e2e/package.json`. Each test has one of them play a scenario
//! (`e2e/mcp`) and looks at what it has seen, and at what is left. `cargo xtask test` installs them
//! and says where they are.

#![expect(clippy::unwrap_used, reason = "this is how a test fails")]

/// Makes a test of each function for each of the two SDKs.
macro_rules! with_both_clients {
    ($($name:ident),* $(,)?) => {
        mod python {
            $(#[test]
            fn $name() {
                super::$name(crate::Client::Python);
            })*
        }

        mod typescript {
            $(#[test]
            fn $name() {
                super::$name(crate::Client::TypeScript);
            })*
        }
    };
}

mod calls;
mod ends;
mod inspector;
mod limits;
mod listening;
mod questions;
mod sessions;
mod tour;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use test_support::{Program, World, e2e};

/// Who speaks to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Client {
    /// The official Python SDK, which speaks the protocol of 2026.
    Python,
    /// The same, greeting the server as it was done before.
    PythonWithHandshake,
    /// The official TypeScript SDK in its first version, which does that, too.
    TypeScript,
}

impl Client {
    /// A scenario, not yet played.
    fn command(self, world: &World, scenario: &str, options: &Value) -> Command {
        let mut options = options.clone();
        options["server"] = json!(env!("CARGO_BIN_EXE_pi-subagents"));
        options["handshake"] = json!(self == Client::PythonWithHandshake);
        let (program, script) = match self {
            Client::Python | Client::PythonWithHandshake => (".venv/bin/python", "mcp/client.py"),
            Client::TypeScript => ("node_modules/.bin/node", "mcp/client.mjs"),
        };
        let mut command = program_in(world, &e2e().join(program));
        command.arg(e2e().join(script)).arg(scenario).arg(options.to_string());
        command
    }

    /// Starts a scenario, and returns when the client is connected: many clients at once take long to start, which
    /// is not what the tests are about.
    fn start(self, world: &World, scenario: &str, options: &Value) -> Playing {
        let mut command = self.command(world, scenario, options);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut playing = Playing { child, output };
        assert_eq!(playing.line(), "connected\n");
        playing
    }

    /// Plays a scenario to its end, and returns the facts.
    fn play(self, world: &World, scenario: &str, options: &Value) -> Value {
        let mut playing = self.start(world, scenario, options);
        let facts = playing.facts();
        playing.finish();
        facts
    }
}

/// A client that plays a scenario.
struct Playing {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Playing {
    /// What the client has seen. It may still be there after it has told.
    fn facts(&mut self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    /// The next line that the client prints.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        if line.is_empty() {
            let mut said = String::new();
            self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            assert!(!line.is_empty(), "the client has said nothing: {said}");
        }
        line
    }

    /// Waits for its end, which is a good one.
    fn finish(self) {
        let ended = self.child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{}: {said}", ended.status);
    }

    /// Kills it, and nothing else.
    fn kill(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::KILL).unwrap();
        self.child.wait().unwrap();
    }
}

/// Any program with the surroundings of a world.
fn program_in(world: &World, program: &Path) -> Command {
    let mut command = world.command_of(program);
    command
        .env("PATH", format!("{}:/usr/bin:/bin", e2e().join("node_modules/.bin").display()))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// A world with a preset `scout`, a profile `reviewer`, and agents that play the script.
fn world(script: &Value) -> World {
    let program = Program {
        pi_subagents: env!("CARGO_BIN_EXE_pi-subagents"),
        fake_agent: env!("CARGO_BIN_EXE_fake-agent"),
    };
    let reviewer = "---\nname: reviewer\n---\nYou review.\n";
    let world =
        World::new(program).with_scout().with_agent_file("agent-profiles/reviewer.md", reviewer);
    let_play(&world, script);
    world
}

/// A world whose agents do what [`World::working`] says.
fn working_world() -> World {
    let world = world(&json!([]));
    let_play(&world, &world.working());
    world
}

/// From now on, agents that are started play this script. However slow the machine is, a call is
/// waited for.
fn let_play(world: &World, script: &Value) {
    let agent: Value = serde_json::from_str(&world.agent(script)).unwrap();
    world.settings(&json!({"agent": agent, "mcpAnswerAfter": 600}));
}

/// The script of an agent that answers with its prompt.
fn echo() -> Value {
    json!(["start", {"tell": "prompt"}, {"end": false}, "settle"])
}

/// The call of `delegate_to_subagents` with one task.
fn delegation() -> Value {
    let tasks = json!([{"name": "first", "prompt": "look"}]);
    json!({"tool": "delegate_to_subagents", "arguments": {"tasks": tasks}})
}

/// The call that continues a session.
fn resumption(session: &str) -> Value {
    let tasks = json!([{"name": "again", "prompt": "go on", "resume": session}]);
    json!({"tool": "delegate_to_subagents", "arguments": {"tasks": tasks}})
}

/// The call of a tool that tells of a session.
fn output_of(session: &str) -> Value {
    json!({"tool": "get_subagent_output", "arguments": {"sessionId": session}})
}

/// The only session of a call that has ended well.
#[track_caller]
fn completed(seen: &Value) -> (String, String) {
    let structured = &seen["answer"]["structuredContent"];
    assert_eq!(structured["status"], "done", "{seen:#}");
    let session = &structured["sessions"][0];
    assert_eq!(session["status"], "completed", "{seen:#}");
    let text = |name: &str| session[name].as_str().unwrap().to_owned();
    (text("sessionId"), text("runId"))
}

/// A file of a run.
fn run_file(run: &Path, name: &str) -> Value {
    serde_json::from_slice(&fs::read(run.join(name)).unwrap()).unwrap()
}

/// The processes of our program in one of its roles.
fn of_role(world: &World, role: &str) -> Vec<u32> {
    let processes = world.processes().into_iter();
    let in_role = processes.filter(|(_, words)| words.split(' ').nth(1) == Some(role));
    in_role.map(|(process, _)| process).collect()
}

/// How many agents are at work, with all that they have started.
fn agents(world: &World) -> usize {
    let is_agent = |words: &str| words.starts_with(env!("CARGO_BIN_EXE_fake-agent"));
    world.processes().iter().filter(|(_, words)| is_agent(words)).count()
}

/// Fails unless every process is gone, every run has a result, and no other file is left.
#[track_caller]
fn assert_only_results_are_left(world: &World) {
    world.assert_nothing_left();
    for run in world.runs() {
        assert!(run.join("result.json").exists(), "{} has no result", run.display());
    }
    let hidden = names_in(&world.project().join(".pi/subagents/runs"));
    let hidden: Vec<&String> = hidden.iter().filter(|name| name.starts_with('.')).collect();
    assert_eq!(hidden, [".gitignore"]);
    let known = ["go", "home", "leave", "package.json", "project", "working"];
    let mut others = names_in(&world.path(""));
    others.retain(|name| !known.contains(&name.as_str()));
    assert!(others.is_empty(), "{others:?} is left");
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Lets clients leave that stay until the file `leave` is there.
fn let_leave(world: &World) {
    fs::write(world.path("leave"), "").unwrap();
}
