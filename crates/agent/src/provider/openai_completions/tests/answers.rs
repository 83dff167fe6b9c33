//! What is made of the bytes that come.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::stream::Chunks;
use crate::config::Rates;
use crate::message::{StopReason, Usage};
use crate::provider::stream::Decoder;
use crate::provider::testing;
use crate::provider::{Piece, ProviderError, Remedy};

fn decode(bytes: Vec<Vec<u8>>, says_reason: bool) -> (Vec<Piece>, Result<(), ProviderError>) {
    testing::decode(&mut Chunks::new(Some(Rates::default()), says_reason), bytes)
}

fn chunk(delta: &Value) -> Value {
    json!({"id": "r1", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn calls(calls: &Value) -> Value {
    chunk(&json!({"tool_calls": calls}))
}

fn finish(reason: &str) -> Value {
    json!({"id": "r1", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn stream(chunks: &[Value]) -> String {
    let events: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    events + "data: [DONE]\n\n"
}

fn pieces(chunks: &[Value]) -> Vec<Piece> {
    let (pieces, result) = decode(vec![stream(chunks).into_bytes()], true);
    result.unwrap();
    pieces
}

fn error(text: &str) -> ProviderError {
    let pieces = if text.is_empty() { vec![] } else { vec![text.into()] };
    decode(pieces, true).1.unwrap_err()
}

fn started() -> Piece {
    Piece::Started { response_id: Some("r1".into()) }
}

fn text(text: &str) -> Piece {
    Piece::Text(text.into())
}

fn call(index: u64, id: &str, name: &str) -> Piece {
    Piece::ToolCall { index, id: id.into(), name: name.into() }
}

fn arguments(index: u64, json: &str) -> Piece {
    Piece::Arguments { index, json: json.into() }
}

fn ended(reason: StopReason, raw: &str) -> Piece {
    Piece::Ended { reason, raw: Some(raw.into()) }
}

#[test]
fn an_answer_comes_in_pieces() {
    let usage = json!({"id": "r1", "choices": [], "usage": {
        "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 10},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }});
    let found = pieces(&[
        chunk(&json!({"role": "assistant", "content": ""})),
        chunk(&json!({"reasoning_content": "h", "reasoning": "h"})),
        chunk(&json!({"reasoning_content": "m"})),
        chunk(&json!({"content": "he"})),
        chunk(&json!({"content": "llo"})),
        finish("stop"),
        usage,
    ]);
    let usage = Usage {
        input: 60,
        output: 20,
        cache_read: 30,
        cache_write: 10,
        reasoning: Some(5),
        total_tokens: 120,
        cost: Some(model::Cost::default()),
    };
    let expected = [
        started(),
        Piece::Thinking("h".into()),
        Piece::ThinkingSignature("reasoning_content".into()),
        Piece::Thinking("m".into()),
        text("he"),
        text("llo"),
        Piece::Usage(usage),
        ended(StopReason::Stop, "stop"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn calls_are_told_apart_however_they_are_numbered() {
    let plain = pieces(&[
        calls(&json!([{"index": 0, "id": "a", "function": {"name": "ls", "arguments": ""}}])),
        calls(&json!([{"index": 0, "function": {"arguments": "{\"x\""}}])),
        calls(&json!([{"index": 1, "id": "b", "function": {"name": "cat", "arguments": "{}"}}])),
        calls(&json!([{"index": 0, "function": {"arguments": ":1}"}}])),
        finish("tool_calls"),
    ]);
    let expected = [
        started(),
        call(0, "a", "ls"),
        arguments(0, ""),
        arguments(0, "{\"x\""),
        call(1, "b", "cat"),
        arguments(1, "{}"),
        arguments(0, ":1}"),
        ended(StopReason::ToolUse, "tool_calls"),
    ];
    assert_eq!(plain, expected);

    // The id and the name again with every piece, and arguments that are no text.
    let repeated = pieces(&[
        calls(&json!([{"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{\"x\""}}])),
        calls(&json!([{"index": 0, "id": "a", "function": {"name": "ls", "arguments": ":1}"}}])),
        calls(&json!([{"index": 0, "id": "b", "function": {"name": "ls", "arguments": {"y": 2}}}])),
        finish("tool_calls"),
    ]);
    let expected = [
        started(),
        call(0, "a", "ls"),
        arguments(0, "{\"x\""),
        arguments(0, ":1}"),
        call(1, "b", "ls"),
        arguments(1, "{\"y\":2}"),
        ended(StopReason::ToolUse, "tool_calls"),
    ];
    assert_eq!(repeated, expected);

    // The same id for all calls, and the numbers tell them apart.
    let same = pieces(&[
        calls(&json!([{"index": 0, "id": "a", "function": {"name": "ls", "arguments": ""}}])),
        calls(&json!([{"index": 1, "id": "a", "function": {"name": "cat", "arguments": ""}}])),
        calls(&json!([{"index": 1, "function": {"arguments": "{}"}}])),
        finish("tool_calls"),
    ]);
    let expected = [
        started(),
        call(0, "a", "ls"),
        arguments(0, ""),
        call(1, "a", "cat"),
        arguments(1, ""),
        arguments(1, "{}"),
        ended(StopReason::ToolUse, "tool_calls"),
    ];
    assert_eq!(same, expected);

    // Without numbers; with a new id for every piece; with the name only later.
    let odd = pieces(&[
        calls(&json!([{"id": "a", "function": {"name": "ls", "arguments": "{"}}])),
        calls(&json!([{"function": {"arguments": "}"}}])),
        calls(&json!([{"index": 1, "id": "b", "function": {"arguments": "{"}}])),
        calls(&json!([{"index": 1, "id": "c", "function": {"name": "cat"}}])),
        calls(&json!([{"index": 1, "id": "d", "function": {"arguments": "}"}}])),
        calls(&json!([{"index": 2, "id": "e", "function": {"arguments": "{}"}}, "nonsense", null])),
        finish("tool_calls"),
    ]);
    let expected = [
        started(),
        call(0, "a", "ls"),
        arguments(0, "{"),
        arguments(0, "}"),
        call(1, "b", "cat"),
        arguments(1, "{"),
        arguments(1, "}"),
        call(2, "e", ""),
        arguments(2, "{}"),
        ended(StopReason::ToolUse, "tool_calls"),
    ];
    assert_eq!(odd, expected);
}

#[test]
fn a_call_without_an_id_gets_one() {
    let found = pieces(&[
        calls(&json!([{"index": 0, "function": {"name": "ls", "arguments": "{}"}}])),
        finish("tool_calls"),
    ]);
    assert!(
        matches!(&found[1], Piece::ToolCall { id, .. } if id.starts_with("call_") && id.len() > 20)
    );
}

#[test]
fn thoughts_that_must_go_back_are_put_together() {
    let detail = |value: Value| chunk(&json!({"reasoning_details": [value]}));
    let found = pieces(&[
        detail(json!({"type": "reasoning.text", "text": "a", "index": 0})),
        detail(json!({"type": "reasoning.text", "text": "b", "signature": "s", "index": 0})),
        detail(json!({"type": "reasoning.encrypted", "data": "x"})),
        detail(json!({"type": "reasoning.encrypted", "data": "y"})),
        detail(json!({"type": "unknown"})),
        chunk(&json!({"content": "so"})),
        finish("stop"),
    ]);
    let details = json!([
        {"type": "reasoning.text", "text": "ab", "index": 0, "signature": "s"},
        {"type": "reasoning.encrypted", "data": "x"},
        {"type": "reasoning.encrypted", "data": "y"},
    ]);
    let expected = [
        started(),
        Piece::Thinking(String::new()),
        text("so"),
        Piece::ThinkingSignature(details.to_string()),
        ended(StopReason::Stop, "stop"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_name_of_the_answer_may_come_late() {
    let nameless = json!({"id": "", "choices": [], "prompt_filter_results": []});
    assert_eq!(pieces(&[nameless, chunk(&json!({"content": "x"})), finish("stop")])[0], started());
    let mut chunk = chunk(&json!({"content": "x"}));
    chunk["id"] = Value::Null;
    assert_eq!(pieces(&[chunk, finish("stop")])[0], Piece::Started { response_id: None });
}

#[test]
fn usage_is_found_wherever_it_is() {
    let usage = |usage: Value| {
        let mut last = finish("stop");
        last["choices"][0]["usage"] = usage;
        match pieces(&[last]).remove(1) {
            Piece::Usage(usage) => (usage.input, usage.cache_read, usage.total_tokens),
            other => panic!("{other:?}"),
        }
    };
    let tokens = json!({"prompt_tokens": 10, "completion_tokens": 1, "prompt_cache_hit_tokens": 4});
    assert_eq!(usage(tokens), (6, 4, 11));
    let tokens = json!({"prompt_tokens": 10, "completion_tokens": 1, "cached_tokens": 40});
    assert_eq!(usage(tokens), (0, 40, 41));
    assert_eq!(usage(json!({"prompt_tokens": "many", "completion_tokens": -1})), (0, 0, 0));
    let huge = json!({"prompt_tokens": u64::MAX, "completion_tokens": u64::MAX});
    assert_eq!(usage(huge), (u64::MAX, 0, u64::MAX));
}

#[test]
fn an_answer_can_be_one_document() {
    let mut chunks = Chunks::new(Some(Rates::default()), true);
    let mut found = Vec::new();
    let message = json!({"role": "assistant", "content": [{"type": "text", "text": "hi"}]});
    let document = json!({"id": "r1", "choices": [{"message": message, "finish_reason": "stop"}]});
    chunks.document(&document.to_string(), &mut |piece| found.push(piece)).unwrap();
    chunks.end(&mut |piece| found.push(piece)).unwrap();
    assert_eq!(found, [started(), text("hi"), ended(StopReason::Stop, "stop")]);
    let mut chunks = Chunks::new(Some(Rates::default()), true);
    assert!(chunks.document("<html>", &mut |_| {}).is_err());
    let error = chunks.document(r#"{"error": "no such model"}"#, &mut |_| {}).unwrap_err();
    assert_eq!(error.message, "no such model");
}

#[test]
fn a_refusal_is_said() {
    let found = pieces(&[chunk(&json!({"refusal": "I will not"})), finish("stop")]);
    assert_eq!(found[1], text("I will not"));
}

#[test]
fn what_cannot_be_understood_is_an_error() {
    let retry = Remedy::Retry { after: None };
    let begun = format!("data: {}\n\n", chunk(&json!({"content": "x"})));
    let cases = [
        ("", "Stream ended without finish_reason", retry),
        ("data: [DONE]\n\n", "Stream ended without finish_reason", retry),
        (&begun, "Stream ended without finish_reason", retry),
        ("<html>\n<p>hello\n", "Stream ended without finish_reason", retry),
        ("data: {oops\n\n", "Could not understand the provider: ", retry),
        ("data: {\"error\":{\"message\":\"no\",\"code\":400}}\n\n", "no", Remedy::None),
        ("data: {\"error\":{\"message\":\"Overloaded\"}}\n\n", "Overloaded", retry),
        ("event: error\ndata: {\"message\":\"bad\"}\n\n", "bad", Remedy::None),
        ("event: error\ndata: timeout\n\n", "timeout", retry),
    ];
    for (bytes, message, remedy) in cases {
        let error = error(bytes);
        assert!(error.message.starts_with(message), "{bytes}: {}", error.message);
        assert_eq!(error.remedy, remedy, "{bytes}");
    }
    let filtered = error(&stream(&[finish("content_filter")]));
    assert_eq!(filtered.message, "Provider finish_reason: content_filter");
    assert_eq!(filtered.remedy, Remedy::None);
}

#[test]
fn a_cut_matters_only_before_the_end() {
    let whole = stream(&[chunk(&json!({"content": "x"})), finish("stop")]).into_bytes();
    let half = whole[..30].to_vec();
    let (_, result) = decode(vec![half, vec![]], true);
    assert_eq!(result.unwrap_err().message, "cut: connection reset");
    let (pieces, result) = decode(vec![whole.clone(), vec![]], true);
    assert_eq!((pieces.len(), result), (3, Ok(())));
    // In the middle of the mark of the end.
    let (pieces, result) = decode(vec![whole[..whole.len() - 9].to_vec(), vec![]], true);
    assert_eq!((pieces.len(), result), (3, Ok(())));
}

#[test]
fn some_never_say_why_they_stop() {
    let text_only = stream(&[chunk(&json!({"content": "x"}))]).into_bytes();
    let (found, result) = decode(vec![text_only], false);
    assert_eq!(result, Ok(()));
    assert_eq!(found[2], Piece::Ended { reason: StopReason::Stop, raw: None });
    let with_call = calls(&json!([{"index": 0, "id": "a", "function": {"name": "ls"}}]));
    let (found, _) = decode(vec![stream(&[with_call]).into_bytes()], false);
    assert_eq!(found[3], Piece::Ended { reason: StopReason::ToolUse, raw: None });
    assert!(decode(vec![], false).1.is_err());
}

#[test]
fn an_endless_line_is_given_up() {
    let (_, result) = decode(vec![vec![b'x'; 1024 * 1024]; 17], true);
    let error = result.unwrap_err();
    assert_eq!(error.message, "The provider sent an event of more than 16 MiB");
    assert_eq!(error.remedy, Remedy::None);
}

proptest! {
    #[test]
    fn it_does_not_matter_where_bytes_are_cut(size in 1usize..200) {
        let chunks = [
            chunk(&json!({"content": "zażółć 🦀"})),
            chunk(&json!({"reasoning": "漢字"})),
            calls(&json!([{"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{\"é\":1}"}}])),
            finish("tool_calls"),
        ];
        let bytes = stream(&chunks).replace("data: {\"id\"", ": ping\r\n\r\ndata: {\"id\"");
        let cut = bytes.as_bytes().chunks(size).map(<[u8]>::to_vec).collect();
        prop_assert_eq!(decode(cut, true), (pieces(&chunks), Ok(())));
    }

    #[test]
    fn no_bytes_do_harm(bytes: Vec<u8>, says_reason: bool) {
        let _ = decode(vec![bytes.clone()], says_reason);
        let _ = decode(vec![b"data: ".to_vec(), bytes, b"\n\n".to_vec()], says_reason);
    }

    #[test]
    fn no_json_does_harm(
        field in "(id|choices|error|usage|x)",
        inner in "(delta|message|finish_reason|usage|tool_calls)",
        value in r#"(null|1|-1|true|"x"|\[\]|\[null\]|\{\}|\[\{"index":1,"function":\{"name":7,"arguments":\[1\]\}\}\]|\{"tool_calls":\[\{\}\]\})"#,
    ) {
        let text = format!("data: {{\"{field}\":[{{\"{inner}\":{value}}}]}}\n\ndata: {{\"{field}\":{value}}}\n\n");
        let _ = decode(vec![text.into_bytes()], true);
    }
}
