//! Gemini's API.

use super::*;

const WHOLE: &str = "/v1beta/models/gemini-x:generateContent";
const STREAM: &str = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse";

/// A request: the script, then what the conversation has brought since.
fn request(script: &Value, following: &[Value]) -> Value {
    let mut contents = vec![user(&format!("<<SCRIPT>>{script}<<END>> do it"))];
    contents.extend_from_slice(following);
    json!({ "contents": contents })
}

fn user(text: &str) -> Value {
    json!({"role": "user", "parts": [{"text": text}]})
}

fn model(part: &Value) -> Value {
    json!({"role": "model", "parts": [part]})
}

fn ask(path: &str, body: &Value) -> Response {
    let server = FakeLlm::start().unwrap();
    Client::connect(&server).post_to(path, body)
}

fn stream(turn: &Value) -> Response {
    ask(STREAM, &request(&json!([turn]), &[]))
}

fn whole(turn: &Value) -> Value {
    ask(WHOLE, &request(&json!([turn]), &[])).json()
}

/// The text of an answer that came whole.
fn said(body: &Value) -> String {
    let answer = ask(WHOLE, body).json();
    answer["candidates"][0]["content"]["parts"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_turn_is_streamed_in_parts() {
    let response = stream(&json!({
        "thinking": "hm", "text": "zażółć", "chunk": 4,
        "tools": [{"name": "ls", "args": {"a": 1}}, {"name": "now", "id": "mine"}],
        "usage": {"input": 100, "cached": 30, "output": 9, "thinking": 4},
    }));
    assert_eq!(response.status, 200);
    assert!(response.headers.contains("content-type: text/event-stream"));
    assert!(response.complete);
    let call = |id: &str, name: &str, args: Value| json!({"functionCall": {"id": id, "name": name, "args": args}});
    let mut first_call = call("call_0_0", "ls", json!({"a": 1}));
    first_call["thoughtSignature"] = json!("c2lnbmF0dXJl");
    let parts = [
        json!({"text": ""}),
        json!({"text": "hm", "thought": true}),
        json!({"text": "zażó"}),
        json!({"text": "łć"}),
        first_call,
        call("mine", "now", json!({})),
        json!({"text": ""}),
    ];
    let begun =
        json!({"promptTokenCount": 100, "cachedContentTokenCount": 30, "totalTokenCount": 100});
    let mut expected: Vec<Value> = parts
        .iter()
        .map(|part| {
            let candidate = json!({"content": {"parts": [part], "role": "model"}, "index": 0});
            json!({
                "candidates": [candidate],
                "usageMetadata": begun,
                "modelVersion": "gemini-x",
                "responseId": "response_0",
            })
        })
        .collect();
    expected[6]["candidates"][0]["finishReason"] = json!("STOP");
    expected[6]["usageMetadata"] = json!({
        "promptTokenCount": 100, "cachedContentTokenCount": 30, "candidatesTokenCount": 5,
        "thoughtsTokenCount": 4, "totalTokenCount": 109,
    });
    assert_eq!(response.chunks(), expected);
}

#[test]
fn a_whole_answer_comes_from_the_other_method() {
    let turn = json!({"thinking": "hm", "text": "hello", "tools": [{"name": "ls"}]});
    let expected = json!({
        "candidates": [{
            "content": {
                "parts": [
                    {"text": "hm", "thought": true},
                    {"text": "hello"},
                    {
                        "functionCall": {"id": "call_0_0", "name": "ls", "args": {}},
                        "thoughtSignature": "c2lnbmF0dXJl",
                    },
                ],
                "role": "model",
            },
            "finishReason": "STOP",
            "index": 0,
        }],
        "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120},
        "modelVersion": "gemini-x",
        "responseId": "response_0",
    });
    assert_eq!(whole(&turn), expected);
}

#[test]
fn reasons_are_given_in_the_words_of_the_api() {
    let cases =
        [("stop", "STOP"), ("tool_calls", "STOP"), ("length", "MAX_TOKENS"), ("SAFETY", "SAFETY")];
    for (finish, expected) in cases {
        let turn = json!({"text": "x", "finish": finish});
        assert_eq!(whole(&turn)["candidates"][0]["finishReason"], expected);
        let last = stream(&turn).chunks().pop().unwrap();
        assert_eq!(last["candidates"][0]["finishReason"], expected);
    }
}

#[test]
fn contents_of_the_model_that_stand_together_are_one_turn() {
    let script = json!([{"text": "one"}, {"text": "two"}, {"text": "three"}]);
    let text = model(&json!({"text": "said"}));
    let call = model(&json!({"functionCall": {"name": "ls", "args": {}}}));
    let result =
        json!({"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {}}}]});
    for (following, expected) in [
        (vec![], "one"),
        (vec![text.clone(), call.clone(), result.clone()], "two"),
        (vec![text.clone(), user("more")], "two"),
        (vec![call, result, text, user("more")], "three"),
    ] {
        assert_eq!(said(&request(&script, &following)), expected, "{following:?}");
    }
}

#[test]
fn text_is_filled_from_responses_of_functions() {
    let words = "{{prompt}}: {{result:0}}, {{result:1}}, {{result:2}}";
    let script = json!([{}, { "text": words }]);
    let call = model(&json!({"functionCall": {"name": "ls", "args": {}}}));
    let result =
        |response: Value| json!({"functionResponse": {"name": "ls", "response": response}});
    let results = [
        result(json!({"output": "first"})),
        result(json!({"error": "second"})),
        result(json!({"files": 3})),
    ];
    let results = json!({"role": "user", "parts": results});
    let body = request(&script, &[call, results]);
    assert_eq!(said(&body), "do it: first, second, {\"files\":3}");
}

#[test]
fn errors_have_the_form_of_the_api() {
    for (status, word) in [
        (400, "INVALID_ARGUMENT"),
        (401, "UNAUTHENTICATED"),
        (403, "PERMISSION_DENIED"),
        (404, "NOT_FOUND"),
        (429, "RESOURCE_EXHAUSTED"),
        (500, "INTERNAL"),
        (503, "UNAVAILABLE"),
        (504, "DEADLINE_EXCEEDED"),
    ] {
        let response = stream(&json!({ "error": status }));
        assert_eq!(response.status, status);
        let error = json!({"code": status, "message": "scripted error", "status": word});
        assert_eq!(response.json(), json!({ "error": error }));
    }
    let limited = stream(&json!({"error": 429, "retry_after": 2, "error_type": "ABORTED"}));
    assert!(limited.headers.contains("retry-after: 2\n"));
    let error = limited.json()["error"].clone();
    assert_eq!(error["status"], "ABORTED");
    let delay = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2s"});
    assert_eq!(error["details"], json!([delay]));

    for body in [json!({}), json!({"contents": 1}), json!("text")] {
        let message = ask(WHOLE, &body).json()["error"]["message"].clone();
        assert_eq!(message, "the body is not JSON with `contents`", "{body}");
    }
    assert_eq!(ask(WHOLE, &request(&json!([{"txet": ""}]), &[])).status, 400);
    assert_eq!(ask("/v1beta/models/gemini-x:countTokens", &json!({})).status, 404);
}

#[test]
fn faults_are_the_same_as_in_the_other_apis() {
    let cut = stream(&json!({"text": "one two three", "chunk": 4, "cut": true}));
    assert!(!cut.complete && cut.body.contains("one "), "{}", cut.body);
    assert!(!cut.body.contains("finishReason"), "{}", cut.body);
    let garbage = stream(&json!({"text": "x", "garbage": "data: {oops\n\n"}));
    assert!(garbage.complete && garbage.body.contains("\n\ndata: {oops\n\ndata: "));
    let unfinished = stream(&json!({"text": "x", "unfinished": true}));
    assert!(unfinished.complete && !unfinished.body.contains("finishReason"));
    assert_eq!(stream(&json!({"page": "<html>"})).body, "<html>");

    let server = FakeLlm::start().unwrap();
    let mut client = Client::connect(&server);
    let script = json!([{"error": 429, "times": 1, "text": "at last"}]);
    assert_eq!(client.post_to(STREAM, &request(&script, &[])).status, 429);
    assert!(client.post_to(STREAM, &request(&script, &[])).body.contains("at last"));
}
