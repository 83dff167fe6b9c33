//! What is made of the bytes that come.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::stream::Events;
use crate::config::Rates;
use crate::message::{StopReason, Usage};
use crate::provider::stream::Decoder;
use crate::provider::testing;
use crate::provider::{Piece, ProviderError, Remedy};

fn decode(bytes: Vec<Vec<u8>>) -> (Vec<Piece>, Result<(), ProviderError>) {
    testing::decode(&mut Events::new(Some(Rates::default())), bytes)
}

fn stream(events: &[Value]) -> String {
    let event =
        |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    events.iter().map(event).collect()
}

fn pieces(events: &[Value]) -> Vec<Piece> {
    let (pieces, result) = decode(vec![stream(events).into_bytes()]);
    result.unwrap();
    pieces
}

fn message_start() -> Value {
    let usage = json!({"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 5,
                       "cache_creation_input_tokens": 3});
    json!({"type": "message_start", "message": {"id": "msg_1", "usage": usage}})
}

fn start(index: u64, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn message_delta(reason: &str) -> Value {
    let usage = json!({"output_tokens": 20, "input_tokens": null,
                       "output_tokens_details": {"thinking_tokens": 7}});
    json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage})
}

fn message_stop() -> Value {
    json!({"type": "message_stop"})
}

fn answer() -> Vec<Value> {
    vec![
        message_start(),
        json!({"type": "ping"}),
        start(0, &json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, &json!({"type": "thinking_delta", "thinking": "hm 漢"})),
        delta(0, &json!({"type": "signature_delta", "signature": "sig"})),
        delta(0, &json!({"type": "signature_delta", "signature": "ned"})),
        stop(0),
        start(1, &json!({"type": "text", "text": ""})),
        delta(1, &json!({"type": "text_delta", "text": "hel🦀"})),
        delta(1, &json!({"type": "text_delta", "text": "lo"})),
        stop(1),
        start(2, &json!({"type": "tool_use", "id": "t1", "name": "ls", "input": {}})),
        delta(2, &json!({"type": "input_json_delta", "partial_json": ""})),
        delta(2, &json!({"type": "input_json_delta", "partial_json": "{\"a\":1}"})),
        stop(2),
        message_delta("tool_use"),
        message_stop(),
    ]
}

#[test]
fn an_answer_comes_in_pieces() {
    let usage = |output, reasoning, total_tokens| {
        let (input, cache_read, cache_write) = (10, 5, 3);
        let usage = Usage { input, output, cache_read, cache_write, reasoning, ..Usage::default() };
        Piece::Usage(Usage { total_tokens, cost: Some(model::Cost::default()), ..usage })
    };
    let expected = [
        Piece::Started { response_id: Some("msg_1".into()) },
        usage(1, None, 19),
        Piece::Thinking("hm 漢".into()),
        Piece::ThinkingSignature("signed".into()),
        Piece::BlockEnded,
        Piece::Text("hel🦀".into()),
        Piece::Text("lo".into()),
        Piece::BlockEnded,
        Piece::ToolCall { index: 0, id: "t1".into(), name: "ls".into() },
        Piece::Arguments { index: 0, json: String::new() },
        Piece::Arguments { index: 0, json: "{\"a\":1}".into() },
        Piece::BlockEnded,
        usage(20, Some(7), 38),
        Piece::Ended { reason: StopReason::ToolUse, raw: Some("tool_use".into()) },
    ];
    assert_eq!(pieces(&answer()), expected);
}

#[test]
fn blocks_may_be_whole_hidden_empty_or_unknown() {
    let found = pieces(&[
        message_start(),
        start(0, &json!({"type": "redacted_thinking", "data": "hidden"})),
        stop(0),
        start(1, &json!({"type": "thinking", "thinking": "", "signature": "only"})),
        stop(1),
        start(2, &json!({"type": "text", "text": ""})),
        stop(2),
        start(3, &json!({"type": "server_tool_use", "id": "s"})),
        delta(3, &json!({"type": "input_json_delta", "partial_json": "{}"})),
        stop(3),
        // Its end is missing, and its arguments are all there at the beginning.
        start(4, &json!({"type": "tool_use", "name": "ls", "input": {"a": 1}})),
        start(4, &json!({"type": "tool_use", "id": "t2", "name": "cat", "input": {}})),
        delta(9, &json!({"type": "text_delta", "text": "of nothing"})),
        delta(4, &json!({"type": "text_delta", "text": "of something else"})),
        message_delta("end_turn"),
        message_stop(),
        start(5, &json!({"type": "text", "text": "too late"})),
    ]);
    assert_eq!(found[2], Piece::RedactedThinking("hidden".into()));
    assert_eq!(found[3], Piece::BlockEnded);
    assert_eq!(found[4], Piece::Thinking(String::new()));
    assert_eq!(found[5], Piece::ThinkingSignature("only".into()));
    assert_eq!(found[6], Piece::BlockEnded);
    assert!(matches!(&found[7], Piece::ToolCall { index: 0, id, .. } if id.starts_with("toolu_")));
    assert_eq!(found[8], Piece::Arguments { index: 0, json: "{\"a\":1}".into() });
    assert_eq!(found[9], Piece::BlockEnded);
    assert_eq!(found[10], Piece::ToolCall { index: 1, id: "t2".into(), name: "cat".into() });
    let ended = Piece::Ended { reason: StopReason::Stop, raw: Some("end_turn".into()) };
    assert!(matches!(&found[11..], [Piece::Usage(_), Piece::BlockEnded, last] if *last == ended));
}

#[test]
fn what_cannot_be_understood_is_an_error() {
    let retry = Remedy::Retry { after: None };
    let with = |reason: &str| stream(&[message_start(), message_delta(reason), message_stop()]);
    let overloaded =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let words = overloaded.to_string();
    let cases = [
        ("<html>\n".to_owned(), "Anthropic stream ended without a stop reason", retry),
        (stream(&answer()[..9]), "Anthropic stream ended before message_stop", retry),
        (
            stream(&[message_start(), message_stop()]),
            "Anthropic stream ended without a stop reason",
            retry,
        ),
        (stream(&[message_start(), overloaded.clone()]), &words, retry),
        (format!("data: {overloaded}\n\n"), &words, retry),
        (
            "event: message_start\ndata: {oops\n\n".to_owned(),
            "Could not parse Anthropic SSE event message_start: ",
            retry,
        ),
        (with("refusal"), "The model refused to complete the request", Remedy::None),
        (with("sensitive"), "Provider stopped with: sensitive", Remedy::None),
        (with("new"), "Unhandled stop reason: new", Remedy::None),
        (
            with("model_context_window_exceeded"),
            "Unhandled stop reason: model_context",
            Remedy::Compact,
        ),
    ];
    for (bytes, message, remedy) in cases {
        let error = decode(vec![bytes.clone().into_bytes()]).1.unwrap_err();
        assert!(error.message.starts_with(message), "{bytes}: {}", error.message);
        assert_eq!(error.remedy, remedy, "{bytes}");
    }
    let mut refused = message_delta("refusal");
    refused["delta"]["stop_details"] = json!({"explanation": "because"});
    let bytes = stream(&[message_start(), refused, message_stop()]).into_bytes();
    assert_eq!(decode(vec![bytes]).1.unwrap_err().message, "because");
}

#[test]
fn a_document_is_no_stream() {
    let mut events = Events::new(Some(Rates::default()));
    let document = json!({"type": "error", "error": {"type": "api_error", "message": "no"}});
    let error = events.document(&document.to_string(), &mut |_| {}).unwrap_err();
    assert_eq!(error.message, document.to_string());
    assert!(events.document("{\"type\":\"message\"}", &mut |_| {}).is_err());
}

#[test]
fn a_cut_matters_only_before_the_end() {
    let bytes = stream(&answer()).into_bytes();
    assert_eq!(decode(vec![bytes.clone(), vec![]]).1, Ok(()));
    let half = bytes[..bytes.len() / 2].to_vec();
    assert_eq!(decode(vec![half, vec![]]).1.unwrap_err().message, "cut: connection reset");
}

proptest! {
    #[test]
    fn it_does_not_matter_where_bytes_are_cut(size in 1usize..300) {
        let bytes = stream(&answer()).into_bytes();
        let cut = bytes.chunks(size).map(<[u8]>::to_vec).collect();
        prop_assert_eq!(decode(cut), (pieces(&answer()), Ok(())));
    }

    #[test]
    fn no_bytes_do_harm(bytes: Vec<u8>) {
        let _ = decode(vec![bytes.clone()]);
        let _ = decode(vec![b"event: message_delta\ndata: ".to_vec(), bytes, b"\n\n".to_vec()]);
    }

    #[test]
    fn no_order_of_events_does_harm(order in prop::collection::vec(0usize..17, 0..40)) {
        let all = answer();
        let events: Vec<Value> = order.iter().map(|position| all[*position].clone()).collect();
        let _ = decode(vec![stream(&events).into_bytes()]);
    }
}
