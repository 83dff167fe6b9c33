//! The built-in agent in RPC mode, alone: pi's commands on its standard input.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::*;

struct Rpc {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    seen: Vec<Value>,
}

impl Rpc {
    fn start(builtin: &Builtin) -> Rpc {
        let mut command = builtin.world.command(["agent", "--mode", "rpc", "--no-session"]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Rpc { input: child.stdin.take(), child, output, seen: Vec::new() }
    }

    fn send(&mut self, command: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{command}").unwrap();
    }

    /// Reads until a record of which this is true, and returns it.
    fn read_until(&mut self, is_meant: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "{:#?}", self.seen);
            let record: Value = serde_json::from_str(&line).unwrap();
            self.seen.push(record.clone());
            if is_meant(&record) {
                return record;
            }
        }
    }

    fn kind(&mut self, kind: &str) -> Value {
        self.read_until(|record| record["type"] == kind)
    }

    fn response(&mut self, id: &str) -> Value {
        self.read_until(|record| record["type"] == "response" && record["id"] == id)
    }

    /// Ends the input, and returns the exit code.
    fn end(mut self) -> Option<i32> {
        drop(self.input.take());
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.output, &mut rest).unwrap();
        self.child.wait().unwrap().code()
    }
}

#[test]
fn it_takes_prompts_until_its_input_ends() {
    let builtin = Builtin::new(Api::Completions, &json!([{"text": "one"}, {"text": "two"}]));
    let mut rpc = Rpc::start(&builtin);
    for (id, expected) in [("1", "one"), ("2", "two")] {
        rpc.send(&json!({"id": id, "type": "prompt", "message": "go"}));
        assert_eq!(rpc.response(id)["success"], true);
        let is_answer = |record: &Value| {
            record["type"] == "message_end" && record["message"]["role"] == "assistant"
        };
        assert_eq!(text_of(&rpc.read_until(is_answer)["message"]), expected);
        rpc.kind("agent_settled");
    }
    rpc.send(&json!({"id": "3", "type": "get_state"}));
    let state = rpc.response("3")["data"].clone();
    assert_eq!((&state["isStreaming"], &state["messageCount"]), (&json!(false), &json!(5)));
    rpc.send(&json!({"id": "4", "type": "dance"}));
    assert_eq!(rpc.response("4")["error"], "Unknown command: dance");
    assert_eq!(rpc.end(), Some(0));
    builtin.world.assert_nothing_left();
}

#[test]
fn what_comes_while_it_works_waits_as_it_says() {
    let talk = Talk::new(&[json!({"text": "first"}), json!({"text": "second"})]);
    let mut rpc = Rpc::start(&talk.builtin);
    rpc.send(&json!({"id": "1", "type": "prompt", "message": "go"}));
    wait_until(|| talk.builtin.project("working").exists());
    rpc.send(&json!({"id": "2", "type": "follow_up", "message": "later"}));
    rpc.send(&json!({"id": "3", "type": "steer", "message": "now"}));
    rpc.send(&json!({"id": "4", "type": "prompt", "message": "no"}));
    assert_eq!(rpc.response("2")["success"], true);
    let queue = &rpc.seen.iter().rev().find(|record| record["type"] == "queue_update").unwrap();
    assert_eq!(queue["followUp"], json!(["later"]));
    assert_eq!(rpc.response("3")["success"], true);
    assert_eq!(rpc.response("4")["success"], false, "it says neither steer nor followUp");
    rpc.send(&json!({"id": "5", "type": "get_state"}));
    assert_eq!(rpc.response("5")["data"]["pendingMessageCount"], 2);
    talk.let_go();
    rpc.kind("agent_settled");
    let asked = talk.asked();
    assert_eq!(asked[1..], [vec!["now".to_owned()], vec!["now".into(), "later".into()]]);
    assert_eq!(rpc.end(), Some(0));
    talk.world().assert_nothing_left();
}

#[test]
fn an_abort_ends_what_runs_and_the_next_prompt_is_answered() {
    let talk = Talk::with_command("touch working; sleep 100000", &[json!({"text": "again"})]);
    let mut rpc = Rpc::start(&talk.builtin);
    rpc.send(&json!({"id": "1", "type": "prompt", "message": "go"}));
    wait_until(|| talk.builtin.project("working").exists());
    rpc.send(&json!({"id": "2", "type": "abort"}));
    assert_eq!(rpc.response("2")["success"], true);
    assert!(rpc.seen.iter().any(|record| record["type"] == "agent_settled"), "{:#?}", rpc.seen);
    rpc.send(&json!({"id": "3", "type": "prompt", "message": "once more"}));
    rpc.kind("agent_settled");
    assert_eq!(talk.asked()[1], ["once more"]);
    assert_eq!(rpc.end(), Some(0));
    talk.world().assert_nothing_left();
}

#[test]
fn the_end_of_its_input_ends_it_and_its_command() {
    let talk = Talk::with_command("touch working; sleep 100000", &[]);
    let mut rpc = Rpc::start(&talk.builtin);
    rpc.send(&json!({"id": "1", "type": "prompt", "message": "go"}));
    wait_until(|| talk.builtin.project("working").exists());
    assert_eq!(rpc.end(), Some(0));
    talk.world().wait_until_nothing_is_left();
}

#[test]
fn a_signal_ends_it_with_its_code() {
    let talk = Talk::with_command("touch working; sleep 100000", &[]);
    let mut rpc = Rpc::start(&talk.builtin);
    rpc.send(&json!({"id": "1", "type": "prompt", "message": "go"}));
    wait_until(|| talk.builtin.project("working").exists());
    let pid = rustix::process::Pid::from_child(&rpc.child);
    rustix::process::kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(rpc.end(), Some(143));
    talk.world().assert_nothing_left();
}
