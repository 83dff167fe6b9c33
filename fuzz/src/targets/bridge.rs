//! The messages of the extension in pi.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::place::Place;

thread_local! {
    static PLACE: Place = furnished();
}

/// With a file, a profile and a preset.
fn furnished() -> Place {
    let place = Place::new();
    place.write("project/file", b"one\n");
    place.write("agent/agent-profiles/fast.md", b"---\nname: fast\ntools: [read]\n---\nBe fast.\n");
    place.write("agent/subagents/scout.md", b"---\nname: scout\ndescription: Looks.\n---\nLook.\n");
    place
}

/// What the bridge has said.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<u8>>>);

impl Write for Said {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn check(data: &[u8]) {
    let messages = data.split(|byte| *byte == b'\n');
    let messages: Vec<Value> =
        messages.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    // A command that asks its user something waits for an answer, on a thread that would stay.
    if messages.iter().any(|message| message["method"] == "command/run") {
        return;
    }
    let (path, surroundings) =
        PLACE.with(|place| (place.write("input", data), place.surroundings()));
    let Ok(input) = File::open(path) else { return };
    let said = Said::default();
    let output = Box::new(said.clone());
    let served = bridge::serve_in(|| Ok(surroundings), input.as_fd(), output);
    let said = said.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let said = String::from_utf8_lossy(&said).into_owned();
    let answers: Vec<Value> =
        said.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert_eq!(answers.len(), said.lines().count(), "not everything that was said is JSON: {said}");
    if let Err(error) = served {
        assert!(!error.to_string().is_empty());
        return;
    }
    // The last line is not whole, and is not read.
    let whole = data.iter().rposition(|byte| *byte == b'\n').unwrap_or_default();
    let asked = data[..whole].split(|byte| *byte == b'\n');
    let asked = asked.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let asked =
        asked.filter(|message| message.get("id").is_some() && message["method"].is_string());
    let is_answer =
        |answer: &&Value| answer.get("result").is_some() || answer.get("error").is_some();
    let answered = answers.iter().filter(is_answer).count();
    assert!(answered >= asked.count(), "somebody has not got an answer: {said}");
}
