//! What is sent, compared whole.

use serde_json::{Value, json};

use super::super::request;
use crate::config::Model;
use crate::message::{AssistantMessage, CompactionSummary, Content, Message, UserMessage};
use crate::provider::Api;
use crate::provider::testing::{
    assistant, call, compat, model, picture, request, result, thinking, tool, user,
};
use crate::provider::{Request, ThinkingLevel};

fn claude() -> Model {
    Model { api: Api::AnthropicMessages, ..model() }
}

/// An answer of [`claude`] itself.
fn own(content: Vec<Content>) -> Message {
    let api = Api::AnthropicMessages.name().to_owned();
    Message::Assistant(AssistantMessage { api, ..assistant(content) })
}

fn messages(model: &Model, messages: Vec<Message>) -> Value {
    request::body(model, &request(messages))["messages"].clone()
}

#[test]
fn a_plain_request_is_written_as_anthropic_wants_it() {
    let mut request = request(vec![user("hello")]);
    request.system = "be brief".into();
    request.tools = vec![tool(), tool()];
    let mark = json!({"type": "ephemeral"});
    let schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    });
    let expected = json!({
        "model": "fake-1",
        "messages": [{
            "role": "user",
            "content": [{"type": "text", "text": "hello", "cache_control": mark}],
        }],
        "max_tokens": 4096,
        "stream": true,
        "system": [{"type": "text", "text": "be brief", "cache_control": mark}],
        "tools": [
            {"name": "read", "description": "Reads a file", "eager_input_streaming": true,
             "input_schema": schema},
            {"name": "read", "description": "Reads a file", "eager_input_streaming": true,
             "input_schema": schema, "cache_control": mark},
        ],
    });
    assert_eq!(Value::Object(request::body(&claude(), &request)), expected);

    let mut model = claude();
    model.compat = compat(json!({
        "supportsEagerToolInputStreaming": false, "supportsCacheControlOnTools": false,
    }));
    let seen = request::body(&model, &request);
    let plain = json!({"name": "read", "description": "Reads a file", "input_schema": schema});
    assert_eq!(seen["tools"], json!([plain, plain]));
}

#[test]
fn a_conversation_with_tools_goes_back_as_it_came() {
    let redacted = Content::Thinking {
        thinking: "[Reasoning redacted]".into(),
        thinking_signature: Some("hidden".into()),
        redacted: true,
    };
    let answer = own(vec![
        thinking("hm", Some("signed")),
        redacted,
        thinking("", Some("signed, too")),
        thinking("never signed", None),
        Content::text("let me look"),
        Content::text(" \n"),
        call("c1", "read", json!({"path": "a"})),
        call("c2", "read", json!({})),
    ]);
    let conversation = vec![
        user("go"),
        user("  "),
        answer,
        result("c1", vec![Content::text("one"), Content::text("two")]),
        result("c2", vec![picture()]),
    ];
    let image = json!({
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "UE5H"},
    });
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "signed"},
            {"type": "redacted_thinking", "data": "hidden"},
            {"type": "thinking", "thinking": "", "signature": "signed, too"},
            {"type": "text", "text": "never signed"},
            {"type": "text", "text": "let me look"},
            {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}},
            {"type": "tool_use", "id": "c2", "name": "read", "input": {}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "one\ntwo", "is_error": false},
            {"type": "tool_result", "tool_use_id": "c2", "is_error": false,
             "content": [{"type": "text", "text": "(see attached image)"}, image],
             "cache_control": {"type": "ephemeral"}},
        ]},
    ]);
    assert_eq!(messages(&claude(), conversation), expected);

    let mut model = claude();
    model.compat = compat(json!({"allowEmptySignature": true}));
    let seen = messages(&model, vec![own(vec![thinking("t", None)])]);
    let unsigned = json!([{"type": "thinking", "thinking": "t", "signature": ""}]);
    assert_eq!(seen[0]["content"], unsigned);
}

#[test]
fn another_models_answers_are_made_acceptable() {
    let id = format!("call|{}", "é".repeat(100));
    let answer =
        assistant(vec![thinking("I thought", Some("reasoning")), call(&id, "ls", json!({}))]);
    let conversation = vec![Message::Assistant(answer), result(&id, vec![Content::text("r")])];
    let seen = messages(&claude(), conversation);
    let own_id = format!("call_{}", "_".repeat(59));
    let expected = json!([
        {"type": "text", "text": "I thought"},
        {"type": "tool_use", "id": own_id, "name": "ls", "input": {}},
    ]);
    assert_eq!(seen[0]["content"], expected);
    assert_eq!(seen[1]["content"][0]["tool_use_id"], own_id);
}

#[test]
fn calls_without_results_get_one() {
    let conversation = vec![own(vec![call("c", "read", json!({}))]), user("never mind")];
    let seen = messages(&claude(), conversation);
    let expected = json!([{
        "type": "tool_result", "tool_use_id": "c", "content": "No result provided", "is_error": true,
    }]);
    assert_eq!(seen[1], json!({"role": "user", "content": expected}));
    assert_eq!(seen[2]["role"], "user");
}

#[test]
fn a_summary_is_told_by_the_user() {
    let summary = CompactionSummary { summary: "we talked".into(), tokens_before: 9, timestamp: 0 };
    let seen = messages(&claude(), vec![Message::CompactionSummary(summary)]);
    let text = "The conversation history before this point was compacted into the following \
                summary:\n\n<summary>\nwe talked\n</summary>";
    assert_eq!(seen[0]["content"][0]["text"], text);
}

#[test]
fn pictures_are_shown() {
    let content = vec![picture(), Content::text("what is it?")];
    let seen = messages(&claude(), vec![Message::User(UserMessage { content, timestamp: 0 })]);
    assert_eq!(seen[0]["content"][0]["source"]["data"], "UE5H");
}

#[test]
fn thinking_is_a_budget_or_an_effort() {
    let mut model = claude();
    let with = |model: &Model, thinking, max_tokens| {
        let request = Request { thinking, max_tokens, ..request(vec![user("x")]) };
        let seen = Value::Object(request::body(model, &request));
        (seen["max_tokens"].clone(), seen["thinking"].clone(), seen["output_config"].clone())
    };
    let budget =
        |tokens| json!({"type": "enabled", "budget_tokens": tokens, "display": "summarized"});
    let none = Value::Null;
    assert_eq!(with(&model, ThinkingLevel::High, None), (json!(4096), none.clone(), none.clone()));
    model.reasoning = true;
    let off = json!({"type": "disabled"});
    assert_eq!(with(&model, ThinkingLevel::Off, None), (json!(4096), off, none.clone()));
    assert_eq!(with(&model, ThinkingLevel::High, None), (json!(4096), budget(3072), none.clone()));
    model.max_tokens = 64_000;
    assert_eq!(
        with(&model, ThinkingLevel::High, None),
        (json!(64_000), budget(16_384), none.clone())
    );
    let small = with(&model, ThinkingLevel::Low, Some(500));
    assert_eq!(small, (json!(2548), budget(1524), none.clone()));
    model.thinking_levels.insert("off".into(), None);
    model.compat = compat(json!({"forceAdaptiveThinking": true}));
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    let effort = |effort| json!({"effort": effort});
    let seen = with(&model, ThinkingLevel::Minimal, None);
    assert_eq!(seen, (json!(64_000), adaptive.clone(), effort("low")));
    model.thinking_levels.insert("max".into(), Some("max".into()));
    assert_eq!(with(&model, ThinkingLevel::Max, None), (json!(64_000), adaptive, effort("max")));
}

#[test]
fn a_request_never_exceeds_the_limit_of_the_model() {
    let asked = Request { max_tokens: Some(13_107), ..request(vec![user("x")]) };
    assert_eq!(request::body(&claude(), &asked)["max_tokens"], 4096);
}
