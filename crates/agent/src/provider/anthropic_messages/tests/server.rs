//! Against a server on loopback.

use std::time::Duration;

use serde_json::{Value, json};
use test_support::fake_llm::FakeLlm;

use crate::config::{Model, Secret};
use crate::message::StopReason;
use crate::provider::Api;
use crate::provider::testing::{Pieces, compat, model, options, request, tool, user};
use crate::provider::{
    HttpProvider, Options, Piece, Provider, ProviderError, Remedy, Request, ThinkingLevel,
};

fn claude(server: &FakeLlm) -> Model {
    Model { api: Api::AnthropicMessages, base_url: server.root_url(), ..model() }
}

fn provider(model: Model, key: &str) -> HttpProvider {
    let session = Some("session-1".into());
    let model = Model { api: Api::AnthropicMessages, ..model };
    HttpProvider::new(model, Some(Secret::new(key)), &Options { session, ..options() }).unwrap()
}

fn scripted(script: &Value) -> Request {
    request(vec![user(format!("<<SCRIPT>>{script}<<END>>"))])
}

fn ask(provider: &HttpProvider, request: &Request) -> (Vec<Piece>, Result<(), ProviderError>) {
    let mut pieces = Vec::new();
    let result = provider.stream(request, &mut |piece| pieces.push(piece));
    (pieces, result)
}

fn play(turn: &Value) -> (Vec<Piece>, Result<(), ProviderError>) {
    let server = FakeLlm::start().unwrap();
    ask(&provider(claude(&server), "sk-secret"), &scripted(&json!([turn])))
}

#[test]
fn a_failure_always_has_a_reason() {
    let provider = provider(model(), "sk-secret");
    for answer in [
        "event: error\ndata:  \n\n",
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\",\
         \"stop_details\":{\"explanation\":\"\"}}}\n\n",
    ] {
        let error = provider.read_answer(answer.as_bytes(), &mut |_| {}).unwrap_err();
        assert_eq!(error.message, "The provider failed, and did not say why", "{answer}");
    }
}

#[test]
fn a_document_is_known_behind_any_number_of_blanks() {
    let provider = provider(model(), "sk-secret");
    let document = json!({"type": "error", "error": {"message": "prompt is too long"}}).to_string();
    for pieces in
        [vec!["\n", " \r\n", &document], vec![&format!("\n\n{document}")], vec![&document]]
    {
        let pieces = pieces.into_iter().map(|piece| piece.as_bytes().to_vec()).collect();
        let error = provider.read_answer(Pieces(pieces), &mut |_| {}).unwrap_err();
        assert_eq!(error.remedy, Remedy::Compact, "{error}");
    }
}

#[test]
fn an_answer_is_streamed_over_one_connection() {
    let server = FakeLlm::start().unwrap();
    let provider = provider(claude(&server), "sk-secret");
    let tools = json!([{"name": "ls", "args": {}}]);
    let script = json!([{"thinking": "hm", "text": "hello", "tools": tools}]);
    for number in 0..2 {
        let (mut pieces, result) = ask(&provider, &scripted(&script));
        assert_eq!(result, Ok(()));
        pieces.retain(|piece| !matches!(piece, Piece::Usage(_)));
        let expected = [
            Piece::Started { response_id: Some(format!("msg_{number}")) },
            Piece::Thinking("hm".into()),
            Piece::ThinkingSignature(format!("signature_{number}")),
            Piece::BlockEnded,
            Piece::Text("hello".into()),
            Piece::BlockEnded,
            Piece::ToolCall { index: 0, id: format!("toolu_{number}_0"), name: "ls".into() },
            Piece::Arguments { index: 0, json: String::new() },
            Piece::Arguments { index: 0, json: "{}".into() },
            Piece::BlockEnded,
            Piece::Ended { reason: StopReason::ToolUse, raw: Some("tool_use".into()) },
        ];
        assert_eq!(pieces, expected);
    }
    assert_eq!(server.connections(), 1);
    let requests = server.requests();
    let header = |name| requests[0].header(name);
    assert_eq!(requests[0].path, "/v1/messages");
    assert_eq!(header("x-api-key"), Some("sk-secret"));
    assert_eq!(header("authorization"), None);
    assert_eq!(header("anthropic-version"), Some("2023-06-01"));
    assert_eq!((header("anthropic-beta"), header("x-session-affinity")), (None, None));
}

#[test]
fn headers_say_what_the_protocol_does_not_have_yet() {
    let server = FakeLlm::start().unwrap();
    let mut model = claude(&server);
    model.reasoning = true;
    // The version of the API may stand in the address.
    model.base_url = server.base_url() + "/";
    model.compat = compat(json!({
        "supportsEagerToolInputStreaming": false, "sendSessionAffinityHeaders": true,
    }));
    let request = Request {
        thinking: ThinkingLevel::Low,
        tools: vec![tool()],
        ..scripted(&json!([{"text": "x"}]))
    };
    assert_eq!(ask(&provider(model.clone(), "sk-ant-oat-1"), &request).1, Ok(()));
    model.headers.insert("Anthropic-Beta".into(), Secret::new("mine"));
    model.headers.insert("Authorization".into(), Secret::new("Bearer other"));
    assert_eq!(ask(&provider(model, "sk-ant-oat-1"), &request).1, Ok(()));
    let requests = server.requests();
    assert_eq!(requests[0].path, "/v1/messages");
    assert_eq!(requests[0].header("authorization"), Some("Bearer sk-ant-oat-1"));
    assert_eq!(requests[0].header("x-api-key"), None);
    assert_eq!(requests[0].header("x-session-affinity"), Some("session-1"));
    let betas = "oauth-2025-04-20,fine-grained-tool-streaming-2025-05-14,\
                 interleaved-thinking-2025-05-14";
    assert_eq!(requests[0].header("anthropic-beta"), Some(betas));
    assert_eq!(requests[1].header("anthropic-beta"), Some("mine"));
    assert_eq!(requests[1].header("authorization"), Some("Bearer other"));
}

#[test]
fn refusals_have_the_words_of_pi() {
    let retry = |after| Remedy::Retry { after };
    let cases = [
        (400, "invalid_request_error", Remedy::None),
        (401, "authentication_error", Remedy::None),
        (413, "request_too_large", Remedy::Compact),
        (500, "api_error", retry(None)),
        (529, "overloaded_error", retry(None)),
    ];
    for (status, kind, remedy) in cases {
        let error = play(&json!({"error": status})).1.unwrap_err();
        let body = format!("{{\"type\":\"{kind}\",\"message\":\"scripted error\"}}");
        let words = format!("{status} {{\"type\":\"error\",\"error\":{body}}}");
        assert_eq!((error.message, error.remedy), (words, remedy));
    }
    let turn = json!({"error": 429, "retry_after": 9, "headers": {"retry-after-ms": "1500"}});
    let error = play(&turn).1.unwrap_err();
    assert_eq!(error.remedy, retry(Some(Duration::from_millis(1500))));
    let turn = json!({"error": 400, "error_message": "prompt is too long: 9 tokens > 8 maximum"});
    assert_eq!(play(&turn).1.unwrap_err().remedy, Remedy::Compact);
}

#[test]
fn a_broken_stream_is_an_error() {
    let retry = Remedy::Retry { after: None };
    let cases = [
        (json!({"text": "one two", "cut": true}), "Connection error: 127.0.0.1:", retry),
        (json!({"garbage": "data: {oops\n\n"}), "Could not parse Anthropic SSE event : ", retry),
        (json!({"unfinished": true}), "Anthropic stream ended before message_stop", retry),
        (
            json!({"garbage": "event: error\ndata: {\"type\":\"error\"} sk-secret\n\n"}),
            "{\"type\":\"error\"} [redacted]",
            Remedy::None,
        ),
        (
            json!({"page": "<html>\nlog in"}),
            "Not a model but a web page answered: <html> log in",
            Remedy::None,
        ),
    ];
    for (turn, message, remedy) in cases {
        let error = play(&turn).1.unwrap_err();
        assert!(error.message.starts_with(message), "{turn}: {}", error.message);
        assert_eq!(error.remedy, remedy, "{turn}");
    }
}
