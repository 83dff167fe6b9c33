//! What a real pi once printed, and what the built-in agent prints when the model says the same.

use std::fs;

use serde_json::{Value, json};
use test_support::pi_stream;

use super::harness::{Api, Builtin};

/// The turns of the model that led to these records.
fn turns(records: &[Value]) -> Value {
    let ends = records.iter().filter(|record| record["type"] == "message_end");
    let answers = ends.map(|end| &end["message"]).filter(|message| message["role"] == "assistant");
    answers.map(turn).collect()
}

fn turn(answer: &Value) -> Value {
    if let Some(error) = answer["errorMessage"].as_str() {
        let status: u16 = error.split(':').next().unwrap().parse().unwrap();
        return json!({"error": status});
    }
    let parts = answer["content"].as_array().unwrap();
    let text: String = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    let calls = parts.iter().filter(|part| part["type"] == "toolCall");
    let tools: Vec<Value> =
        calls.map(|call| json!({"name": call["name"], "args": call["arguments"]})).collect();
    json!({"text": text, "tools": tools})
}

/// The tools that the model was offered.
fn tools(records: &[Value]) -> String {
    let system = records.iter().find(|record| record["message"]["role"] == "system").unwrap();
    let tools = system["message"]["toolsAdded"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap()).collect::<Vec<_>>().join(",")
}

#[test]
fn recorded_conversations_are_printed_in_the_same_shapes() {
    for name in [
        "answer",
        "loop",
        "provider-400",
        "provider-500-then-ok",
        "tool-errors",
        "tools",
        "unicode",
    ] {
        let path = format!("{}/../protocol/tests/streams/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(path).unwrap();
        let records: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let builtin = Builtin::new(Api::Completions, &turns(&records));
        builtin.project_file("a.txt", "hello\nworld\n");
        builtin.project_file("README.md", "# Hello\n");
        // There is no `src`: pi had neither `rg` nor `fd`, and without the directory our tools fail there, too.
        let heard = builtin.ask(&["--tools", &tools(&records), "do it"]);
        assert_eq!(heard.code, Some(0), "{name}: {heard:#?}");
        let recorded = pi_stream::comparable(records);
        pi_stream::assert_same_shapes(&recorded, &pi_stream::comparable(heard.records));
    }
}
