//! What is made of the bytes that come: streams as OpenAI's documents describe them, and others.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::stream::Events;
use crate::config::Rates;
use crate::message::{StopReason, Usage};
use crate::provider::stream::Decoder as _;
use crate::provider::testing::{decode, play};
use crate::provider::{Api, Piece, ProviderError, Remedy};

const RETRY: Remedy = Remedy::Retry { after: None };

fn decoder() -> Events {
    let rates = Rates { input: 1.0, output: 2.0, ..Rates::default() };
    Events::new(Some(rates), Some(2.0))
}

fn stream(events: &[Value]) -> String {
    let line = |event: &Value| {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
    };
    events.iter().map(line).collect()
}

fn read(events: &[Value]) -> (Vec<Piece>, Result<(), ProviderError>) {
    decode(&mut decoder(), vec![stream(events).into_bytes()])
}

fn pieces(events: &[Value]) -> Vec<Piece> {
    let (pieces, result) = read(events);
    result.unwrap();
    pieces
}

fn created() -> Value {
    json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}})
}

fn added(index: u64, item: &Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn done(index: u64, item: &Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn delta(kind: &str, index: u64, delta: &str) -> Value {
    json!({"type": format!("response.{kind}.delta"), "output_index": index, "delta": delta})
}

fn completed() -> Value {
    json!({"type": "response.completed", "response": {"id": "resp_1", "status": "completed"}})
}

fn ended(reason: StopReason, raw: &str) -> Piece {
    Piece::Ended { reason, raw: Some(raw.into()) }
}

fn text(text: &str) -> Piece {
    Piece::Text(text.into())
}

#[test]
fn an_answer_with_thinking_and_calls_side_by_side() {
    let reasoning = json!({"id": "rs_1", "type": "reasoning", "encrypted_content": "gAAA",
        "summary": [{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}]});
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "phase": "commentary",
        "content": [{"type": "output_text", "text": "hello"}]});
    let call = |number: u64, arguments: &str| {
        json!({"id": format!("fc_{number}"), "type": "function_call", "name": "ls",
            "call_id": format!("call_{number}"), "arguments": arguments})
    };
    let part_done = json!({"type": "response.reasoning_summary_part.done", "output_index": 0});
    let usage = json!({"input_tokens": 100, "output_tokens": 40, "total_tokens": 140,
        "input_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 20},
        "output_tokens_details": {"reasoning_tokens": 8}});
    let found = pieces(&[
        created(),
        json!({"type": "response.in_progress"}),
        added(0, &json!({"id": "rs_1", "type": "reasoning", "summary": []})),
        delta("reasoning_summary_text", 0, "on"),
        delta("reasoning_summary_text", 0, "e"),
        part_done,
        delta("reasoning_text", 0, "two"),
        done(0, &reasoning),
        added(1, &json!({"id": "msg_1", "type": "message", "content": []})),
        delta("output_text", 1, "hel"),
        delta("output_text", 1, "lo"),
        done(1, &message),
        added(2, &call(1, "")),
        added(3, &call(2, "")),
        delta("function_call_arguments", 2, "{\"a\""),
        delta("function_call_arguments", 3, "{}"),
        json!({"type": "response.function_call_arguments.done", "output_index": 2,
            "arguments": "{\"a\":1}"}),
        done(2, &call(1, "{\"a\":1}")),
        done(3, &call(2, "{}")),
        json!({"type": "response.completed", "response": {"id": "resp_1", "status": "completed",
            "service_tier": "priority", "usage": usage}}),
    ]);
    let usage = Usage {
        input: 50,
        output: 40,
        cache_read: 30,
        cache_write: 20,
        reasoning: Some(8),
        total_tokens: 140,
        cost: Some(model::Cost {
            input: 1e-4,
            output: 1.6e-4,
            total: 1e-4 + 1.6e-4,
            ..Default::default()
        }),
    };
    let call_of = |index: u64, number: u64| Piece::ToolCall {
        index,
        id: format!("call_{number}|fc_{number}"),
        name: "ls".into(),
    };
    let arguments = |index: u64, json: &str| Piece::Arguments { index, json: json.into() };
    let kept = |block, text: &str, signature: String| Piece::Block {
        block,
        text: Some(text.into()),
        signature: Some(signature),
    };
    let expected = [
        Piece::Started { response_id: Some("resp_1".into()) },
        Piece::ThinkingStarted,
        Piece::Thinking("on".into()),
        Piece::Thinking("e".into()),
        Piece::Thinking("\n\n".into()),
        Piece::Thinking("two".into()),
        kept(0, "one\n\ntwo", reasoning.to_string()),
        Piece::BlockEnded,
        Piece::TextStarted,
        text("hel"),
        text("lo"),
        kept(1, "hello", r#"{"v":1,"id":"msg_1","phase":"commentary"}"#.into()),
        Piece::BlockEnded,
        call_of(0, 1),
        call_of(1, 2),
        arguments(0, "{\"a\""),
        arguments(1, "{}"),
        arguments(0, ":1}"),
        Piece::BlockEnded,
        Piece::Usage(usage),
        ended(StopReason::Stop, "completed"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn encrypted_thinking_may_come_at_the_end() {
    let item = json!({"id": "rs_1", "type": "reasoning", "summary": []});
    let mut whole = item.clone();
    whole["encrypted_content"] = json!("gAAA");
    let response = json!({"status": "completed", "output": [whole]});
    let found = pieces(&[
        created(),
        done(0, &item),
        json!({"type": "response.completed", "response": response}),
    ]);
    let signed =
        |item: &Value| Piece::Block { block: 0, text: None, signature: Some(item.to_string()) };
    let [first, last] = [signed(&item), signed(&whole)];
    assert_eq!(found[1..5], [Piece::ThinkingStarted, first, Piece::BlockEnded, last]);
}

#[test]
fn a_stream_that_contradicts_itself_is_settled_by_what_is_done() {
    let message =
        json!({"id": "m", "type": "message", "content": [{"type": "refusal", "refusal": "no"}]});
    let call = json!({"id": "fc_1", "type": "function_call", "call_id": "c", "name": "ls", "arguments": "{\"b\":2}"});
    let found = pieces(&[
        // Deltas of what never began, an item that is done twice, and one that is no such item any more.
        delta("output_text", 7, "lost"),
        added(0, &json!({"type": "message"})),
        delta("reasoning_text", 0, "not thinking"),
        delta("refusal", 0, "yes"),
        done(0, &message),
        added(1, &json!({"type": "function_call", "name": "ls", "call_id": "c", "id": "fc_1"})),
        delta("function_call_arguments", 1, "{\"a\":1}"),
        json!({"type": "response.function_call_arguments.done", "output_index": 1, "arguments": "{\"b\":2}"}),
        done(1, &call),
        added(2, &json!({"type": "web_search_call"})),
        added(3, &json!({"type": "message"})),
        done(3, &json!({"type": "reasoning"})),
        completed(),
        delta("output_text", 3, "after the end"),
        json!({"type": "response.failed", "response": {"error": {"message": "after the end"}}}),
    ]);
    let blocks: Vec<&Piece> =
        found.iter().filter(|piece| matches!(piece, Piece::Block { .. })).collect();
    let text = |block, text: &str, signature: Option<&str>| Piece::Block {
        block,
        text: Some(text.into()),
        signature: signature.map(str::to_owned),
    };
    let expected = [text(0, "no", Some(r#"{"v":1,"id":"m"}"#)), text(1, "{\"b\":2}", None)];
    assert_eq!(blocks, expected.iter().collect::<Vec<_>>());
    assert_eq!(found.last(), Some(&ended(StopReason::Stop, "completed")));
    assert!(!found.contains(&Piece::Text("lost".into())));
}

#[test]
fn how_an_answer_ends_is_told_truly() {
    let response = |kind: &str, response: Value| json!({"type": format!("response.{kind}"), "response": response});
    let incomplete = |reason: Value| {
        response("incomplete", json!({"status": "incomplete", "incomplete_details": reason}))
    };
    let failed = |code: &str, message: &str| {
        response("failed", json!({"status": "failed", "error": {"code": code, "message": message}}))
    };
    let none = Remedy::None;
    for (event, words, remedy) in [
        (
            incomplete(json!({"reason": "content_filter"})),
            "Response incomplete: content_filter",
            none,
        ),
        (incomplete(Value::Null), "Response incomplete without a provider reason", none),
        (failed("server_error", "it broke"), "server_error: it broke", RETRY),
        (failed("rate_limit_exceeded", "slow down"), "rate_limit_exceeded: slow down", RETRY),
        (failed("invalid_prompt", "not allowed"), "invalid_prompt: not allowed", none),
        (failed("insufficient_quota", "server error"), "insufficient_quota: server error", none),
        (
            failed("context_length_exceeded", "too long"),
            "context_length_exceeded: too long",
            Remedy::Compact,
        ),
        (response("failed", json!({})), "Unknown error (no error details in response)", none),
        (
            response("completed", json!({"status": "cancelled"})),
            "Unknown error (no error details in response)",
            none,
        ),
        (
            json!({"type": "error", "code": "overloaded", "message": "busy"}),
            "Error Code overloaded: busy",
            RETRY,
        ),
        (json!({"type": "error", "error": {"message": "sad", "code": 503}}), "sad", RETRY),
        (json!({"type": "error", "message": "sad"}), "sad", none),
        (
            json!({"type": "x"}),
            "OpenAI Responses stream ended before a terminal response event",
            RETRY,
        ),
    ] {
        let (_, result) = read(&[created(), event.clone()]);
        assert_eq!(result, Err(ProviderError { message: words.into(), remedy }), "{event}");
    }
    let cut = incomplete(json!({"reason": "max_output_tokens"}));
    let last = pieces(&[created(), cut]).pop();
    assert_eq!(last, Some(ended(StopReason::Length, "incomplete.max_output_tokens")));
}

#[test]
fn torn_and_garbage_streams_are_errors_that_pass() {
    let begun = stream(&[created(), added(0, &json!({"type": "message"}))]).into_bytes();
    for (bytes, words) in [
        (vec![begun.clone(), vec![]], "cut: connection reset"),
        (vec![begun.clone()], "OpenAI Responses stream ended before"),
        (vec![begun.clone(), b"data: {oops\n\n".to_vec()], "Could not understand the provider: "),
        (vec![begun[..40].to_vec()], "Could not understand the provider: "),
        (vec![b"data: [DONE]\n\n".to_vec()], "OpenAI Responses stream ended before"),
        (vec![vec![0xff; 99]], "OpenAI Responses stream ended before"),
    ] {
        let error = decode(&mut decoder(), bytes).1.unwrap_err();
        assert!(error.message.starts_with(words), "{}", error.message);
        assert_eq!(error.remedy, RETRY);
    }
    // Nothing is missing if only the connection broke.
    let whole = stream(&[created(), completed()]).into_bytes();
    assert_eq!(decode(&mut decoder(), vec![whole, b"data: {".to_vec(), vec![]]).1, Ok(()));
}

#[test]
fn a_document_instead_of_a_stream_is_read_as_well() {
    let item =
        json!({"id": "m", "type": "message", "content": [{"type": "output_text", "text": "hi"}]});
    let mut found = Vec::new();
    let mut events = decoder();
    let whole = json!({"id": "r", "status": "completed", "error": null, "output": [item]});
    events.document(&whole.to_string(), &mut |piece| found.push(piece)).unwrap();
    assert!(events.is_whole() && found.contains(&Piece::TextStarted), "{found:?}");
    for (document, words) in [
        (json!({"error": {"message": "no"}}), "no"),
        (json!({"status": "failed", "error": {"code": "c", "message": "m"}}), "c: m"),
        (json!({}), "Could not understand the provider: not an answer but {}"),
    ] {
        let result = decoder().document(&document.to_string(), &mut |_| {});
        assert_eq!(result.unwrap_err().message, words);
    }
}

#[test]
fn a_server_is_asked_with_the_key_in_a_header() {
    let (pieces, result, request) =
        play(Api::OpenAiResponses, &json!({"text": "hello", "chunk": 3}));
    assert_eq!(result, Ok(()));
    assert!(pieces.contains(&text("hel")), "{pieces:?}");
    assert_eq!(request.path, "/v1/responses");
    assert_eq!(request.header("authorization"), Some("Bearer sk-secret"));
    let azure = play(Api::AzureOpenAiResponses, &json!({"text": "hello"}));
    assert_eq!(azure.1, Ok(()));
}

#[test]
fn refusals_have_the_words_of_pi() {
    let play = |turn: Value| play(Api::OpenAiResponses, &turn).1.unwrap_err();
    let error = play(json!({"error": 429, "retry_after": 3, "error_message": "for sk-secret"}));
    let words =
        r#"{"message":"for [redacted]","type":"tokens","param":null,"code":"rate_limit_exceeded"}"#;
    assert_eq!(error.message, format!("fake API error (429): {words}"));
    assert_eq!(error.remedy, Remedy::Retry { after: Some(Duration::from_secs(3)) });
    let error = play(json!({"error": 429, "error_type": "insufficient_quota"}));
    assert_eq!(error.remedy, Remedy::None);
    let words = "Your input exceeds the context window of this model";
    assert_eq!(play(json!({"error": 400, "error_message": words})).remedy, Remedy::Compact);
    let error = play(json!({"hang": true}));
    assert!(error.message.ends_with(" was silent for 0.4 s"), "{}", error.message);
    assert_eq!(play(json!({"text": "one two", "chunk": 2, "cut": true})).remedy, RETRY);
    let error = play(json!({"page": "<html>log in"}));
    assert_eq!(error.message, "Not a model but a web page answered: <html>log in");
}

proptest! {
    #[test]
    fn the_meaning_does_not_depend_on_how_bytes_arrive(at in 0_usize..300) {
        let item = json!({"id": "m", "type": "message", "content": [{"type": "output_text", "text": "ü😀"}]});
        let bytes = stream(&[created(), delta("output_text", 0, "ü"), done(0, &item), completed()]).into_bytes();
        let (one, other) = bytes.split_at(at.min(bytes.len() - 1).max(1));
        let whole = decode(&mut decoder(), vec![bytes.clone()]);
        prop_assert_eq!(decode(&mut decoder(), vec![one.to_vec(), other.to_vec()]), whole);
    }
}
