//! The messages of the extension in pi.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use bridge::BridgeError;
use plan::Surroundings;
use serde_json::Value;

use crate::captured::Captured;
use crate::scratch::Scratch;

/// No command may take longer. libFuzzer itself waits twice as long.
const PATIENCE: Duration = Duration::from_secs(5);

thread_local! {
    static SCRATCH: Scratch = prepared();
}

/// A directory with a file, a profile and a preset.
fn prepared() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("project/file", b"one\n");
    scratch
        .write("agent/agent-profiles/fast.md", b"---\nname: fast\ntools: [read]\n---\nBe fast.\n");
    scratch
        .write("agent/subagents/scout.md", b"---\nname: scout\ndescription: Looks.\n---\nLook.\n");
    scratch
}

pub(super) fn check(data: &[u8]) {
    let lines = data.split(|byte| *byte == b'\n');
    let has_command = lines
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .any(|message| message["method"] == "command/run");
    // A command changes profiles, so that its directory is its own.
    let (served, answers) =
        if has_command { converse(&prepared(), data) } else { SCRATCH.with(|it| recite(it, data)) };
    if let Err(error) = served {
        assert!(!error.to_string().is_empty());
        return;
    }
    let answered = answers.iter().filter(|answer| is_answer(answer)).count();
    assert!(answered >= requests(data).count(), "a request has no answer: {answers:?}");
}

/// Sends all messages at once.
fn recite(scratch: &Scratch, data: &[u8]) -> (Result<(), BridgeError>, Vec<Value>) {
    let path = scratch.write("input", data);
    let captured = Captured::default();
    let Ok(input) = File::open(path) else { return (Ok(()), Vec::new()) };
    let served = serve(scratch.surroundings(), &input, &captured);
    (served, captured.messages())
}

/// Sends each answer when there is a question that it could be the answer to, because commands ask the user on threads of
/// their own. A command that is still asking at the end of the input ends then.
fn converse(scratch: &Scratch, data: &[u8]) -> (Result<(), BridgeError>, Vec<Value>) {
    let captured = Captured::default();
    let Ok((mut input, mut ours)) = io::pipe() else { return (Ok(()), Vec::new()) };
    let served = thread::scope(|scope| {
        scope.spawn(|| {
            let mut said = Vec::new();
            for line in data.split_inclusive(|byte| *byte == b'\n') {
                if is_reply(line) {
                    captured.wait_until(PATIENCE, |received| may_be_answered(received, &said));
                }
                said.extend_from_slice(line);
                let _ = ours.write_all(line);
            }
            drop(ours);
        });
        let served = serve(scratch.surroundings(), &input, &captured);
        // It sends nothing more, unless a command is still at work, and what it does not read must go somewhere.
        if served.is_err() {
            captured.end();
        }
        let _ = io::copy(&mut input, &mut io::sink());
        served
    });
    let asked = requests(data).count();
    captured.wait_until(PATIENCE, |received| {
        received.iter().filter(|message| is_answer(message)).count() >= asked
    });
    (served, captured.messages())
}

fn serve(
    surroundings: Surroundings,
    input: &impl AsFd,
    captured: &Captured,
) -> Result<(), BridgeError> {
    bridge::serve_in(|| Ok(surroundings), input.as_fd(), Box::new(captured.clone()))
}

/// Whether a question waits for an answer, or none will come: all that was asked of the bridge is done.
fn may_be_answered(received: &[Value], said: &[u8]) -> bool {
    let questions = received.iter().filter(|message| message["method"].is_string());
    let said_ids: Vec<Value> = said
        .split(|byte| *byte == b'\n')
        .filter(|line| is_reply(line))
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .map(|message| message["id"].clone())
        .collect();
    let is_open = |question: &Value| {
        question.get("id").is_some_and(|id| !id.is_null() && !said_ids.contains(id))
    };
    let answered = received.iter().filter(|message| is_answer(message)).count();
    questions.into_iter().any(is_open) || answered >= requests(said).count()
}

/// The requests that the bridge reads. A last line without its end is not read.
fn requests(data: &[u8]) -> impl Iterator<Item = Value> {
    let whole = data.iter().rposition(|byte| *byte == b'\n').unwrap_or_default();
    let lines = data[..whole].split(|byte| *byte == b'\n');
    let messages = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    messages.filter(|message| message.get("id").is_some() && message["method"].is_string())
}

/// Whether a line of the extension answers a question.
fn is_reply(line: &[u8]) -> bool {
    let message = serde_json::from_slice::<Value>(line);
    message.is_ok_and(|message| is_answer(&message) && !message["method"].is_string())
}

fn is_answer(message: &Value) -> bool {
    message.get("result").is_some() || message.get("error").is_some()
}
