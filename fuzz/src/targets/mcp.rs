//! The messages of MCP clients.

use std::collections::BTreeMap;
use std::io::Write;
use std::thread;
use std::time::Duration;

use mcp::Offer;
use serde_json::Value;

use super::run_directory::add_healthy_run;
use crate::assertions::assert_clean;
use crate::captured::Captured;
use crate::scratch::Scratch;

/// No answer may take longer. libFuzzer itself waits twice as long.
const PATIENCE: Duration = Duration::from_secs(5);

thread_local! {
    static SCRATCH: Scratch = prepared();
}

/// A directory with a profile, a preset and a run.
fn prepared() -> Scratch {
    let scratch = Scratch::new();
    add_healthy_run(&scratch);
    scratch
        .write("agent/agent-profiles/fast.md", b"---\nname: fast\ntools: [read]\n---\nBe fast.\n");
    scratch
        .write("agent/subagents/scout.md", b"---\nname: scout\ndescription: Looks.\n---\nLook.\n");
    scratch
}

pub(super) fn check(data: &[u8]) {
    // A last line without its end is not read.
    let whole = data.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let lines = data[..whole].split(|byte| *byte == b'\n');
    let sent: Vec<Value> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    // A client with roots can name files outside the directory.
    if sent.iter().any(|message| !message["params"]["capabilities"]["roots"].is_null()) {
        return;
    }
    let received = converse(data, &sent);
    for answer in &received {
        assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
        if let Some(message) = answer["error"]["message"].as_str() {
            assert_clean("an error", message);
        }
    }
    let asked = counted(sent.iter().filter(|message| is_request(message)));
    let answered = counted(received.iter().filter(|message| is_answer(message)));
    for (id, count) in &answered {
        let asked = asked.get(id).copied().unwrap_or_default();
        assert!(*count <= asked, "{id} was asked {asked} times, and answered {count} times");
    }
    let awaited = counted(sent.iter().filter(|message| is_awaited(&sent, message)));
    for id in awaited.keys() {
        assert!(answered.contains_key(id), "{id} has got no answer: {received:?}");
    }
}

/// Sends all messages, and closes the connection when all are answered. Returns what the server sent.
fn converse(data: &[u8], sent: &[Value]) -> Vec<Value> {
    let awaited = counted(sent.iter().filter(|message| is_awaited(sent, message)));
    let are_answered = |received: &[Value]| {
        let answered = counted(received.iter().filter(|message| is_answer(message)));
        awaited.keys().all(|id| answered.contains_key(id))
    };
    let Ok((input, mut ours)) = std::io::pipe() else { return Vec::new() };
    let surroundings = SCRATCH.with(Scratch::surroundings);
    let captured = Captured::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            // A server that has ended reads nothing more; its answers are checked below.
            let _ = ours.write_all(data);
            captured.wait_until(PATIENCE, are_answered);
            drop(ours);
        });
        let output = Box::new(captured.clone());
        let served = mcp::serve_in(surroundings, input.into(), output, Offer::Everything, &|_| {});
        assert!(served.is_ok(), "{served:?}");
        captured.end();
    });
    captured.messages()
}

fn is_request(message: &Value) -> bool {
    message.get("id").is_some()
}

/// Whether the server answers the message and does nothing else.
fn is_awaited(sent: &[Value], message: &Value) -> bool {
    let has_id = message["id"].is_string() || message["id"].is_i64();
    let is_cancelled = sent.iter().any(|other| other["method"] == "notifications/cancelled");
    has_id
        && message["jsonrpc"] == "2.0"
        && message["method"].is_string()
        && message["method"] != "subscriptions/listen"
        && !is_cancelled
}

fn is_answer(message: &Value) -> bool {
    let has_outcome = message.get("result").is_some() || message.get("error").is_some();
    has_outcome && !message["id"].is_null()
}

/// How many of the messages have each id.
fn counted<'a>(messages: impl Iterator<Item = &'a Value>) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for message in messages {
        *counted.entry(message["id"].to_string()).or_default() += 1;
    }
    counted
}
