//! What is sent, compared whole.

use serde_json::{Value, json};

use super::super::compat::Traits;
use super::super::request;
use crate::config::Model;
use crate::message::{Content, Message, StopReason, UserMessage};
use crate::provider::testing::{
    assistant, call, compat, model, picture, request, result, thinking, tool, user,
};
use crate::provider::{Request, ThinkingLevel};

fn body(model: &Model, request: &Request) -> Value {
    Value::Object(request::body(model, &Traits::of(model), Some("session-1"), request))
}

fn messages(model: &Model, messages: Vec<Message>) -> Value {
    body(model, &request(messages))["messages"].clone()
}

/// The fields of a request that have to do with thinking.
fn thinking_fields(model: &Model, level: ThinkingLevel) -> Value {
    let mut body = body(model, &Request { thinking: level, ..request(vec![user("x")]) });
    let known = ["model", "messages", "stream", "stream_options", "store", "max_tokens"];
    for field in known.into_iter().chain(["max_completion_tokens"]) {
        body.as_object_mut().unwrap().remove(field);
    }
    body
}

#[test]
fn a_plain_request_is_written_as_openai_wants_it() {
    let mut request = request(vec![user("hello")]);
    request.system = "be brief".into();
    request.tools = vec![tool()];
    let expected = json!({
        "model": "fake-1",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": [{"type": "text", "text": "hello"}]},
        ],
        "stream": true,
        "stream_options": {"include_usage": true},
        "store": false,
        "max_completion_tokens": 4096,
        "tools": [{
            "type": "function",
            "function": {
                "name": "read",
                "description": "Reads a file",
                "parameters": {
                    "type": "object",
                    "properties": {"path": {"type": "string"}},
                    "required": ["path"],
                },
            },
        }],
    });
    assert_eq!(body(&model(), &request), expected);
}

#[test]
fn a_conversation_with_tools_goes_back_as_it_came() {
    let model = model();
    let answer = assistant(vec![
        thinking("hm", Some("reasoning_content")),
        Content::text("let me "),
        Content::text("look"),
        call("c1", "read", json!({"path": "a"})),
        call("c2", "read", json!({})),
    ]);
    let both = vec![Content::text("one"), picture(), Content::text("two")];
    let conversation = vec![
        user("go"),
        Message::Assistant(answer),
        result("c1", both),
        result("c2", vec![]),
        user(""),
        user("and now?"),
    ];
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {
            "role": "assistant",
            "content": "let me look",
            "reasoning_content": "hm",
            "tool_calls": [
                {"id": "c1", "type": "function",
                 "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}},
                {"id": "c2", "type": "function", "function": {"name": "read", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "content": "one\ntwo", "tool_call_id": "c1"},
        {"role": "tool", "content": "(no tool output)", "tool_call_id": "c2"},
        {"role": "user", "content": [
            {"type": "text", "text": "Attached image(s) from tool result:"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,UE5H"}},
        ]},
        {"role": "user", "content": [{"type": "text", "text": "and now?"}]},
    ]);
    assert_eq!(messages(&model, conversation.clone()), expected);
    // The tools are gone, but some providers want to see the field.
    assert_eq!(body(&model, &request(conversation))["tools"], json!([]));
}

#[test]
fn pictures_become_words_for_a_model_that_is_blind() {
    let mut model = model();
    let content = vec![picture(), picture(), Content::text("?"), picture()];
    let shown = Message::User(UserMessage { content: content.clone(), timestamp: 0 });
    let calls = assistant(vec![call("c", "read", json!({}))]);
    let conversation = vec![shown, Message::Assistant(calls), result("c", vec![picture()])];
    let seen = messages(&model, conversation.clone());
    assert_eq!(seen[0]["content"][3]["image_url"]["url"], "data:image/png;base64,UE5H");
    assert_eq!(seen[2]["content"], "(see attached image)");
    model.images = false;
    let omitted = "(image omitted: model does not support images)";
    let expected = json!([
        {"type": "text", "text": omitted},
        {"type": "text", "text": "?"},
        {"type": "text", "text": omitted},
    ]);
    let seen = messages(&model, conversation);
    assert_eq!(seen[0]["content"], expected);
    assert_eq!(seen[2]["content"], "(tool image omitted: model does not support images)");
    assert_eq!(seen.as_array().unwrap().len(), 3);
}

#[test]
fn what_failed_is_left_out_and_what_is_missing_is_made_up() {
    let model = model();
    let mut failed = assistant(vec![Content::text("half a"), call("lost", "read", json!({}))]);
    failed.stop_reason = StopReason::Error;
    let calls = assistant(vec![call("c1", "read", json!({})), call("c2", "grep", json!({}))]);
    let conversation = vec![
        user("go"),
        Message::Assistant(failed),
        result("lost", vec![Content::text("orphan")]),
        Message::Assistant(calls),
        result("c2", vec![Content::text("found")]),
        result("c2", vec![Content::text("again")]),
        user("stop"),
    ];
    let seen = messages(&model, conversation);
    let expected = json!([
        {"role": "tool", "content": "found", "tool_call_id": "c2"},
        {"role": "tool", "content": "No result provided", "tool_call_id": "c1"},
        {"role": "user", "content": [{"type": "text", "text": "stop"}]},
    ]);
    assert_eq!(seen.as_array().unwrap()[2..], expected.as_array().unwrap()[..]);
}

#[test]
fn another_models_answers_are_made_acceptable() {
    let mut model = model();
    let long = format!("call_1|{}", "a+/=".repeat(100));
    let mut answer = assistant(vec![
        thinking("I thought", Some("signed")),
        Content::Thinking {
            thinking: String::new(),
            thinking_signature: Some("hidden".into()),
            redacted: true,
        },
        Content::text("so"),
        call(&long, "read", json!({})),
        call("call_2|", "read", json!({})),
    ]);
    answer.model = "other".into();
    let conversation = vec![
        user("go"),
        Message::Assistant(answer),
        result(&long, vec![Content::text("one")]),
        result("call_2|", vec![Content::text("two")]),
    ];
    let seen = messages(&model, conversation.clone());
    assert_eq!(seen[1]["content"], "I thoughtso");
    let id = seen[1]["tool_calls"][0]["id"].as_str().unwrap();
    assert!(id.len() == 40 && id.starts_with("call_1_a___a"), "{id}");
    assert_eq!(seen[2]["tool_call_id"], id);
    assert_eq!(seen[3]["tool_call_id"], "call_2");

    model.provider = "openai".into();
    let id = "x".repeat(50);
    let calls = Message::Assistant(assistant(vec![call(&id, "read", json!({}))]));
    let seen = messages(&model, vec![user("go"), calls]);
    assert_eq!(seen[1]["tool_calls"][0]["id"], "x".repeat(40));
}

#[test]
fn an_answer_without_words_and_calls_is_left_out() {
    let empty = assistant(vec![Content::text(" "), thinking("only thoughts", Some("reasoning"))]);
    let seen = messages(&model(), vec![user("go"), Message::Assistant(empty), user("well?")]);
    assert_eq!(seen.as_array().unwrap().len(), 2);
}

#[test]
fn thoughts_go_back_in_the_form_in_which_they_came() {
    let mut model = model();
    let answer = |signature: &str| {
        let content = vec![thinking("one", Some(signature)), Content::text("said")];
        vec![user("go"), Message::Assistant(assistant(content))]
    };
    let details = json!([{"type": "reasoning.text", "text": "one", "signature": "s"}]);
    let seen = messages(&model, answer(&details.to_string()));
    let expected = json!({"role": "assistant", "content": "said", "reasoning_details": details});
    assert_eq!(seen[1], expected);
    assert_eq!(messages(&model, answer("reasoning"))[1]["reasoning"], "one");
    let unknown = json!({"role": "assistant", "content": "said"});
    assert_eq!(messages(&model, answer("[] or so"))[1], unknown);

    model.compat = compat(json!({"requiresThinkingAsText": true}));
    let parts = json!([{"type": "text", "text": "one"}, {"type": "text", "text": "said"}]);
    assert_eq!(
        messages(&model, answer("reasoning"))[1],
        json!({"role": "assistant", "content": parts})
    );

    model.compat = compat(json!({"requiresReasoningContentOnAssistantMessages": true}));
    model.reasoning = true;
    assert_eq!(messages(&model, answer("reasoning"))[1]["reasoning_content"], "");
    assert_eq!(messages(&model, answer("reasoning_content"))[1]["reasoning_content"], "one");
}

#[test]
fn compat_changes_single_fields() {
    let mut request = request(vec![user("x")]);
    request.tools = vec![tool()];
    let with = |value| {
        let mut model = model();
        model.compat = compat(value);
        body(&model, &request)
    };
    assert_eq!(with(json!({"supportsStore": false}))["store"], Value::Null);
    assert_eq!(with(json!({"supportsUsageInStreaming": false}))["stream_options"], Value::Null);
    let short = with(json!({"maxTokensField": "max_tokens"}));
    assert_eq!(
        (&short["max_tokens"], &short["max_completion_tokens"]),
        (&json!(4096), &Value::Null)
    );
    assert_eq!(
        with(json!({"openRouterRouting": {"only": ["a"]}}))["provider"],
        json!({"only": ["a"]})
    );
    let gateway = with(json!({"vercelGatewayRouting": {"order": ["a"], "x": 1}}));
    assert_eq!(gateway["providerOptions"], json!({"gateway": {"order": ["a"]}}));
    assert_eq!(with(json!({"vllmPriority": -1}))["priority"], -1);
    assert_eq!(with(json!({"zaiToolStream": true}))["tool_stream"], true);
}

#[test]
fn some_want_names_and_an_assistant_after_results() {
    let mut model = model();
    model.compat =
        compat(json!({"requiresToolResultName": true, "requiresAssistantAfterToolResult": true}));
    let calls = || Message::Assistant(assistant(vec![call("c", "read", json!({}))]));
    let plain = vec![calls(), result("c", vec![Content::text("r")]), user("next")];
    let bridge = json!({"role": "assistant", "content": "I have processed the tool results."});
    let seen = messages(&model, plain);
    assert_eq!(seen[0]["content"], "");
    assert_eq!(seen[1]["name"], "read");
    assert_eq!(seen[2], bridge);
    let with_picture = vec![calls(), result("c", vec![picture()]), user("next")];
    let seen = messages(&model, with_picture);
    assert_eq!(
        (&seen[2], &seen[3]["role"], &seen[4]["role"]),
        (&bridge, &json!("user"), &json!("user"))
    );
}

#[test]
fn thinking_is_asked_for_in_the_providers_way() {
    let off = ThinkingLevel::Off;
    let high = ThinkingLevel::High;
    let cases = [
        (json!({}), off, json!({})),
        (json!({}), high, json!({"reasoning_effort": "high"})),
        (json!({"supportsReasoningEffort": false}), high, json!({})),
        (json!({"thinkingFormat": "openrouter"}), off, json!({"reasoning": {"effort": "none"}})),
        (json!({"thinkingFormat": "openrouter"}), high, json!({"reasoning": {"effort": "high"}})),
        (json!({"thinkingFormat": "deepseek"}), off, json!({"thinking": {"type": "disabled"}})),
        (
            json!({"thinkingFormat": "deepseek"}),
            high,
            json!({"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
        ),
        (json!({"thinkingFormat": "zai"}), off, json!({"thinking": {"type": "disabled"}})),
        (
            json!({"thinkingFormat": "zai", "supportsReasoningEffort": false}),
            high,
            json!({"thinking": {"type": "enabled", "clear_thinking": false}}),
        ),
        (json!({"thinkingFormat": "together"}), off, json!({"reasoning": {"enabled": false}})),
        (json!({"thinkingFormat": "ant-ling"}), high, json!({})),
        (
            json!({"thinkingFormat": "qwen"}),
            high,
            json!({"enable_thinking": true, "reasoning_effort": "high"}),
        ),
        (
            json!({"thinkingFormat": "qwen-chat-template"}),
            off,
            json!({"chat_template_kwargs": {"enable_thinking": false, "preserve_thinking": true}}),
        ),
        (
            json!({"thinkingFormat": "chat-template", "chatTemplateKwargs": {
                "a": 1, "b": {"$var": "thinking.enabled"}, "c": {"$var": "thinking.budget"},
                "d": {"$var": "thinking.effort", "omitWhenOff": true},
            }}),
            high,
            json!({"chat_template_kwargs": {"a": 1, "b": true, "c": 3072, "d": "high"}}),
        ),
        (
            json!({"thinkingFormat": "chat-template", "chatTemplateKwargs": {
                "d": {"$var": "thinking.effort", "omitWhenOff": true},
            }}),
            off,
            json!({}),
        ),
        (
            json!({"thinkingFormat": "baseten", "chatTemplateArgs": {"x": {"$var": "thinking.enabled"}}}),
            high,
            json!({"chat_template_args": {"x": true}, "reasoning_effort": "high"}),
        ),
        (json!({"thinkingFormat": "string-thinking"}), off, json!({"thinking": "none"})),
        (
            json!({"supportsThinkingTokenBudget": true}),
            ThinkingLevel::Low,
            json!({"reasoning_effort": "low", "thinking_token_budget": 2048}),
        ),
    ];
    for (value, level, expected) in cases {
        let mut model = model();
        assert_eq!(thinking_fields(&model, level), json!({}));
        model.reasoning = true;
        model.compat = compat(value.clone());
        assert_eq!(thinking_fields(&model, level), expected, "{value} {level:?}");
    }
}

#[test]
fn the_words_for_levels_are_the_models() {
    let mut model = model();
    model.reasoning = true;
    model.thinking_levels.insert("high".into(), Some("huge".into()));
    model.thinking_levels.insert("off".into(), Some("nothing".into()));
    assert_eq!(thinking_fields(&model, ThinkingLevel::High), json!({"reasoning_effort": "huge"}));
    assert_eq!(thinking_fields(&model, ThinkingLevel::Off), json!({"reasoning_effort": "nothing"}));
    assert_eq!(thinking_fields(&model, ThinkingLevel::Max), json!({"reasoning_effort": "huge"}));
    model.compat = compat(json!({"thinkingFormat": "ant-ling"}));
    assert_eq!(
        thinking_fields(&model, ThinkingLevel::High),
        json!({"reasoning": {"effort": "huge"}})
    );
    model.thinking_levels.insert("off".into(), None);
    model.compat = compat(json!({"thinkingFormat": "openrouter"}));
    let least = json!({"reasoning": {"effort": "minimal"}});
    assert_eq!(thinking_fields(&model, ThinkingLevel::Off), least);
}

#[test]
fn providers_are_known_by_their_addresses() {
    let at = |url: &str, id: &str| {
        let mut model = model();
        (model.base_url, model.id, model.reasoning) = (url.into(), id.into(), true);
        let mut request = request(vec![user("x")]);
        (request.system, request.thinking) = ("s".into(), ThinkingLevel::High);
        body(&model, &request)
    };
    let openai = at("https://api.openai.com/v1", "gpt");
    assert_eq!(openai["messages"][0]["role"], "developer");
    assert_eq!(openai["prompt_cache_key"], "session-1");
    let router = at("https://openrouter.ai/api/v1", "x/y");
    assert_eq!(router["messages"][0]["role"], "system");
    assert_eq!(router["reasoning"], json!({"effort": "high"}));
    assert_eq!(at("https://openrouter.ai/api/v1", "openai/y")["messages"][0]["role"], "developer");
    let deepseek = at("https://api.deepseek.com", "deepseek-chat");
    assert_eq!(deepseek["max_tokens"], 4096);
    assert_eq!(deepseek["thinking"], json!({"type": "enabled"}));
    assert_eq!((&deepseek["store"], &deepseek["prompt_cache_key"]), (&Value::Null, &Value::Null));
    let grok = at("https://api.x.ai/v1", "grok");
    assert_eq!(grok["reasoning_effort"], Value::Null);
    assert_eq!(at("https://api.z.ai/v4", "glm")["thinking"]["type"], "enabled");
    assert_eq!(at("https://api.together.xyz/v1", "m")["reasoning"], json!({"enabled": true}));
}

#[test]
fn what_anthropic_should_keep_is_marked() {
    let mut model = model();
    (model.provider, model.id) = ("openrouter".into(), "anthropic/claude".into());
    let mut request = request(vec![
        user("one"),
        Message::Assistant(assistant(vec![call("c", "read", json!({}))])),
    ]);
    (request.system, request.tools) = ("s".into(), vec![tool(), tool()]);
    let seen = body(&model, &request);
    let mark = json!({"type": "ephemeral"});
    let marked = |text| json!([{"type": "text", "text": text, "cache_control": mark}]);
    assert_eq!(seen["messages"][0]["content"], marked("s"));
    assert_eq!(seen["messages"][1]["content"], json!([{"type": "text", "text": "one"}]));
    assert_eq!(seen["messages"][3]["content"], marked("No result provided"));
    assert_eq!(seen["tools"][0]["cache_control"], Value::Null);
    assert_eq!(seen["tools"][1]["cache_control"], mark);
    model.compat = compat(json!({"cacheControlFormat": "none"}));
    assert_eq!(body(&model, &request)["tools"][1]["cache_control"], Value::Null);
}

#[test]
fn a_request_never_exceeds_the_limit_of_the_model() {
    let asked = Request { max_tokens: Some(13_107), ..request(vec![user("x")]) };
    assert_eq!(body(&model(), &asked)["max_completion_tokens"], 4096);
}
