//! Against a server on loopback.

use std::time::Duration;

use serde_json::{Value, json};
use test_support::fake_llm::FakeLlm;

use crate::config::Secret;
use crate::message::StopReason;
use crate::provider::testing::{model, options, request, user};
use crate::provider::{HttpProvider, Options, Piece, Provider, ProviderError, Remedy};

fn provider(server: &FakeLlm, options: &Options) -> HttpProvider {
    let mut model = model();
    model.base_url = server.base_url();
    model.headers.insert("X-Api-Token".into(), Secret::new("header-secret"));
    HttpProvider::new(model, Some(Secret::new("sk-secret")), options).unwrap()
}

fn ask(provider: &HttpProvider, script: &Value) -> (Vec<Piece>, Result<(), ProviderError>) {
    let mut pieces = Vec::new();
    let request = request(vec![user(format!("<<SCRIPT>>{script}<<END>>"))]);
    let result = provider.stream(&request, &mut |piece| pieces.push(piece));
    (pieces, result)
}

fn play(turn: &Value) -> (Vec<Piece>, Result<(), ProviderError>) {
    let server = FakeLlm::start().unwrap();
    ask(&provider(&server, &options()), &json!([turn]))
}

#[test]
fn an_answer_is_streamed_over_one_connection() {
    let server = FakeLlm::start().unwrap();
    let provider = provider(&server, &options());
    for number in 0..3 {
        let (pieces, result) = ask(&provider, &json!([{"text": "hello", "chunk": 3}]));
        assert_eq!(result, Ok(()));
        let id = Some(format!("chatcmpl-{number}"));
        assert_eq!(pieces[0], Piece::Started { response_id: id });
        assert_eq!(pieces[1..3], [Piece::Text("hel".into()), Piece::Text("lo".into())]);
        let ended = Piece::Ended { reason: StopReason::Stop, raw: Some("stop".into()) };
        assert_eq!(pieces.last(), Some(&ended));
    }
    let requests = server.requests();
    let header = |name| requests[0].header(name);
    assert_eq!(header("authorization"), Some("Bearer sk-secret"));
    assert_eq!(header("content-type"), Some("application/json"));
    assert_eq!(header("x-api-token"), Some("header-secret"));
    assert_eq!(header("user-agent"), Some(concat!("pi-subagents/", env!("CARGO_PKG_VERSION"))));
    assert_eq!(header("accept-encoding"), None);
    assert_eq!(server.connections(), 1);
}

#[test]
fn refusals_have_the_words_of_pi() {
    for (status, remedy) in [
        (400, Remedy::None),
        (500, Remedy::Retry { after: None }),
        (429, Remedy::Retry { after: None }),
    ] {
        let error = play(&json!({"error": status})).1.unwrap_err();
        let words = format!(
            "{status}: {{\"message\":\"scripted error\",\"type\":\"invalid_request_error\"}}"
        );
        assert_eq!((error.message, error.remedy), (words, remedy));
    }
    let error = play(&json!({"error": 429, "retry_after": 3})).1.unwrap_err();
    assert_eq!(error.remedy, Remedy::Retry { after: Some(Duration::from_secs(3)) });
    let headers = json!({"x-should-retry": "false"});
    let error = play(&json!({"error": 400, "error_message": "overloaded", "headers": headers}));
    assert_eq!(error.1.unwrap_err().remedy, Remedy::None);
    let words = "This model's maximum context length is 9 tokens";
    let error = play(&json!({"error": 400, "error_message": words})).1.unwrap_err();
    assert_eq!(error.remedy, Remedy::Compact);
}

#[test]
fn secrets_are_not_repeated() {
    let text = "you sent sk-secret and header-secret";
    let event = format!("data: {{\"error\": \"{text}\"}}\n\n");
    let error = play(&json!({"garbage": event})).1.unwrap_err();
    assert_eq!(error.message, "you sent [redacted] and [redacted]");
}

#[test]
fn a_broken_stream_is_an_error_that_passes() {
    let retry = Remedy::Retry { after: None };
    let cut = play(&json!({"text": "one two three", "chunk": 4, "cut": true}));
    assert_eq!(cut.0[1], Piece::Text("one ".into()));
    let error = cut.1.unwrap_err();
    assert!(error.message.starts_with("Connection error: 127.0.0.1:"), "{}", error.message);
    assert_eq!(error.remedy, retry);
    let error = play(&json!({"garbage": "data: {oops\n\n"})).1.unwrap_err();
    assert!(error.message.starts_with("Could not understand the provider: "), "{}", error.message);
    assert_eq!(error.remedy, retry);
    let error = play(&json!({"text": "x", "unfinished": true})).1.unwrap_err();
    assert_eq!(error.message, "Stream ended without finish_reason");
    assert_eq!(error.remedy, retry);
    let error = play(&json!({"page": "<html>\nlog in"})).1.unwrap_err();
    assert_eq!(error.message, "Not a model but a web page answered: <html> log in");
    assert_eq!(error.remedy, Remedy::None);
}

#[test]
fn silence_is_given_up() {
    let server = FakeLlm::start().unwrap();
    let idle_timeout = Some(Duration::from_millis(400));
    let provider = provider(&server, &Options { idle_timeout, ..options() });
    let error = ask(&provider, &json!([{"hang": true}])).1.unwrap_err();
    assert!(error.message.starts_with("Request timed out: 127.0.0.1:"), "{}", error.message);
    assert!(error.message.ends_with(" was silent for 0.4 s"), "{}", error.message);
    assert_eq!(error.remedy, Remedy::Retry { after: None });
    // Slow is not silent.
    let slow = json!([{"text": "abcdefghijkl", "chunk": 1, "delay_ms": 40}]);
    assert_eq!(ask(&provider, &slow).1, Ok(()));
}

#[test]
fn a_server_that_is_not_there_may_come_back() {
    let server = FakeLlm::start().unwrap();
    let provider = provider(&server, &options());
    drop(server);
    let error = ask(&provider, &json!([])).1.unwrap_err();
    assert!(error.message.starts_with("Connection error: 127.0.0.1:"), "{}", error.message);
    assert_eq!(error.remedy, Remedy::Retry { after: None });
}

#[test]
fn a_bad_address_or_key_is_an_error_that_stays() {
    let mut model = model();
    model.base_url = "not a url".into();
    let provider = HttpProvider::new(model.clone(), None, &options()).unwrap();
    assert_eq!(ask(&provider, &json!([])).1.unwrap_err().remedy, Remedy::None);
    model.base_url = "http://127.0.0.1:1/v1".into();
    let key = Some(Secret::new("sk-\nsecret"));
    let provider = HttpProvider::new(model.clone(), key, &options()).unwrap();
    let error = ask(&provider, &json!([])).1.unwrap_err();
    assert!(error.remedy == Remedy::None && !error.message.contains("secret"), "{error:?}");
    let options = Options { proxy: Some("nonsense://x".into()), ..options() };
    assert_eq!(HttpProvider::new(model, None, &options).unwrap_err().remedy, Remedy::None);
}

#[test]
fn an_answer_that_is_no_stream_is_read_as_well() {
    let server = FakeLlm::start().unwrap();
    let mut model = model();
    model.base_url = server.base_url();
    model.sampling.insert("stream".into(), json!(false));
    let provider = HttpProvider::new(model, None, &options()).unwrap();
    let (pieces, result) = ask(&provider, &json!([{"text": "hello", "tools": [{"name": "ls"}]}]));
    assert_eq!(result, Ok(()));
    assert_eq!(pieces[2], Piece::Text("hello".into()));
    let call = Piece::ToolCall { index: 0, id: "call_0_0".into(), name: "ls".into() };
    assert_eq!(pieces[3], call);
    let (_, result) = ask(&provider, &json!([{"text": "hello", "cut": true}]));
    assert_eq!(result.unwrap_err().remedy, Remedy::Retry { after: None });
}

#[test]
fn a_proxy_is_asked_for_the_way() {
    let proxy = FakeLlm::start().unwrap();
    let mut model = model();
    model.base_url = "http://models.invalid/v1".into();
    let options = Options { proxy: Some(proxy.root_url()), ..options() };
    let provider = HttpProvider::new(model, None, &options).unwrap();
    assert!(ask(&provider, &json!([])).1.is_err());
    let request = &proxy.requests()[0];
    assert_eq!((request.method.as_str(), request.path.as_str()), ("CONNECT", "models.invalid:80"));
}
