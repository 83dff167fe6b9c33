//! A program that speaks JSON-RPC on its standard streams, and a test at the other end.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::Ran;

/// The program, and everything that it has said.
pub struct Conversation {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next_id: u64,
    /// What was told and what was asked, and nobody has taken yet.
    pub heard: VecDeque<Value>,
    /// The answers that nobody has waited for yet.
    pub answers: Vec<Value>,
}

#[expect(clippy::unwrap_used, reason = "this is how a test fails")]
impl Conversation {
    /// Starts the program.
    pub fn start(mut command: Command) -> Conversation {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (heard, answers) = (VecDeque::new(), Vec::new());
        Conversation { child, input, output, next_id: 1, heard, answers }
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes bytes as they are.
    pub fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Says a message.
    pub fn say(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Tells something that is not answered.
    pub fn tell(&mut self, method: &str, params: &Value) {
        self.say(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Asks for something, without waiting. Returns the number of the request.
    pub fn begin(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// The answer to a request.
    pub fn finish(&mut self, id: u64) -> Value {
        loop {
            if let Some(at) = self.answers.iter().position(|answer| answer["id"] == json!(id)) {
                return self.answers.remove(at);
            }
            self.hear();
        }
    }

    /// Asks for something, and waits for the answer.
    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.begin(method, params);
        self.finish(id)
    }

    /// The next answer to nothing in particular.
    pub fn await_complaint(&mut self) -> Value {
        loop {
            if let Some(at) = self.answers.iter().position(|answer| answer["id"].is_null()) {
                return self.answers.remove(at);
            }
            self.hear();
        }
    }

    /// Waits for the next message of this method. What comes before stays to be heard.
    pub fn await_told(&mut self, method: &str) -> Value {
        loop {
            let at = self.heard.iter().position(|message| message["method"] == json!(method));
            if let Some(message) = at.and_then(|at| self.heard.remove(at)) {
                return message;
            }
            self.hear();
        }
    }

    /// The parameters of everything of this method that was told so far.
    pub fn told(&mut self, method: &str) -> Vec<Value> {
        let (told, rest) =
            self.heard.drain(..).partition(|message| message["method"] == json!(method));
        self.heard = rest;
        let told: VecDeque<Value> = told;
        told.into_iter().map(|message| message["params"].clone()).collect()
    }

    /// Kills the program.
    pub fn kill(&self) {
        kill_process(Pid::from_child(&self.child), Signal::KILL).unwrap();
    }

    /// Closes the program's input and waits for its end.
    pub fn close(mut self) -> Ran {
        drop(self.input.take());
        drop(self.output);
        self.child.wait_with_output().unwrap().into()
    }

    /// Closes the program's input, and returns what it still says until its end.
    pub fn close_and_listen(mut self) -> (Vec<Value>, Ran) {
        drop(self.input.take());
        let lines = self.output.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        let said = self.answers.into_iter().chain(self.heard).chain(lines).collect();
        (said, self.child.wait_with_output().unwrap().into())
    }

    /// Waits for the next message.
    pub fn hear(&mut self) {
        let mut line = String::new();
        let length = self.output.read_line(&mut line).unwrap();
        assert!(length > 0, "the program is gone: {:?}", self.child.wait());
        let message: Value = serde_json::from_str(&line).unwrap();
        if message.get("method").is_some() {
            self.heard.push_back(message);
        } else {
            self.answers.push(message);
        }
    }
}
