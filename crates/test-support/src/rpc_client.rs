//! A client of a program that speaks JSON-RPC on its standard streams.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::Ran;

/// A running program, and the messages that it has sent.
pub struct RpcClient {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next_id: u64,
    /// Its notifications and requests that the test has not taken yet.
    pub incoming: VecDeque<Value>,
    /// Its responses that the test has not taken yet.
    pub responses: Vec<Value>,
}

#[expect(clippy::unwrap_used, reason = "this is how a test fails")]
#[expect(missing_docs, reason = "the names say the rest")]
impl RpcClient {
    pub fn start(mut command: Command) -> RpcClient {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (incoming, responses) = (VecDeque::new(), Vec::new());
        RpcClient { child, input, output, next_id: 1, incoming, responses }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes bytes as they are.
    pub fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Sends a notification, which has no response.
    pub fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request without waiting for its response. Returns its id.
    pub fn start_request(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub fn response(&mut self, id: u64) -> Value {
        self.wait_for_response(&json!(id))
    }

    /// The response to a request with an id that the test has chosen.
    pub fn response_named(&mut self, id: &str) -> Value {
        self.wait_for_response(&json!(id))
    }

    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.start_request(method, params);
        self.response(id)
    }

    /// Waits for the next response that belongs to no request.
    pub fn wait_for_complaint(&mut self) -> Value {
        self.wait_for_response(&Value::Null)
    }

    fn wait_for_response(&mut self, id: &Value) -> Value {
        loop {
            if let Some(at) = self.responses.iter().position(|response| response["id"] == *id) {
                return self.responses.remove(at);
            }
            self.receive();
        }
    }

    /// Waits for the next message with this method. Others stay in [`RpcClient::incoming`].
    pub fn wait_for(&mut self, method: &str) -> Value {
        loop {
            let at = self.incoming.iter().position(|message| message["method"] == json!(method));
            if let Some(message) = at.and_then(|at| self.incoming.remove(at)) {
                return message;
            }
            self.receive();
        }
    }

    /// Takes the messages with this method that have arrived so far, and returns their parameters.
    pub fn received(&mut self, method: &str) -> Vec<Value> {
        let (taken, rest) =
            self.incoming.drain(..).partition(|message| message["method"] == json!(method));
        self.incoming = rest;
        let taken: VecDeque<Value> = taken;
        taken.into_iter().map(|message| message["params"].clone()).collect()
    }

    pub fn kill(&self) {
        kill_process(Pid::from_child(&self.child), Signal::KILL).unwrap();
    }

    /// Closes the program's input, and waits for its end.
    pub fn close(mut self) -> Ran {
        drop(self.input.take());
        drop(self.output);
        self.child.wait_with_output().unwrap().into()
    }

    /// Closes the program's input, and returns everything that it sends until its end.
    pub fn close_and_read(mut self) -> (Vec<Value>, Ran) {
        drop(self.input.take());
        let lines = self.output.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        let messages = self.responses.into_iter().chain(self.incoming).chain(lines).collect();
        (messages, self.child.wait_with_output().unwrap().into())
    }

    /// Takes the program's input, for a thread that writes to it.
    pub fn take_input(&mut self) -> ChildStdin {
        self.input.take().unwrap()
    }

    /// Puts the program's input back.
    pub fn give_input(&mut self, input: ChildStdin) {
        self.input = Some(input);
    }

    /// Waits for the next message, and returns it as it was sent.
    pub fn receive_line(&mut self) -> String {
        let mut line = String::new();
        let length = self.output.read_line(&mut line).unwrap();
        assert!(length > 0, "the program is gone: {:?}", self.child.wait());
        line
    }

    pub fn receive(&mut self) {
        let line = self.receive_line();
        let message: Value = serde_json::from_str(&line).unwrap();
        if message.get("method").is_some() {
            self.incoming.push_back(message);
        } else {
            self.responses.push(message);
        }
    }
}
