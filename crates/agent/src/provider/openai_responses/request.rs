//! The body of a request.

use serde_json::{Map, Value, json};

use super::items;
use crate::config::Model;
use crate::message::ToolDeclaration;
use crate::provider::history::{self, Entry, Part};
use crate::provider::{Api, Request, ThinkingLevel, azure, limits};

const MAXIMAL_CACHE_KEY: usize = 64;

/// The smallest limit that the provider accepts.
const LEAST_TOKENS: u64 = 16;

pub(super) fn body(model: &Model, session: Option<&str>, request: &Request) -> Map<String, Value> {
    let mut body = Map::new();
    let mut set = |field: &str, value: Value| body.insert(field.to_owned(), value);
    set("model", json!(azure::model_name(model)));
    set("input", Value::Array(input(model, request)));
    set("stream", json!(true));
    if let Some(session) = session {
        let key: String = session.chars().take(MAXIMAL_CACHE_KEY).collect();
        set("prompt_cache_key", json!(key));
    }
    set("store", json!(false));
    if model.compat.supports_max_output_tokens.unwrap_or(true) {
        let limit = limits::answer_limit(model, request);
        set("max_output_tokens", json!(limit.max(LEAST_TOKENS)));
    }
    if !request.tools.is_empty() {
        set("tools", request.tools.iter().map(|it| tool(model, it)).collect());
    }
    if model.reasoning {
        let level = model.clamp_thinking(request.thinking);
        let word = model.thinking_levels.get(level.word()).cloned().flatten();
        let encrypted = || json!(["reasoning.encrypted_content"]);
        if level != ThinkingLevel::Off {
            let effort = word.unwrap_or_else(|| level.word().to_owned());
            set("reasoning", json!({"effort": effort, "summary": "auto"}));
            set("include", encrypted());
        } else if model.thinking_levels.get("off") != Some(&None) {
            let effort = word.unwrap_or_else(|| "none".to_owned());
            set("reasoning", json!({"effort": effort}));
        }
        if model.provider == "xai" {
            set("include", encrypted());
        }
    }
    body
}

fn tool(model: &Model, tool: &ToolDeclaration) -> Value {
    let mut declaration = json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    });
    // Where the field is missing, OpenAI takes the schema for a strict one, which those of our tools are not.
    let is_known = model.compat.supports_strict_mode;
    if is_known.unwrap_or(model.api == Api::AzureOpenAiResponses) {
        declaration["strict"] = json!(false);
    }
    declaration
}

fn input(model: &Model, request: &Request) -> Vec<Value> {
    let mut input = Vec::new();
    if !request.system.is_empty() {
        let is_developer = model.reasoning && model.compat.supports_developer_role.unwrap_or(true);
        let role = if is_developer { "developer" } else { "system" };
        input.push(json!({"role": role, "content": request.system}));
    }
    // Texts without an id of the provider get one by their message, as pi counts them.
    let mut message = 0;
    for entry in history::prepare(&request.messages, model, items::call_id) {
        match entry {
            Entry::User(parts) if parts.is_empty() => continue,
            Entry::User(parts) => {
                let content: Vec<Value> = parts.iter().map(content_part).collect();
                input.push(json!({"role": "user", "content": content}));
                message += 1;
            }
            Entry::Assistant(blocks) => {
                let items = items::of_answer(&blocks, message);
                message += usize::from(!items.is_empty());
                input.extend(items);
            }
            Entry::Results(outcomes) => {
                message += outcomes.len();
                input.extend(outcomes.iter().map(|outcome| {
                    json!({
                        "type": "function_call_output",
                        "call_id": items::call_of(&outcome.id).0,
                        "output": output(outcome.content.as_slice()),
                    })
                }));
            }
        }
    }
    input
}

fn content_part(part: &Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({"type": "input_text", "text": text}),
        Part::Image { data, mime_type } => {
            let url = format!("data:{mime_type};base64,{data}");
            json!({"type": "input_image", "detail": "auto", "image_url": url})
        }
    }
}

/// The result of a call: a text, or a list if there are images.
fn output(content: &[Part<'_>]) -> Value {
    let is_image = |part: &&Part<'_>| matches!(part, Part::Image { .. });
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(&**text),
            Part::Image { .. } => None,
        })
        .collect();
    let text = texts.join("\n");
    if !content.iter().any(|part| is_image(&part)) {
        return json!(if text.is_empty() { "(no tool output)" } else { &text });
    }
    let text = (!text.is_empty()).then(|| json!({"type": "input_text", "text": text}));
    text.into_iter().chain(content.iter().filter(is_image).map(content_part)).collect()
}
