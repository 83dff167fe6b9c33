//! `pi-subagents bridge` on real processes, with a test in the place of pi: what it answers, what it
//! tells unasked, and what is left when one of the two goes away.

#![expect(clippy::unwrap_used, clippy::panic, reason = "this is how a test fails")]

mod background;
mod calls;
mod hello;
mod profiles;
mod sessions;

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use test_support::fake_agent::quick;
use test_support::{Program, Ran, World};

/// A world with the programs that were just built and a preset `scout`.
fn world() -> World {
    let program = Program {
        pi_subagents: env!("CARGO_BIN_EXE_pi-subagents"),
        fake_agent: env!("CARGO_BIN_EXE_fake-agent"),
    };
    World::new(program).with_scout()
}

/// Tasks that all agents are asked the same.
fn tasks(count: usize) -> Value {
    let tasks = (1..=count).map(|number| json!({"name": format!("task {number}"), "prompt": "go"}));
    json!({"tasks": tasks.collect::<Vec<Value>>()})
}

/// The other end: a bridge, and everything that it has said unasked.
struct Bridge {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next_id: u64,
    /// What was told and what was asked, and nobody has taken yet.
    heard: VecDeque<Value>,
    /// The answers that nobody has waited for yet.
    answers: Vec<Value>,
}

impl Bridge {
    /// A bridge that has not been greeted.
    fn start(world: &World) -> Bridge {
        let mut command = world.command(["bridge"]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (heard, answers) = (VecDeque::new(), Vec::new());
        Bridge { child, input, output, next_id: 1, heard, answers }
    }

    /// A bridge of a pi whose agents play the script.
    fn of_pi(world: &World, script: &Value) -> Bridge {
        Bridge::greeted(world, script, "json")
    }

    fn greeted(world: &World, script: &Value, mode: &str) -> Bridge {
        let mut bridge = Bridge::start(world);
        let agent: Value = serde_json::from_str(&world.agent(script)).unwrap();
        let hello = bridge.ask(
            "initialize",
            &json!({
                "protocol": bridge::PROTOCOL, "extensionVersion": "0.0.0", "mode": mode,
                "sessionId": "the-session", "agent": agent, "trusted": true, "columns": 100,
            }),
        );
        assert_eq!(hello["result"]["protocol"], json!(bridge::PROTOCOL), "{hello}");
        bridge
    }

    fn say(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    fn tell(&mut self, method: &str, params: &Value) {
        self.say(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Asks for something, without waiting. Returns the number of the request.
    fn begin(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// The answer to a request.
    fn finish(&mut self, id: u64) -> Value {
        loop {
            if let Some(at) = self.answers.iter().position(|answer| answer["id"] == json!(id)) {
                return self.answers.remove(at);
            }
            self.hear();
        }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.begin(method, params);
        self.finish(id)
    }

    /// Begins the call of a tool, under its own name.
    fn begin_call(&mut self, call: &str, tool: &str, arguments: &Value) -> u64 {
        let params = json!({
            "callId": call, "name": tool, "arguments": arguments,
            "models": ["a/one", "a/two"], "allTools": ["read", "bash", "subagent"],
        });
        self.begin("tools/call", &params)
    }

    /// The result of a call.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let id = self.begin_call("call", tool, arguments);
        let answer = self.finish(id);
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// Why a call is refused.
    fn refusal(&mut self, tool: &str, arguments: &Value) -> String {
        let id = self.begin_call("call", tool, arguments);
        let answer = self.finish(id);
        answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Waits for the next message of this method, and returns its parameters. What comes before
    /// stays to be heard.
    fn await_told(&mut self, method: &str) -> Value {
        loop {
            let at = self.heard.iter().position(|message| message["method"] == json!(method));
            if let Some(message) = at.and_then(|at| self.heard.remove(at)) {
                return message;
            }
            self.hear();
        }
    }

    /// The parameters of everything of this method that was told so far.
    fn told(&mut self, method: &str) -> Vec<Value> {
        let (told, rest) =
            self.heard.drain(..).partition(|message| message["method"] == json!(method));
        self.heard = rest;
        let told: VecDeque<Value> = told;
        told.into_iter().map(|message| message["params"].clone()).collect()
    }

    /// What was written into pi's log so far, by its kinds.
    fn entries(&mut self) -> Vec<Value> {
        self.told("session/append")
    }

    fn hear(&mut self) {
        let mut line = String::new();
        let length = self.output.read_line(&mut line).unwrap();
        assert!(length > 0, "the bridge is gone: {:?}", self.child.wait());
        let message: Value = serde_json::from_str(&line).unwrap();
        if message.get("method").is_some() {
            self.heard.push_back(message);
        } else {
            self.answers.push(message);
        }
    }

    fn kill(&self) {
        kill_process(Pid::from_child(&self.child), Signal::KILL).unwrap();
    }

    /// Closes the bridge's input and waits for its end.
    fn close(mut self) -> Ran {
        drop(self.input.take());
        drop(self.output);
        self.child.wait_with_output().unwrap().into()
    }
}
