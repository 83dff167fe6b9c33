//! What is sent, compared whole.

use serde_json::{Value, json};

use super::super::request;
use crate::config::{Azure, Model};
use crate::message::{AssistantMessage, Content, Message};
use crate::provider::testing::{
    assistant, call, compat, model, picture, request, result, thinking, tool, user,
};
use crate::provider::{Api, Request, ThinkingLevel};

fn gpt() -> Model {
    Model { api: Api::OpenAiResponses, ..model() }
}

fn thinker(levels: Value) -> Model {
    let thinking_levels = serde_json::from_value(levels).unwrap();
    Model { reasoning: true, thinking_levels, ..gpt() }
}

fn answer(content: Vec<Content>) -> Message {
    let api = Api::OpenAiResponses.name().to_owned();
    Message::Assistant(AssistantMessage { api, ..assistant(content) })
}

fn body(model: &Model, request: &Request) -> Value {
    Value::Object(request::body(model, Some("session-1"), request))
}

fn input(model: &Model, messages: Vec<Message>) -> Value {
    body(model, &request(messages))["input"].clone()
}

#[test]
fn a_plain_request_is_written_as_openai_wants_it() {
    let mut request = request(vec![user("hello")]);
    request.system = "be brief".into();
    request.tools = vec![tool()];
    let tool = json!({
        "type": "function", "name": "read", "description": "Reads a file",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    });
    let mut expected = json!({
        "model": "fake-1",
        "input": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        ],
        "stream": true, "prompt_cache_key": "session-1", "store": false, "max_output_tokens": 4096,
        "tools": [tool],
    });
    assert_eq!(body(&gpt(), &request), expected);
    let azure = Some(Azure { api_version: "v1".into(), deployment: "mine".into() });
    let at_azure = Model { api: Api::AzureOpenAiResponses, azure, ..gpt() };
    expected["model"] = json!("mine");
    expected["tools"][0]["strict"] = json!(false);
    assert_eq!(body(&at_azure, &request), expected);
    let small = Request { max_tokens: Some(1), ..request };
    assert_eq!(body(&gpt(), &small)["max_output_tokens"], 16);
    let unlimited = Model { compat: compat(json!({"supportsMaxOutputTokens": false})), ..gpt() };
    assert_eq!(body(&unlimited, &small)["max_output_tokens"], Value::Null);
}

#[test]
fn every_level_of_thinking_has_its_words() {
    let encrypted = json!(["reasoning.encrypted_content"]);
    let newest = json!({"off": "none", "minimal": null, "xhigh": "xhigh"});
    for (levels, level, effort, includes) in [
        (json!({}), ThinkingLevel::Off, Some("none"), false),
        (json!({"off": null}), ThinkingLevel::Minimal, Some("minimal"), true),
        (newest.clone(), ThinkingLevel::Minimal, Some("low"), true),
        (newest.clone(), ThinkingLevel::Low, Some("low"), true),
        (newest.clone(), ThinkingLevel::High, Some("high"), true),
        (newest.clone(), ThinkingLevel::Xhigh, Some("xhigh"), true),
        (newest, ThinkingLevel::Max, Some("xhigh"), true),
        (json!({"high": "most"}), ThinkingLevel::High, Some("most"), true),
    ] {
        let asked = Request { thinking: level, ..request(vec![user("x")]) };
        let body = body(&thinker(levels.clone()), &asked);
        assert_eq!(body["reasoning"]["effort"].as_str(), effort, "{levels} {level:?}");
        assert_eq!(body["reasoning"]["summary"] == "auto", includes, "{levels} {level:?}");
        assert_eq!(body["include"] == encrypted, includes, "{levels} {level:?}");
    }
    assert_eq!(body(&gpt(), &request(vec![user("x")]))["reasoning"], Value::Null);
    let grok = Model { provider: "xai".into(), ..thinker(json!({"off": null})) };
    assert_eq!(body(&grok, &request(vec![user("x")]))["include"], encrypted);
}

#[test]
fn a_conversation_goes_back_with_everything_that_the_provider_needs() {
    let item =
        json!({"id": "rs_1", "type": "reasoning", "encrypted_content": "gAAA", "summary": []});
    let said = |text: &str, signature: Option<&str>| Content::Text {
        text: text.into(),
        text_signature: signature.map(str::to_owned),
    };
    let messages = vec![
        user("look"),
        answer(vec![
            thinking("", Some(&item.to_string())),
            thinking("without a signature", None),
            said("first", Some(r#"{"v":1,"id":"msg_1","phase":"commentary"}"#)),
            said("second", None),
            call("call_1|fc_1", "read", json!({"path": "a"})),
            call("call_2", "read", json!({})),
        ]),
        result("call_1|fc_1", vec![Content::text("one"), picture()]),
        result("call_2", vec![]),
        answer(vec![]),
        answer(vec![said("done", None)]),
    ];
    let text = |text: &str, id: &str| {
        let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
        json!({"type": "message", "role": "assistant", "content": content, "status": "completed", "id": id})
    };
    let mut first = text("first", "msg_1");
    first["phase"] = json!("commentary");
    let image =
        json!({"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,UE5H"});
    let expected = json!([
        {"role": "user", "content": [{"type": "input_text", "text": "look"}]},
        item,
        first,
        text("second", "msg_pi_1_1"),
        {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{\"path\":\"a\"}", "id": "fc_1"},
        {"type": "function_call", "call_id": "call_2", "name": "read", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": [{"type": "input_text", "text": "one"}, image]},
        {"type": "function_call_output", "call_id": "call_2", "output": "(no tool output)"},
        text("done", "msg_pi_4"),
    ]);
    assert_eq!(input(&gpt(), messages), expected);
}

#[test]
fn the_answer_of_another_model_comes_without_ids_and_signatures() {
    let content = vec![
        thinking("hm", Some("{\"type\":\"reasoning\"}")),
        Content::Text {
            text: "said".into(),
            text_signature: Some("{\"v\":1,\"id\":\"m\"}".into()),
        },
        call("toolu/1_|fc_1", "read", json!({})),
    ];
    let messages = vec![
        Message::Assistant(assistant(content)),
        result("toolu/1_|fc_1", vec![Content::text("x")]),
    ];
    let text = |text: &str, id: &str| {
        let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
        json!({"type": "message", "role": "assistant", "content": content, "status": "completed", "id": id})
    };
    let expected = json!([
        text("hm", "msg_pi_0"),
        text("said", "msg_pi_0_1"),
        {"type": "function_call", "call_id": "toolu_1", "name": "read", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "toolu_1", "output": "x"},
    ]);
    assert_eq!(input(&gpt(), messages), expected);
}
