use serde_json::json;

use super::*;
use crate::Protocol;
use crate::retelling::{check, retell};

macro_rules! recorded {
    ($($name:literal),*) => {
        [$((
            $name,
            include_bytes!(concat!("../../tests/streams/codex/", $name, ".jsonl")),
            include_str!(concat!("../../tests/streams/codex/", $name, ".txt")),
        )),*]
    };
}

/// What a real Codex printed, and what it means.
const STREAMS: [(&str, &[u8], &str); 8] = recorded! {
    "tool", "work", "program", "helper", "provider-400", "provider-429", "cut-off", "torn"
};

#[test]
fn recorded_streams_tell_what_is_written_beside_them() {
    check(Protocol::Codex, &STREAMS);
}

fn read_all(records: &[Value]) -> Vec<Reading> {
    let mut reader = CodexReader::default();
    records.iter().map(|record| reader.read(Line::Whole(record.to_string().as_bytes()))).collect()
}

fn item(stage: &str, item: &Value) -> Value {
    json!({"type": format!("item.{stage}"), "item": item})
}

fn events(records: &[Value]) -> Vec<Value> {
    let events = read_all(records).into_iter().flat_map(|reading| reading.events);
    events.map(|event| serde_json::to_value(event).unwrap()).collect()
}

#[test]
fn every_item_becomes_an_event_in_our_words() {
    let todo = |done| {
        json!({"id": "t", "type": "todo_list", "items": [
        {"text": "Look", "completed": done}, {"text": "Say", "completed": false}]})
    };
    let found = events(&[
        item(
            "started",
            &json!({"id": "1", "type": "mcp_tool_call", "server": "docs", "tool": "find",
            "arguments": {"q": 1}, "status": "in_progress"}),
        ),
        item(
            "completed",
            &json!({"id": "1", "type": "mcp_tool_call", "server": "docs", "tool": "find",
            "arguments": {"q": 1}, "status": "completed",
            "result": {"content": [{"type": "text", "text": "found"}]}}),
        ),
        item(
            "completed",
            &json!({"id": "2", "type": "file_change", "status": "completed",
            "changes": [{"path": "/a", "kind": "add"}, {"path": "/b", "kind": "update"}]}),
        ),
        item("started", &todo(false)),
        item("updated", &todo(true)),
        item("completed", &todo(true)),
        item("completed", &json!({"id": "3", "type": "web_search", "query": "rust"})),
        item("completed", &json!({"id": "4", "type": "error", "message": "Careful."})),
        item("completed", &json!({"id": "5", "type": "reasoning", "text": "hm"})),
        item(
            "started",
            &json!({"id": "6", "type": "collab_tool_call", "tool": "wait", "prompt": null}),
        ),
        item("completed", &json!({"id": "7", "type": "teleported"})),
    ]);
    let result = |id: &str, tool: &str, text: &str| json!({"type": "tool_result", "id": id, "tool": tool, "isError": false, "text": text});
    let call = |id: &str, tool: &str, args: Value| json!({"type": "tool_call", "id": id, "tool": tool, "args": args});
    let todos = |status: &str| json!({"todos": [{"text": "Look", "status": status}, {"text": "Say", "status": "pending"}]});
    let expected = [
        call("1", "mcp__docs__find", json!({"q": 1})),
        result("1", "mcp__docs__find", "found"),
        call(
            "2",
            "edit",
            json!({"path": "/a, /b", "item": "2", "changes": [{"path": "/a", "kind": "add"},
            {"path": "/b", "kind": "update"}]}),
        ),
        result("2", "edit", ""),
        call("t", "write_todos", todos("pending")),
        result("t", "write_todos", ""),
        call("t", "write_todos", todos("completed")),
        result("t", "write_todos", ""),
        call("3", "web_search", json!({"query": "rust"})),
        result("3", "web_search", ""),
        json!({"type": "warning", "message": "Careful."}),
    ];
    assert_eq!(found, expected);
}

#[test]
fn calls_that_differ_do_not_look_the_same() {
    let change = |id: &str| {
        json!({"id": id, "type": "file_change", "status": "completed",
               "changes": [{"path": "/a", "kind": "update"}]})
    };
    let search = |id: &str, query: &str| json!({"id": id, "type": "web_search", "query": query});
    let found = events(&[
        item("started", &change("1")),
        item("completed", &change("1")),
        item("started", &change("2")),
        item("completed", &change("2")),
        item("started", &search("3", "")),
        item("completed", &search("3", "rust")),
        item("started", &search("4", "")),
        item("completed", &search("4", "cargo")),
    ]);
    let calls: Vec<&Value> = found
        .iter()
        .filter(|event| event["type"] == "tool_call")
        .map(|event| &event["args"])
        .collect();
    assert_eq!(calls.len(), 4);
    assert_ne!(calls[0], calls[1]);
    assert_eq!([&calls[2]["query"], &calls[3]["query"]], ["rust", "cargo"]);
    let searching = read_all(&[item("started", &search("5", ""))]).remove(0);
    assert_eq!((searching.activity, searching.is_tool_activity), (Some(Activity::Tool), true));
}

#[test]
fn failed_calls_are_errors() {
    for item_ in [
        json!({"id": "1", "type": "command_execution", "command": "x", "exit_code": 2}),
        json!({"id": "1", "type": "command_execution", "command": "x", "status": "declined"}),
        json!({"id": "1", "type": "file_change", "changes": [], "status": "failed"}),
        json!({"id": "1", "type": "mcp_tool_call", "error": {"message": "no"}}),
    ] {
        let found = events(&[item("completed", &item_)]);
        assert_eq!(found[1]["isError"], true, "{item_}");
    }
}

#[test]
fn a_failure_has_the_words_of_the_provider() {
    let failed = |message: &str| {
        let record = json!({"type": "turn.failed", "error": {"message": message}});
        let verdict = read_all(&[record]).remove(0).verdict.unwrap();
        assert_eq!(verdict.outcome, Outcome::ProviderError);
        verdict.error.unwrap()
    };
    for (message, expected) in [
        ("exceeded retry limit", "exceeded retry limit"),
        (r#"{"type":"error","error":{"type":"x","message":"bad thing"}}"#, "bad thing"),
        (r#"{"error":"plain"}"#, "plain"),
        (r#"{"other":1}"#, r#"{"other":1}"#),
        (" ", "Codex failed without a reason"),
    ] {
        assert_eq!(failed(message), expected);
    }
}

#[test]
fn an_error_can_be_a_retry_and_a_later_success_takes_its_place() {
    let retry = "Reconnecting... 2/5 (stream disconnected (early))";
    let readings = read_all(&[
        json!({"type": "error", "message": retry}),
        json!({"type": "error", "message": "boom"}),
        json!({"type": "turn.completed", "usage": {}}),
    ]);
    let [Event::RetryScheduled { attempt: 2, max_attempts: 5, error, .. }] =
        &readings[0].events[..]
    else {
        panic!("{:?}", readings[0]);
    };
    assert!(error.starts_with("stream disconnected"), "{error}");
    assert_eq!(
        (readings[0].verdict.clone(), readings[0].activity),
        (None, Some(Activity::Retrying))
    );
    assert_eq!(readings[1].verdict.as_ref().unwrap().outcome, Outcome::ProviderError);
    assert_eq!(readings[1].last_word, LastWord::NotYet, "the turn may go on");
    assert_eq!(readings[2].verdict.as_ref().unwrap().outcome, Outcome::Completed);
    assert_eq!(readings[2].last_word, LastWord::AgentEnded);
}

#[test]
fn the_usage_of_a_thread_is_counted_once_and_its_cost_is_unknown() {
    let turn = |input: u64, output: u64| {
        json!({"type": "turn.completed", "usage": {"input_tokens": input, "cached_input_tokens": 4,
               "output_tokens": output, "reasoning_output_tokens": 1}})
    };
    let mut sum = Usage::default();
    for reading in read_all(&[turn(10, 5), turn(30, 9)]) {
        for event in reading.events {
            let Event::UsageReported { usage } = event else { panic!("{event:?}") };
            sum += usage;
        }
    }
    assert_eq!((sum.input, sum.cache_read, sum.output, sum.total_tokens), (26, 4, 9, 39));
    assert_eq!(sum.cost, None);
}

#[test]
fn commands_are_shown_without_the_shell_around_them() {
    for (words, expected) in [
        ("/bin/bash -lc 'echo hi > f.txt; echo done'", "echo hi > f.txt; echo done"),
        ("bash -lc ls", "ls"),
        (r#"/usr/bin/zsh -lc "cat a""#, "cat a"),
        (r#"bash -lc "echo \"x\"""#, r#"bash -lc "echo \"x\"""#),
        ("python -c 'print(1)'", "python -c 'print(1)'"),
        ("ls -l", "ls -l"),
        ("", ""),
    ] {
        assert_eq!(command(words), expected, "{words}");
    }
}

#[test]
fn nonsense_in_records_does_no_harm() {
    for record in [
        json!({"type": "item.completed"}),
        json!({"type": "item.completed", "item": {"type": "file_change", "changes": 5}}),
        json!({"type": "item.updated", "item": {"type": "command_execution"}}),
        json!({"type": "turn.completed", "usage": {"input_tokens": -5, "output_tokens": 1e300}}),
        json!({"type": "turn.failed"}),
        json!({"type": "error", "message": "Reconnecting..."}),
        json!({"type": 5}),
    ] {
        retell(Protocol::Codex, format!("{record}\n").as_bytes());
    }
    let lost = CodexReader::default()
        .read(Line::Whole(br#"{"type":"item.completed","item":{"type":"agent_message","text":"#));
    assert!(matches!(lost.events[..], [Event::MessageLost { .. }]));
}
