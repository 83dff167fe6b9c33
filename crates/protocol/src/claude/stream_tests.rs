use serde_json::json;

use super::*;
use crate::Protocol;
use crate::retelling::{check, retell};

macro_rules! recorded {
    ($($name:literal),*) => {
        [$((
            $name,
            include_bytes!(concat!("../../tests/streams/claude/", $name, ".jsonl")),
            include_str!(concat!("../../tests/streams/claude/", $name, ".txt")),
        )),*]
    };
}

/// What a real Claude Code printed, and what it means.
const STREAMS: [(&str, &[u8], &str); 9] = recorded! {
    "tool", "partial-tool", "two-calls", "helper", "provider-400", "provider-429", "cut-off", "torn",
    "two-results"
};

#[test]
fn recorded_streams_tell_what_is_written_beside_them() {
    check(Protocol::Claude, &STREAMS);
}

fn read_all(records: &[Value]) -> (Vec<Event>, Vec<Reading>) {
    let mut reader = ClaudeReader::default();
    let mut readings: Vec<Reading> = records
        .iter()
        .map(|record| reader.read(Line::Whole(record.to_string().as_bytes())))
        .collect();
    readings.push(reader.finish());
    (readings.iter().flat_map(|reading| reading.events.clone()).collect(), readings)
}

fn assistant(content: &Value) -> Value {
    json!({"type": "assistant", "message": {"model": "m", "content": content},
           "parent_tool_use_id": null})
}

fn partial(event: &Value) -> Value {
    json!({"type": "stream_event", "event": event, "parent_tool_use_id": null})
}

fn kinds(events: &[Event]) -> Vec<String> {
    let kind =
        |event: &Event| serde_json::to_value(event).unwrap()["type"].as_str().unwrap().into();
    events.iter().map(kind).collect()
}

#[test]
fn blocks_of_one_message_are_one_message_and_its_calls_follow() {
    let (events, _) = read_all(&[
        partial(&json!({"type": "message_start", "message": {"usage":
            {"input_tokens": 11, "output_tokens": 1, "cache_read_input_tokens": 5}}})),
        assistant(&json!([{"type": "thinking", "thinking": "hm"}])),
        assistant(&json!([{"type": "text", "text": "Two things."}])),
        assistant(
            &json!([{"type": "tool_use", "id": "a", "name": "Read", "input": {"file_path": "/x"}},
                         {"type": "tool_use", "id": "b", "name": "Bash", "input": {"command": "ls"}}]),
        ),
        partial(&json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"},
                       "usage": {"output_tokens": 7}})),
        partial(&json!({"type": "message_stop"})),
        json!({"type": "user", "message": {"content": [
            {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "f"}]},
            {"type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": true}]}}),
    ]);
    let usage = Usage { input: 11, output: 7, cache_read: 5, total_tokens: 23, ..Usage::default() };
    let result = |id: &str, tool: &str, is_error, text: &str| Event::ToolResult {
        id: id.into(),
        tool: tool.into(),
        is_error,
        text: text.into(),
        limit_reached: false,
    };
    let call =
        |id: &str, tool: &str, args| Event::ToolCall { id: id.into(), tool: tool.into(), args };
    let expected = [
        Event::AssistantMessage {
            text: "Two things.".into(),
            model: Some("m".into()),
            stop_reason: Some(StopReason::ToolUse),
            error: None,
            usage,
        },
        call("a", "read", json!({"path": "/x"})),
        call("b", "bash", json!({"command": "ls"})),
        result("b", "bash", false, "f"),
        result("a", "read", true, "no"),
    ];
    assert_eq!(events, expected);
}

#[test]
fn what_was_said_is_told_although_the_end_of_the_message_never_came() {
    let (events, readings) = read_all(&[assistant(&json!([{"type": "text", "text": "Half"}]))]);
    assert!(matches!(&events[..], [Event::AssistantMessage { text, stop_reason: None, .. }]
        if text == "Half"));
    assert_eq!(readings[0].last_word, LastWord::NotYet, "without a result the work goes on");
}

#[test]
fn what_a_helper_of_the_agent_says_is_no_answer_and_what_it_does_is_work() {
    let mut nested = assistant(&json!([
        {"type": "text", "text": "I am a helper."},
        {"type": "tool_use", "id": "n", "name": "Grep", "input": {"pattern": "x"}}]));
    nested["parent_tool_use_id"] = json!("toolu_1");
    let mut result = json!({"type": "user", "message": {"content": [
        {"type": "tool_result", "tool_use_id": "n", "content": "found"}]}});
    result["parent_tool_use_id"] = json!("toolu_1");
    let (events, readings) = read_all(&[nested, result]);
    assert_eq!(kinds(&events), ["tool_call", "tool_result"]);
    assert!(readings[0].is_tool_activity);
}

#[test]
fn the_truth_is_the_error_of_the_result_and_not_its_subtype() {
    for (record, outcome, error) in [
        (json!({"subtype": "success", "is_error": false, "result": "ok"}), "completed", None),
        (
            json!({"subtype": "success", "is_error": true, "result": "API Error: 400"}),
            "provider_error",
            Some("API Error: 400"),
        ),
        (
            json!({"subtype": "error_during_execution", "is_error": false, "errors": ["a", "b"]}),
            "provider_error",
            Some("a; b"),
        ),
        (
            json!({"subtype": "error_max_turns", "is_error": true}),
            "interrupted",
            Some("Interrupted: Claude Code stopped at its own limit of turns"),
        ),
        (json!({"subtype": "error_x"}), "provider_error", Some("Claude Code failed: error_x")),
    ] {
        let mut record = record;
        record["type"] = json!("result");
        let (_, readings) = read_all(&[record.clone()]);
        let verdict = readings[0].verdict.clone().unwrap();
        assert_eq!(
            (verdict.outcome.word(), verdict.error.as_deref()),
            (outcome, error),
            "{record}"
        );
        assert_eq!(readings[0].last_word, LastWord::Idle { is_settled: false });
    }
}

#[test]
fn an_answer_that_was_lost_is_in_the_result() {
    let mut reader = ClaudeReader::default();
    let head = br#"{"type":"assistant","message":{"content":[{"type":"text","text":"long"#;
    let lost = reader.read(Line::Cut { head, tail: b"", bytes: 1 << 30 });
    assert!(matches!(lost.events[..], [Event::MessageLost { .. }]));
    let result =
        br#"{"type":"result","is_error":false,"result":"all of it","stop_reason":"end_turn"}"#;
    let reading = reader.read(Line::Whole(result));
    assert!(matches!(&reading.events[..], [Event::AssistantMessage { text, .. }]
        if text == "all of it"));
}

#[test]
fn what_was_used_is_told_once_and_the_cost_at_the_end() {
    let result = |output: u64, cost: f64| {
        json!({"type": "result", "is_error": false, "total_cost_usd": cost,
               "modelUsage": {"big": {"inputTokens": 10, "outputTokens": output},
                              "small": {"inputTokens": 1, "outputTokens": 1}}})
    };
    let (events, _) = read_all(&[
        partial(&json!({"type": "message_start", "message": {"usage": {"input_tokens": 10}}})),
        assistant(&json!([{"type": "text", "text": "x"}])),
        partial(&json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
                       "usage": {"output_tokens": 5}})),
        partial(&json!({"type": "message_stop"})),
        result(5, 0.25),
        result(8, 1.0),
    ]);
    let mut sum = Usage::default();
    for event in &events {
        match event {
            Event::AssistantMessage { usage, .. } | Event::UsageReported { usage } => sum += *usage,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((sum.input, sum.output, sum.total_tokens), (11, 9, 20));
    assert_eq!(sum.cost.map(|cost| cost.total), Some(1.0));
}

#[test]
fn denied_tools_are_a_warning() {
    let denial = |tool: &str| json!({"tool_name": tool, "tool_use_id": "x", "tool_input": {}});
    let (events, _) = read_all(&[json!({"type": "result", "is_error": false,
        "permission_denials": [denial("Write"), denial("Bash"), denial("Write")]})]);
    let message = "Claude Code did not permit the agent to use Bash, Write".to_owned();
    assert_eq!(events, [Event::Warning { message }]);
}

#[test]
fn partial_records_show_what_the_agent_is_doing() {
    for (kind, activity) in [
        ("text_delta", Some(Activity::Writing)),
        ("thinking_delta", Some(Activity::Thinking)),
        ("input_json_delta", Some(Activity::Calling)),
        ("signature_delta", None),
    ] {
        let line = format!(
            r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":0,"delta":{{"type":"{kind}""#
        );
        let reading = ClaudeReader::default().read(Line::Cut {
            head: line.as_bytes(),
            tail: b"",
            bytes: 1 << 30,
        });
        assert_eq!((reading.activity, reading.is_delta), (activity, true), "{kind}");
        assert_eq!(keep(line.as_bytes()), Keep::Ends);
    }
    assert_eq!(keep(br#"{"duration_api_ms":0,"type":"result""#), Keep::Whole);
    assert_eq!(keep(b"npm warn"), Keep::Ends);
}

#[test]
fn unknown_records_are_passed_over_and_other_lines_are_unreadable() {
    for line in [
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}}"#,
        r#"{"type":"teleported"}"#,
        r#"{"type":"system","subtype":"hook_response"}"#,
        " \r",
    ] {
        let reading = ClaudeReader::default().read(Line::Whole(line.as_bytes()));
        assert_eq!(reading, Reading::default(), "{line}");
    }
    for (line, is_message) in
        [("warn: x", false), ("[1]", false), (r#"{"type":"assistant","message":{"#, true)]
    {
        let events = ClaudeReader::default().read(Line::Whole(line.as_bytes())).events;
        assert_eq!(matches!(events[..], [Event::MessageLost { .. }]), is_message, "{line}");
        assert_eq!(events.len(), 1);
    }
}

#[test]
fn nonsense_in_records_does_no_harm() {
    for record in [
        json!({"type": "assistant"}),
        json!({"type": "assistant", "message": 5}),
        json!({"type": "assistant", "message": {"content": [5, {"type": "tool_use"}]}}),
        json!({"type": "user", "message": {"content": {"a": 1}}}),
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "content": 5}]}}),
        json!({"type": "result", "modelUsage": 5, "total_cost_usd": -1.0}),
        json!({"type": "result", "modelUsage": {"x": {"inputTokens": 1e300}}}),
        json!({"type": "stream_event", "event": []}),
    ] {
        retell(Protocol::Claude, format!("{record}\n").as_bytes());
    }
}

#[test]
fn a_message_without_an_end_is_told_in_parts() {
    let block = json!({"type": "tool_use", "id": "a", "name": "Read", "input": {}});
    let records = vec![assistant(&Value::from(vec![block; 40])); 10];
    let mut reader = ClaudeReader::default();
    for record in &records {
        reader.read(Line::Whole(record.to_string().as_bytes()));
        assert!(reader.message.calls.len() <= MESSAGE_CALLS);
    }
    let (events, _) = read_all(&records);
    assert_eq!(kinds(&events).iter().filter(|kind| *kind == "tool_call").count(), 400);
}
