//! What a provider can do to its client, in every protocol.

use super::*;

const PATHS: [&str; 4] = [
    "/v1/chat/completions",
    "/v1/messages",
    "/v1/responses",
    "/v1beta/models/fake-1:streamGenerateContent?alt=sse",
];

/// A request with an empty conversation, whatever the protocol calls it.
fn nothing_said() -> Value {
    json!({"messages": [], "input": [], "contents": [], "stream": true})
}

#[test]
fn a_sequence_is_played_whatever_the_conversation_is() {
    let turns = json!([{"text": "one"}, {"error": 500}, {"text": "two"}]);
    for path in PATHS {
        let server = FakeLlm::start_sequence(&turns).unwrap();
        let mut client = Client::connect(&server);
        let mut ask = || {
            let mut body = nothing_said();
            body["stream"] = json!(false);
            client.post_to(path, &body)
        };
        let (first, second, third, fourth) = (ask(), ask(), ask(), ask());
        assert_eq!(
            [first.status, second.status, third.status, fourth.status],
            [200, 500, 200, 200]
        );
        assert!(first.body.contains("\"one\"") && third.body.contains("\"two\""));
        assert!(fourth.body.contains("(end of script)"));
        assert_eq!(server.request_count(), 4);
    }
}

#[test]
fn an_error_can_quote_the_key() {
    let turns = json!([{"error": 401, "error_message": "not {{key}}, {{other}}"}]);
    let bearer = "authorization: Bearer secret";
    let headers = [bearer, "x-api-key: secret", bearer, "x-goog-api-key: secret"];
    for (path, header) in PATHS.into_iter().zip(headers) {
        let body = nothing_said().to_string();
        let length = body.len();
        let server = FakeLlm::start_sequence(&turns).unwrap();
        let mut client = Client::connect(&server);
        client.send(&format!(
            "POST {path} HTTP/1.1\r\n{header}\r\ncontent-length: {length}\r\n\r\n{body}"
        ));
        assert_eq!(client.receive().json()["error"]["message"], "not secret, {{other}}");
    }
}

#[test]
fn a_call_can_have_any_name_and_any_arguments() {
    let tool = json!({"name": "ls", "id": "same", "arguments": "{no json"});
    for path in PATHS {
        let server = FakeLlm::start_sequence(&json!([{"tools": [tool, tool]}])).unwrap();
        let response = Client::connect(&server).post_to(path, &nothing_said());
        assert!(response.body.matches("id\":\"same\"").count() >= 2, "{}", response.body);
        assert!(response.body.matches("{no json").count() >= 2, "{}", response.body);
    }
}

#[test]
fn a_provider_that_stalls_has_said_everything() {
    for path in PATHS {
        let server = FakeLlm::start_sequence(&json!([{"text": "words", "stall": true}])).unwrap();
        let mut client = Client::connect(&server);
        let body = nothing_said().to_string();
        let length = body.len();
        client.send(&format!("POST {path} HTTP/1.1\r\ncontent-length: {length}\r\n\r\n{body}"));
        client.shutdown_write();
        let response = client.receive();
        assert!(response.body.contains("\"words\"") && !response.complete, "{}", response.body);
        for end in ["[DONE]", "message_stop", "response.completed", "finishReason"] {
            assert!(!response.body.contains(end), "{}", response.body);
        }
    }
}
