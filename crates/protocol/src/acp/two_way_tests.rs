//! Recorded conversations in which real agents were told something. What this program writes to them is beside the
//! recordings, with what it makes of their words. Lines `tell` and `interrupt` stand where that was asked for.

use process::Line;
use serde_json::Value;

use super::stream::AcpReader;
use crate::{Assignment, Delivery, LastWord, Reading};

macro_rules! recorded {
    ($($name:literal),*) => {
        [$((
            $name,
            include_str!(concat!("../../tests/streams/acp/two-way/", $name, ".jsonl")),
            include_str!(concat!("../../tests/streams/acp/two-way/", $name, ".txt")),
        )),*]
    };
}

const CONVERSATIONS: [(&str, &str, &str); 6] = recorded! {
    "opencode-at-work", "opencode-interrupted", "copilot-between-calls", "copilot-interrupted", "gemini-after",
    "gemini-interrupted"
};

#[test]
fn recorded_conversations_tell_what_is_written_beside_them() {
    for (name, recording, expected) in CONVERSATIONS {
        let told = retell(recording);
        assert!(told == expected, "{name} tells\n{told}\ninstead of\n{expected}");
    }
}

fn retell(recording: &str) -> String {
    let prompt = "do it".to_owned();
    let mut reader = AcpReader::new(Assignment { prompt, ..Assignment::default() });
    let mut told = Vec::new();
    for entry in recording.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        if entry["interrupt"] == 1 {
            told.extend(written(&reader.interruption()));
        } else if let Some(number) = entry["tell"].as_u64() {
            told.extend(written(&reader.tell(number, entry["text"].as_str().unwrap())));
        } else if entry["from"].is_object() {
            let line = entry["from"].to_string();
            told.extend(read(reader.read(Line::Whole(line.as_bytes()))));
        }
    }
    told.join("\n") + "\n"
}

/// What is written to the agent, in short.
fn written(bytes: &[u8]) -> Vec<String> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let short = |line: &[u8]| {
        let message: Value = serde_json::from_slice(line).unwrap();
        let text = &message["params"]["prompt"][0]["text"];
        let method = message["method"].as_str().unwrap_or("an answer");
        format!("> {method} {}", if text.is_null() { &message["result"]["outcome"] } else { text })
            .replace(" null", "")
    };
    lines.map(short).collect()
}

/// What the agent says, in short.
fn read(reading: Reading) -> Vec<String> {
    let delivery = |delivery| match delivery {
        Delivery::Delivered(number) => format!("{number} delivered"),
        Delivery::Refused(number, reason) => format!("{number} refused: {reason}"),
    };
    let mut told: Vec<String> = reading.deliveries.into_iter().map(delivery).collect();
    told.extend(reading.events.iter().map(|event| serde_json::to_string(event).unwrap()));
    if matches!(reading.last_word, LastWord::Idle { .. } | LastWord::Said) {
        told.push("idle".to_owned());
    }
    told.extend(reading.verdict.map(|verdict| verdict.outcome.word().to_owned()));
    told.extend(written(&reading.reply));
    told
}
