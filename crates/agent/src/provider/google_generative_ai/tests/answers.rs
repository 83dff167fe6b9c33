//! What is made of the bytes that come: streams as Google's documents describe them, and others.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::stream::Chunks;
use crate::config::Rates;
use crate::message::{StopReason, Usage};
use crate::provider::stream::Decoder as _;
use crate::provider::testing::{decode, play};
use crate::provider::{Api, Piece, ProviderError, Remedy};

const RETRY: Remedy = Remedy::Retry { after: None };

fn decoder() -> Chunks {
    Chunks::new(Some(Rates { input: 1.0, output: 2.0, cache_read: 0.5, ..Rates::default() }))
}

fn stream(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect()
}

fn read(chunks: &[Value]) -> (Vec<Piece>, Result<(), ProviderError>) {
    decode(&mut decoder(), vec![stream(chunks).into_bytes()])
}

fn parts(parts: &Value) -> Value {
    let content = json!({"role": "model", "parts": parts});
    json!({"candidates": [{"content": content, "index": 0}], "responseId": "r1"})
}

fn finish(reason: &str) -> Value {
    json!({"candidates": [{"content": {"role": "model"}, "finishReason": reason}], "responseId": "r1"})
}

fn ended(reason: StopReason, raw: &str) -> Piece {
    Piece::Ended { reason, raw: Some(raw.into()) }
}

fn signed(block: usize, signature: &str) -> Piece {
    Piece::Block { block, text: None, signature: Some(signature.into()) }
}

#[test]
fn an_answer_with_thoughts_calls_and_signatures() {
    let usage = json!({"promptTokenCount": 100, "cachedContentTokenCount": 40,
        "candidatesTokenCount": 20, "thoughtsTokenCount": 10, "totalTokenCount": 130});
    let mut last = finish("STOP");
    last["usageMetadata"] = usage;
    let (found, result) = read(&[
        parts(&json!([{"text": "hm", "thought": true}])),
        parts(&json!([{"text": "m", "thought": true, "thoughtSignature": "c2ln"}])),
        parts(&json!([{"text": "hel"}])),
        parts(&json!([{"text": "lo"}, {"text": "", "thoughtSignature": "dGV4"}])),
        parts(&json!([
            {"functionCall": {"id": "a", "name": "ls", "args": {"x": 1}}, "thoughtSignature": "Y2Fs"},
            {"functionCall": {"id": "b", "name": "ls"}},
        ])),
        last,
    ]);
    assert_eq!(result, Ok(()));
    let usage = Usage {
        input: 60,
        output: 30,
        cache_read: 40,
        reasoning: Some(10),
        total_tokens: 130,
        cost: Some(model::Cost {
            input: 6e-5,
            output: 6e-5,
            cache_read: 2e-5,
            total: 6e-5 + 6e-5 + 2e-5,
            ..Default::default()
        }),
        ..Usage::default()
    };
    let call = |index, id: &str| Piece::ToolCall { index, id: id.into(), name: "ls".into() };
    let arguments = |index, json: &str| Piece::Arguments { index, json: json.into() };
    let expected = [
        Piece::Started { response_id: Some("r1".into()) },
        Piece::ThinkingStarted,
        Piece::Thinking("hm".into()),
        Piece::Thinking("m".into()),
        signed(0, "c2ln"),
        Piece::BlockEnded,
        Piece::TextStarted,
        Piece::Text("hel".into()),
        Piece::Text("lo".into()),
        Piece::Text(String::new()),
        signed(1, "dGV4"),
        Piece::BlockEnded,
        call(0, "a"),
        arguments(0, "{\"x\":1}"),
        signed(2, "Y2Fs"),
        Piece::BlockEnded,
        call(1, "b"),
        arguments(1, "{}"),
        Piece::BlockEnded,
        Piece::Usage(usage),
        ended(StopReason::Stop, "STOP"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn how_an_answer_ends_is_told_truly() {
    let with_message = |reason: &str, message: &str| {
        let mut chunk = finish(reason);
        chunk["candidates"][0]["finishMessage"] = json!(message);
        chunk
    };
    let blocked = |feedback: Value| json!({ "promptFeedback": feedback });
    let none = Remedy::None;
    for (chunk, words, remedy) in [
        (finish("SAFETY"), "Provider stopped with: SAFETY", none),
        (finish("RECITATION"), "Provider stopped with: RECITATION", none),
        (finish("SOMETHING_NEW"), "Provider stopped with: SOMETHING_NEW", none),
        (
            with_message("MALFORMED_FUNCTION_CALL", "Malformed function call: print(1)"),
            "Provider stopped with: MALFORMED_FUNCTION_CALL: Malformed function call: print(1)",
            none,
        ),
        (blocked(json!({"blockReason": "SAFETY"})), "Provider blocked the prompt: SAFETY", none),
        (
            blocked(json!({"blockReason": "OTHER", "blockReasonMessage": "because"})),
            "Provider blocked the prompt: OTHER: because",
            none,
        ),
        (
            json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}),
            "The model is overloaded.",
            RETRY,
        ),
        (
            json!({"error": {"code": 400, "message": "bad", "status": "INVALID_ARGUMENT"}}),
            "bad",
            none,
        ),
        (
            json!({"error": {"code": 400, "message": "The input token count (9) exceeds the maximum number of tokens allowed (8)."}}),
            "The input token count (9) exceeds the maximum number of tokens allowed (8).",
            Remedy::Compact,
        ),
        (parts(&json!([])), "Google stream ended without a finish reason", RETRY),
    ] {
        let (_, result) = read(&[parts(&json!([{"text": "so far"}])), chunk.clone()]);
        assert_eq!(result, Err(ProviderError { message: words.into(), remedy }), "{chunk}");
    }
    let last = read(&[finish("MAX_TOKENS")]).0.pop();
    assert_eq!(last, Some(ended(StopReason::Length, "MAX_TOKENS")));
}

#[test]
fn torn_and_garbage_streams_are_errors_that_pass() {
    let begun = stream(&[parts(&json!([{"text": "x"}]))]).into_bytes();
    for (bytes, words) in [
        (vec![begun.clone(), vec![]], "cut: connection reset"),
        (vec![begun.clone()], "Google stream ended without a finish reason"),
        (vec![begun.clone(), b"data: {oops\n\n".to_vec()], "Could not understand the provider: "),
        (vec![begun[..20].to_vec()], "Could not understand the provider: "),
        (vec![vec![0xff; 99]], "Google stream ended without a finish reason"),
        (
            vec![b"data: [1, \"x\", null]\n\n".to_vec()],
            "Google stream ended without a finish reason",
        ),
    ] {
        let error = decode(&mut decoder(), bytes).1.unwrap_err();
        assert!(error.message.starts_with(words), "{}", error.message);
        assert_eq!(error.remedy, RETRY);
    }
    let whole = stream(&[finish("STOP")]).into_bytes();
    assert_eq!(decode(&mut decoder(), vec![whole, b"data: {".to_vec(), vec![]]).1, Ok(()));
}

#[test]
fn a_call_without_an_id_or_a_name_is_a_call() {
    let (found, result) = read(&[
        parts(&json!([{"functionCall": {"args": null}}, {"functionCall": {}}])),
        finish("STOP"),
    ]);
    assert_eq!(result, Ok(()));
    let ids: Vec<&String> = found
        .iter()
        .filter_map(|piece| match piece {
            Piece::ToolCall { id, .. } => Some(id),
            _ => None,
        })
        .collect();
    assert!(ids.len() == 2 && ids[0] != ids[1], "{found:?}");
}

#[test]
fn chunks_in_one_document_are_read_as_well() {
    for document in [
        json!([parts(&json!([{"text": "hi"}])), finish("STOP")]),
        json!({"candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}]}),
    ] {
        let (mut chunks, mut found) = (decoder(), Vec::new());
        chunks.document(&document.to_string(), &mut |piece| found.push(piece)).unwrap();
        assert!(chunks.is_whole() && found.contains(&Piece::Text("hi".into())), "{found:?}");
    }
    let refused = json!([{"error": {"code": 429, "message": "slow down"}}]).to_string();
    assert_eq!(decoder().document(&refused, &mut |_| {}).unwrap_err().remedy, RETRY);
}

#[test]
fn the_key_is_in_a_header_and_not_in_the_address() {
    let (found, result, request) = play(Api::GoogleGenerativeAi, &json!({"text": "hello"}));
    assert_eq!(result, Ok(()));
    assert!(found.contains(&Piece::Text("hello".into())), "{found:?}");
    assert!(
        request.path.starts_with("/v1beta/models/fake-1:streamGenerateContent"),
        "{}",
        request.path
    );
    assert_eq!(request.header("x-goog-api-key"), Some("sk-secret"));
    assert_eq!(request.header("authorization"), None);
    assert!(!request.path.contains("secret"));
}

#[test]
fn a_provider_says_when_to_ask_again_in_the_body() {
    let play = |turn: Value| play(Api::GoogleGenerativeAi, &turn).1.unwrap_err();
    // As Google says it if the requests of a minute are used up.
    let words = "You exceeded your current quota, please check your plan and billing details.";
    let error = play(json!({"error": 429, "error_message": words, "retry_after": 34}));
    assert!(
        error.message.starts_with("{\"error\":{\"code\":429,\"message\":\"You exceeded"),
        "{error}"
    );
    assert_eq!(error.remedy, Remedy::Retry { after: Some(Duration::from_secs(34)) });
    assert_eq!(play(json!({"error": 429, "error_message": words})).remedy, Remedy::None);
    assert_eq!(play(json!({"error": 503})).remedy, RETRY);
    let error = play(json!({"error": 400, "error_message": "API key not valid: {{key}}"}));
    assert!(error.remedy == Remedy::None && !error.message.contains("sk-secret"), "{error}");
    let error = play(json!({"hang": true}));
    assert!(error.message.ends_with(" was silent for 0.4 s"), "{}", error.message);
    assert_eq!(play(json!({"text": "one two", "chunk": 2, "cut": true})).remedy, RETRY);
}

#[test]
fn the_requests_of_a_day_do_not_come_back_soon() {
    use crate::provider::failure::Refusal;
    use crate::provider::protocol::Protocol as _;
    let body = json!({"error": {"code": 429, "message": "quota", "details": [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure",
         "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.07s"},
    ]}});
    let gemini = super::super::GoogleGenerativeAi::new(crate::provider::testing::model());
    let refusal = Refusal { status: Some(429), ..Refusal::default() };
    assert_eq!(gemini.refused(refusal, 429, &body.to_string()).remedy, Remedy::None);
    let page = gemini.refused(refusal, 429, "<html>");
    assert_eq!(page.message, r#"{"error":{"message":"<html>","code":429,"status":""}}"#);
}

proptest! {
    #[test]
    fn the_meaning_does_not_depend_on_how_bytes_arrive(at in 0_usize..300) {
        let bytes = stream(&[parts(&json!([{"text": "ü😀"}])), finish("STOP")]).into_bytes();
        let (one, other) = bytes.split_at(at.min(bytes.len() - 1).max(1));
        let whole = decode(&mut decoder(), vec![bytes.clone()]);
        prop_assert_eq!(decode(&mut decoder(), vec![one.to_vec(), other.to_vec()]), whole);
    }
}
