//! The messages of the extension in pi.

use std::fs::File;
use std::os::fd::AsFd;

use serde_json::Value;

use crate::captured::Captured;
use crate::scratch::Scratch;

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
    let messages = data.split(|byte| *byte == b'\n');
    let messages: Vec<Value> =
        messages.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    // A command that asks the user waits for an answer, on a thread that would stay.
    if messages.iter().any(|message| message["method"] == "command/run") {
        return;
    }
    let (path, surroundings) =
        SCRATCH.with(|scratch| (scratch.write("input", data), scratch.surroundings()));
    let Ok(input) = File::open(path) else { return };
    let captured = Captured::default();
    let output = Box::new(captured.clone());
    let served = bridge::serve_in(|| Ok(surroundings), input.as_fd(), output);
    let answers = captured.messages();
    if let Err(error) = served {
        assert!(!error.to_string().is_empty());
        return;
    }
    // A last line without its end is not read.
    let whole = data.iter().rposition(|byte| *byte == b'\n').unwrap_or_default();
    let asked = data[..whole].split(|byte| *byte == b'\n');
    let asked = asked.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let asked =
        asked.filter(|message| message.get("id").is_some() && message["method"].is_string());
    let is_answer =
        |answer: &&Value| answer.get("result").is_some() || answer.get("error").is_some();
    let answered = answers.iter().filter(is_answer).count();
    assert!(answered >= asked.count(), "a request has no answer: {answers:?}");
}
