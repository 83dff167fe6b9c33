//! The responses API.

use super::*;

const PATH: &str = "/v1/responses";

/// A request for a stream: the script, then what the conversation has brought since.
fn request(script: &Value, following: &[Value]) -> Value {
    let text = format!("<<SCRIPT>>{script}<<END>> do it");
    let mut input = vec![user(&text)];
    input.extend_from_slice(following);
    json!({"model": "fake-1", "stream": true, "input": input})
}

fn user(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

fn ask(body: &Value) -> Response {
    let server = FakeLlm::start().unwrap();
    Client::connect(&server).post_to(PATH, body)
}

fn play(turn: &Value) -> Response {
    ask(&request(&json!([turn]), &[]))
}

/// The events of a stream, whose names must be the types of their data, and whose numbers count them.
fn events(response: &Response) -> Vec<Value> {
    let parse = |(number, event): (usize, &str)| {
        let (name, data) = event.strip_prefix("event: ").unwrap().split_once("\ndata: ").unwrap();
        let mut data: Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["type"], format!("{name}"));
        assert_eq!(data["sequence_number"], number);
        data.as_object_mut().unwrap().remove("sequence_number");
        data
    };
    response.body.split_terminator("\n\n").enumerate().map(parse).collect()
}

/// The response at the end of a stream, and the event that it came with.
fn ending(turn: &Value) -> (String, Value) {
    let last = events(&play(turn)).pop().unwrap();
    (last["type"].as_str().unwrap().to_owned(), last["response"].clone())
}

/// The text of an answer that came whole.
fn said(body: &Value) -> String {
    let mut body = body.clone();
    body["stream"] = json!(false);
    ask(&body).json()["output"][0]["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_turn_is_streamed_in_items() {
    let response = play(&json!({
        "thinking": "hm", "text": "zażółć", "chunk": 4, "tools": [{"name": "ls", "args": {"a": 1}}],
    }));
    assert_eq!(response.status, 200);
    assert!(response.headers.contains("content-type: text/event-stream"));
    assert!(response.complete);
    let events = events(&response);
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.reasoning_summary_part.added",
            "response.reasoning_summary_text.delta",
            "response.reasoning_summary_text.done",
            "response.reasoning_summary_part.done",
            "response.output_item.done",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.output_item.added",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    let added = json!({
        "id": "fc_0_0", "type": "function_call", "status": "in_progress", "call_id": "call_0_0",
        "name": "ls", "arguments": "",
    });
    assert_eq!(
        events[15],
        json!({"type": "response.output_item.added", "output_index": 2, "item": added})
    );
    assert_eq!(
        events[10],
        json!({
            "type": "response.output_text.delta", "item_id": "msg_0", "output_index": 1,
            "content_index": 0, "delta": "zażó", "logprobs": [],
        })
    );
    assert_eq!(events[0]["response"]["status"], "in_progress");
    // The last event has everything once more.
    let items: Vec<&Value> = [7, 14, 19].iter().map(|index| &events[*index]["item"]).collect();
    assert_eq!(json!(items), events[20]["response"]["output"]);
    assert_eq!(items[2]["arguments"], r#"{"a":1}"#);
    assert_eq!(items[1]["content"][0]["text"], "zażółć");
    assert_eq!(items[0]["summary"][0]["text"], "hm");
}

#[test]
fn a_whole_response_comes_without_stream() {
    let usage = json!({"input": 50, "cached": 20, "written": 10, "output": 9, "thinking": 4});
    let mut body = request(&json!([{"text": "hello", "usage": usage}]), &[]);
    body["stream"] = json!(false);
    let mut response = ask(&body).json();
    assert!(response["created_at"].take().is_u64());
    let part = json!({"type": "output_text", "text": "hello", "annotations": [], "logprobs": []});
    let message = json!({
        "id": "msg_0", "type": "message", "status": "completed", "role": "assistant", "content": [part],
    });
    let expected = json!({
        "id": "resp_0", "object": "response", "created_at": null, "status": "completed", "error": null,
        "incomplete_details": null, "model": "fake-1", "output": [message],
        "usage": {
            "input_tokens": 50,
            "input_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 10},
            "output_tokens": 9,
            "output_tokens_details": {"reasoning_tokens": 4},
            "total_tokens": 59,
        },
    });
    assert_eq!(response, expected);
}

#[test]
fn a_response_ends_in_one_of_three_ways() {
    let failed = json!({"code": "server_error", "message": "too hot"});
    for (turn, status, incomplete, error) in [
        (json!({"text": "a"}), "completed", json!(null), json!(null)),
        (json!({"text": "a", "finish": "stop"}), "completed", json!(null), json!(null)),
        (json!({"tools": [{"name": "ls"}]}), "completed", json!(null), json!(null)),
        (
            json!({"finish": "length"}),
            "incomplete",
            json!({"reason": "max_output_tokens"}),
            json!(null),
        ),
        (
            json!({"finish": "content_filter"}),
            "incomplete",
            json!({"reason": "content_filter"}),
            json!(null),
        ),
        (json!({"finish": "failed", "error_message": "too hot"}), "failed", json!(null), failed),
    ] {
        let (kind, response) = ending(&turn);
        assert_eq!(kind, format!("response.{status}"), "{turn}");
        assert_eq!(response["status"], status, "{turn}");
        assert_eq!(response["incomplete_details"], incomplete, "{turn}");
        assert_eq!(response["error"], error, "{turn}");
    }
}

#[test]
fn a_call_belongs_to_a_group_and_has_any_id() {
    let tools = json!([{"name": "look", "namespace": "mcp__eyes", "id": "mine"}, {"name": "ls"}]);
    let (_, response) = ending(&json!({ "tools": tools }));
    let calls = &response["output"];
    assert_eq!(
        (&calls[0]["namespace"], &calls[0]["call_id"]),
        (&json!("mcp__eyes"), &json!("mine"))
    );
    assert_eq!((&calls[1]["namespace"], &calls[1]["call_id"]), (&json!(null), &json!("call_0_1")));
}

#[test]
fn a_custom_tool_is_given_a_text() {
    let turn =
        json!({"tools": [{"name": "exec", "input": "await it()", "id": "mine"}], "chunk": 5});
    let events = events(&play(&turn));
    let call = json!({
        "id": "ctc_0_0", "type": "custom_tool_call", "status": "completed", "call_id": "mine",
        "name": "exec", "input": "await it()",
    });
    assert_eq!(events.last().unwrap()["response"]["output"], json!([call]));
    let deltas = events.iter().filter(|it| it["type"] == "response.custom_tool_call_input.delta");
    let text: String = deltas.map(|it| it["delta"].as_str().unwrap()).collect();
    assert_eq!(text, "await it()");
}

#[test]
fn items_of_the_model_that_stand_together_are_one_turn() {
    let script = json!([{"text": "one"}, {"text": "two"}, {"text": "three"}]);
    let reasoning = json!({"type": "reasoning", "summary": []});
    let message = json!({"type": "message", "role": "assistant", "content": []});
    let call = json!({"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"});
    let custom = json!({"type": "custom_tool_call", "call_id": "d", "name": "patch", "input": ""});
    let output = json!({"type": "function_call_output", "call_id": "c", "output": "x"});
    let custom_output = json!({"type": "custom_tool_call_output", "call_id": "d", "output": "y"});
    let tools = json!({"type": "additional_tools", "role": "developer", "tools": []});
    for (following, expected) in [
        (vec![], "one"),
        (vec![tools], "one"),
        (
            vec![
                reasoning.clone(),
                message.clone(),
                call.clone(),
                custom,
                output.clone(),
                custom_output,
            ],
            "two",
        ),
        (vec![message.clone(), user("more")], "two"),
        (vec![call, output, reasoning, message, user("more")], "three"),
    ] {
        assert_eq!(said(&request(&script, &following)), expected, "{following:?}");
    }
}

#[test]
fn text_is_filled_from_outputs_of_calls() {
    let script = json!([{}, {"text": "{{prompt}}: {{result:0}}, {{result:1}}"}]);
    let call =
        |id: &str| json!({"type": "function_call", "call_id": id, "name": "ls", "arguments": "{}"});
    let output = |id: &str, output: Value| json!({"type": "function_call_output", "call_id": id, "output": output});
    let parts =
        json!([{"type": "input_text", "text": "se"}, {"type": "input_text", "text": "cond"}]);
    let following = [call("a"), call("b"), output("a", json!("first")), output("b", parts)];
    assert_eq!(said(&request(&script, &following)), "do it: first, second");
    // A conversation can also be a plain text.
    let text = "<<SCRIPT>>[{\"text\": \"{{prompt}}!\"}]<<END>> go";
    assert_eq!(said(&json!({"input": text})), "go!");
}

#[test]
fn errors_have_the_form_of_the_api() {
    for (status, kind, code) in [
        (400, "invalid_request_error", json!(null)),
        (401, "invalid_request_error", json!("invalid_api_key")),
        (404, "invalid_request_error", json!(null)),
        (429, "tokens", json!("rate_limit_exceeded")),
        (500, "server_error", json!(null)),
        (503, "server_error", json!(null)),
    ] {
        let response = play(&json!({"error": status, "retry_after": 2}));
        assert_eq!(response.status, status);
        let error = json!({"message": "scripted error", "type": kind, "param": null, "code": code});
        assert_eq!(response.json(), json!({ "error": error }));
        assert!(response.headers.contains("retry-after: 2\n"));
    }
    let named = play(&json!({"error": 429, "error_type": "insufficient_quota"})).json();
    let names = [&named["error"]["type"], &named["error"]["code"]];
    assert_eq!(names, ["insufficient_quota"; 2]);
    for body in [json!({}), json!({"input": 1}), json!("text")] {
        let message = ask(&body).json()["error"]["message"].clone();
        assert_eq!(message, "the body is not JSON with `input`", "{body}");
    }
    assert_eq!(ask(&request(&json!([{"txet": ""}]), &[])).status, 400);
}

#[test]
fn faults_are_the_same_as_in_the_other_apis() {
    let cut = play(&json!({"text": "one two three", "chunk": 4, "cut": true}));
    assert!(!cut.complete && cut.body.contains("response.created"), "{}", cut.body);
    assert!(!cut.body.contains("response.completed"), "{}", cut.body);
    let garbage = play(&json!({"text": "x", "garbage": "data: {oops\n\n"}));
    assert!(garbage.complete && garbage.body.contains("\n\ndata: {oops\n\nevent: "));
    let unfinished = play(&json!({"text": "x", "unfinished": true}));
    assert!(unfinished.complete && unfinished.body.ends_with("\n\n"));
    assert!(!unfinished.body.contains("response.completed"));
    assert_eq!(play(&json!({"page": "<html>"})).body, "<html>");

    let server = FakeLlm::start().unwrap();
    let mut client = Client::connect(&server);
    let script = json!([{"error": 429, "times": 1, "text": "at last"}]);
    assert_eq!(client.post_to(PATH, &request(&script, &[])).status, 429);
    assert!(client.post_to(PATH, &request(&script, &[])).body.contains("at last"));
}
