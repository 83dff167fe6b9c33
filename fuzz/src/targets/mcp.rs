//! The messages of MCP clients.

use std::collections::BTreeMap;
use std::io::Write;
use std::thread;
use std::time::Duration;

use mcp::Offer;
use serde_json::Value;

use super::run_directory::add_healthy_run;
use crate::assertions::assert_clean;
use crate::place::Place;
use crate::said::Said;

/// Nobody waits for an answer for so long, and the fuzzer waits twice as long.
const PATIENCE: Duration = Duration::from_secs(5);

thread_local! {
    static PLACE: Place = furnished();
}

/// With a profile, a preset and a run.
fn furnished() -> Place {
    let place = Place::new();
    add_healthy_run(&place);
    place.write("agent/agent-profiles/fast.md", b"---\nname: fast\ntools: [read]\n---\nBe fast.\n");
    place.write("agent/subagents/scout.md", b"---\nname: scout\ndescription: Looks.\n---\nLook.\n");
    place
}

pub(super) fn check(data: &[u8]) {
    // The last line is not whole, and is not read.
    let whole = data.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let lines = data[..whole].split(|byte| *byte == b'\n');
    let heard: Vec<Value> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    // A client that has roots can lead us out of the place.
    if heard.iter().any(|message| !message["params"]["capabilities"]["roots"].is_null()) {
        return;
    }
    let said = converse(data, &heard);
    for answer in &said {
        assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
        if let Some(message) = answer["error"]["message"].as_str() {
            assert_clean("an error", message);
        }
    }
    let asked = counted(heard.iter().filter(|message| is_request(message)));
    let answered = counted(said.iter().filter(|message| is_answer(message)));
    for (id, count) in &answered {
        let asked = asked.get(id).copied().unwrap_or_default();
        assert!(*count <= asked, "{id} was asked {asked} times, and answered {count} times");
    }
    let awaited = counted(heard.iter().filter(|message| is_awaited(&heard, message)));
    for id in awaited.keys() {
        assert!(answered.contains_key(id), "{id} has got no answer: {said:?}");
    }
}

/// Says everything, and hangs up when everything is answered. Returns what was said to us.
fn converse(data: &[u8], heard: &[Value]) -> Vec<Value> {
    let awaited = counted(heard.iter().filter(|message| is_awaited(heard, message)));
    let are_answered = |said: &[Value]| {
        let answered = counted(said.iter().filter(|message| is_answer(message)));
        awaited.keys().all(|id| answered.contains_key(id))
    };
    let Ok((input, mut ours)) = std::io::pipe() else { return Vec::new() };
    let surroundings = PLACE.with(Place::surroundings);
    let said = Said::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            // A server that has gone reads nothing; what it has answered is looked at below.
            let _ = ours.write_all(data);
            said.await_that(PATIENCE, are_answered);
            drop(ours);
        });
        let output = Box::new(said.clone());
        let served = mcp::serve_in(surroundings, input.into(), output, Offer::Everything, &|_| {});
        assert!(served.is_ok(), "{served:?}");
        said.end();
    });
    said.messages()
}

fn is_request(message: &Value) -> bool {
    message.get("id").is_some()
}

/// Whether nothing but an answer can come of a message.
fn is_awaited(heard: &[Value], message: &Value) -> bool {
    let has_id = message["id"].is_string() || message["id"].is_i64();
    let is_cancelled = heard.iter().any(|other| other["method"] == "notifications/cancelled");
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
