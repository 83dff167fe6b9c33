//! The messages API.

use super::*;

fn ask(body: &Value) -> Response {
    let server = FakeLlm::start().unwrap();
    Client::connect(&server).post_to("/v1/messages", body)
}

fn play(turn: &Value) -> Response {
    ask(&request(&json!([turn]), &[]))
}

/// The events of a stream, whose names must be the types of their data.
fn events(response: &Response) -> Vec<Value> {
    let parse = |event: &str| {
        let (name, data) = event.strip_prefix("event: ").unwrap().split_once("\ndata: ").unwrap();
        let data: Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["type"], name);
        data
    };
    response.body.split_terminator("\n\n").map(parse).collect()
}

#[test]
fn a_turn_is_streamed_in_blocks() {
    let turn = json!({
        "thinking": "hm", "text": "zażółć", "chunk": 4, "tools": [{"name": "ls", "args": {"a": 1}}],
        "usage": {"input": 100, "cached": 30, "written": 20, "output": 9, "thinking": 4},
    });
    let response = play(&turn);
    assert_eq!(response.status, 200);
    assert!(response.headers.contains("content-type: text/event-stream"));
    assert!(response.complete);
    let usage = |output| {
        json!({
            "input_tokens": 50,
            "cache_creation_input_tokens": 20,
            "cache_read_input_tokens": 30,
            "output_tokens": output,
            "output_tokens_details": {"thinking_tokens": 4},
        })
    };
    let message = json!({
        "id": "msg_0", "type": "message", "role": "assistant", "model": "fake-1", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage(1),
    });
    let start = |index, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta = |index, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let stop = |index| json!({"type": "content_block_stop", "index": index});
    let input = |json| json!({"type": "input_json_delta", "partial_json": json});
    let expected = [
        json!({"type": "message_start", "message": message}),
        json!({"type": "ping"}),
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "hm"})),
        delta(0, json!({"type": "signature_delta", "signature": "signature_0"})),
        stop(0),
        start(1, json!({"type": "text", "text": ""})),
        delta(1, json!({"type": "text_delta", "text": "zażó"})),
        delta(1, json!({"type": "text_delta", "text": "łć"})),
        stop(1),
        start(2, json!({"type": "tool_use", "id": "toolu_0_0", "name": "ls", "input": {}})),
        delta(2, input("")),
        delta(2, input("{\"a\"")),
        delta(2, input(":1}")),
        stop(2),
        json!({
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": null},
            "usage": usage(9),
        }),
        json!({"type": "message_stop"}),
    ];
    assert_eq!(events(&response), expected);
}

#[test]
fn a_whole_message_comes_without_stream() {
    let turn = json!({"thinking": "hm", "text": "hello", "tools": [{"name": "ls"}]});
    let mut body = request(&json!([turn]), &[]);
    body["stream"] = json!(false);
    let expected = json!({
        "id": "msg_0", "type": "message", "role": "assistant", "model": "fake-1",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "signature_0"},
            {"type": "text", "text": "hello"},
            {"type": "tool_use", "id": "toolu_0_0", "name": "ls", "input": {}},
        ],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {
            "input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
            "output_tokens": 20,
        },
    });
    assert_eq!(ask(&body).json(), expected);
}

#[test]
fn reasons_are_given_in_the_words_of_the_api() {
    let cases =
        [("stop", "end_turn"), ("length", "max_tokens"), ("tool_calls", "tool_use"), ("x", "x")];
    for (finish, expected) in cases {
        let events = events(&play(&json!({"finish": finish})));
        let [.., end, _] = events.as_slice() else { panic!("too few events") };
        assert_eq!(end["delta"]["stop_reason"], expected);
    }
}

#[test]
fn results_of_tools_are_found_in_user_messages() {
    let script = json!([{"tools": [{"name": "ls"}]}, {"text": "{{prompt}}: {{result:1}}"}]);
    let result = |content: Value| json!({"type": "tool_result", "content": content});
    let results =
        json!([result(json!("first")), result(json!([{"type": "text", "text": "second"}])),]);
    let user = json!({"role": "user", "content": [
        {"type": "text", "text": format!("<<SCRIPT>>{script}<<END>> do it")},
    ]});
    let messages = json!([user, assistant(), {"role": "user", "content": results}]);
    let response = ask(&json!({"messages": messages}));
    assert_eq!(response.json()["content"], json!([{"type": "text", "text": "do it: second"}]));

    let more = json!([result(json!("x")), {"type": "text", "text": "and this"}]);
    let messages = json!([user, assistant(), {"role": "user", "content": more}]);
    let script = json!([{}, {"text": "{{prompt}}: {{result:0}}"}]).to_string();
    let mut messages = messages;
    messages[0]["content"][0]["text"] = json!(format!("<<SCRIPT>>{script}<<END>>"));
    let response = ask(&json!({"messages": messages}));
    assert_eq!(response.json()["content"][0]["text"], "and this: x");
}

#[test]
fn errors_have_the_form_of_the_api() {
    for (status, kind) in [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (402, "billing_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
    ] {
        let response = play(&json!({"error": status, "retry_after": 2}));
        let error = json!({"type": kind, "message": "scripted error"});
        assert_eq!(response.status, status);
        assert_eq!(response.json(), json!({"type": "error", "error": error}));
        assert!(response.headers.contains("retry-after: 2\n"));
    }
    let malformed = ask(&request(&json!([{"txet": ""}]), &[]));
    assert_eq!((malformed.status, &malformed.json()["type"]), (400, &json!("error")));
    assert_eq!(ask(&json!("no messages")).json()["error"]["type"], "invalid_request_error");
}

#[test]
fn faults_are_the_same_as_in_the_other_api() {
    let cut = play(&json!({"text": "one two three", "chunk": 4, "cut": true}));
    assert!(!cut.complete && cut.body.contains("two ") && !cut.body.contains("message_delta"));
    let garbage = play(&json!({"text": "x", "garbage": "data: {oops\n\n"}));
    assert!(garbage.complete && garbage.body.contains("\n\ndata: {oops\n\nevent: "));
    let unfinished = play(&json!({"text": "x", "unfinished": true}));
    assert!(unfinished.complete && !unfinished.body.contains("message_stop"));
    assert_eq!(play(&json!({"page": "<html>"})).body, "<html>");

    let server = FakeLlm::start().unwrap();
    let mut client = Client::connect(&server);
    let script = json!([{"error": 529, "times": 1, "text": "at last"}]);
    assert_eq!(client.post_to("/v1/messages?beta=true", &request(&script, &[])).status, 529);
    let second = client.post_to("/v1/messages?beta=true", &request(&script, &[]));
    assert!(second.body.contains("at last"));
    assert_eq!(server.root_url() + "/v1", server.base_url());
}
