//! The body of a request.

use serde_json::{Map, Value, json};

use crate::config::Model;
use crate::message::ToolDeclaration;
use crate::provider::history::{self, Block, Entry, Outcome, Part};
use crate::provider::{Request, ThinkingLevel, limits};

const MAXIMAL_CALL_ID: usize = 64;

/// The smallest budget that the provider accepts.
const LEAST_BUDGET: u64 = 1024;

pub(super) fn body(model: &Model, request: &Request) -> Map<String, Value> {
    let mut body = Map::new();
    let mut set = |field: &str, value: Value| body.insert(field.to_owned(), value);
    set("model", json!(model.id));
    set("messages", Value::Array(messages(model, request)));
    let mut limit = limits::answer_limit(model, request);
    let level = model.clamp_thinking(request.thinking);
    let mut thinking = None;
    if has_budget(model, request) {
        // Thinking counts as part of the answer, so the limit grows by it, up to the model's own.
        let sum = limit.saturating_add(limits::thinking_budget(level)).min(model.max_tokens);
        limit = limits::answer_tokens(model, request, sum);
        let budget = limits::budget_within(limits::thinking_budget(level), limit);
        let budget = if budget == 0 { LEAST_BUDGET } else { budget };
        thinking =
            Some(json!({"type": "enabled", "budget_tokens": budget, "display": "summarized"}));
    } else if model.reasoning && level != ThinkingLevel::Off {
        thinking = Some(json!({"type": "adaptive", "display": "summarized"}));
    } else if model.reasoning && model.thinking_levels.get("off") != Some(&None) {
        thinking = Some(json!({"type": "disabled"}));
    }
    set("max_tokens", json!(limit));
    set("stream", json!(true));
    if !request.system.is_empty() {
        let system = json!({"type": "text", "text": request.system, "cache_control": cache_mark()});
        set("system", json!([system]));
    }
    if !request.tools.is_empty() {
        set("tools", tools(model, &request.tools));
    }
    if let Some(thinking) = thinking {
        if thinking["type"] == "adaptive" {
            set("output_config", json!({"effort": effort(model, level)}));
        }
        set("thinking", thinking);
    }
    body
}

/// Whether the model thinks and needs a budget of tokens for it. Newer models decide themselves.
pub(super) fn has_budget(model: &Model, request: &Request) -> bool {
    model.reasoning
        && model.clamp_thinking(request.thinking) != ThinkingLevel::Off
        && model.compat.force_adaptive_thinking != Some(true)
}

/// Whether the provider streams the arguments of tools without a header that asks for it.
pub(super) fn streams_input_eagerly(model: &Model) -> bool {
    model.compat.supports_eager_tool_input_streaming.unwrap_or(true)
}

fn cache_mark() -> Value {
    json!({"type": "ephemeral"})
}

fn effort(model: &Model, level: ThinkingLevel) -> &str {
    let word = model.thinking_levels.get(level.word()).and_then(Option::as_deref);
    word.unwrap_or(match level {
        ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
        ThinkingLevel::Medium => "medium",
        _ => "high",
    })
}

fn tools(model: &Model, declarations: &[ToolDeclaration]) -> Value {
    let mut tools: Vec<Value> = declarations
        .iter()
        .map(|tool| {
            let or = |field: &str, other: Value| match &tool.parameters[field] {
                Value::Null => other,
                value => value.clone(),
            };
            let mut declaration = json!({"name": tool.name, "description": tool.description});
            if streams_input_eagerly(model) {
                declaration["eager_input_streaming"] = json!(true);
            }
            declaration["input_schema"] = json!({
                "type": "object",
                "properties": or("properties", json!({})),
                "required": or("required", json!([])),
            });
            declaration
        })
        .collect();
    if let Some(last) = tools.last_mut()
        && model.compat.supports_cache_control_on_tools.unwrap_or(true)
    {
        last["cache_control"] = cache_mark();
    }
    Value::Array(tools)
}

fn messages(model: &Model, request: &Request) -> Vec<Value> {
    let mut messages: Vec<Value> = Vec::new();
    for entry in history::prepare(&request.messages, model, call_id) {
        let (role, content): (&str, Vec<Value>) = match &entry {
            Entry::User(parts) => ("user", parts.iter().filter_map(said).collect()),
            Entry::Assistant(blocks) => {
                ("assistant", blocks.iter().filter_map(|it| block(model, it)).collect())
            }
            Entry::Results(outcomes) => ("user", outcomes.iter().map(result).collect()),
        };
        if !content.is_empty() {
            messages.push(json!({"role": role, "content": content}));
        }
    }
    // The next request begins with the same messages, so that the provider caches all of them.
    if let Some(last) = messages.last_mut()
        && last["role"] == "user"
        && let Some(Value::Array(content)) = last.get_mut("content")
        && let Some(part) = content.last_mut()
    {
        part["cache_control"] = cache_mark();
    }
    messages
}

fn said(part: &Part<'_>) -> Option<Value> {
    match part {
        // Blank text is refused.
        Part::Text(text) if text.trim().is_empty() => None,
        part => Some(content_part(part)),
    }
}

fn content_part(part: &Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Image { data, mime_type } => {
            let source = json!({"type": "base64", "media_type": mime_type, "data": data});
            json!({"type": "image", "source": source})
        }
    }
}

fn block(model: &Model, block: &Block<'_>) -> Option<Value> {
    let blank = |text: &str| text.trim().is_empty();
    match block {
        Block::Text { text, .. } if blank(text) => None,
        Block::Text { text, .. } => Some(json!({"type": "text", "text": text})),
        Block::Thinking { signature, redacted: true, .. } => {
            Some(json!({"type": "redacted_thinking", "data": (*signature)?}))
        }
        Block::Thinking { text, signature, redacted: false } => {
            match signature.filter(|signature| !blank(signature)) {
                Some(signature) => {
                    Some(json!({"type": "thinking", "thinking": text, "signature": signature}))
                }
                None if blank(text) => None,
                None if model.compat.allow_empty_signature == Some(true) => {
                    Some(json!({"type": "thinking", "thinking": text, "signature": ""}))
                }
                // Thinking without a signature is refused, but text is not.
                None => Some(json!({"type": "text", "text": text})),
            }
        }
        Block::Call { id, name, arguments, .. } => {
            Some(json!({"type": "tool_use", "id": id, "name": name, "input": arguments}))
        }
    }
}

fn result(outcome: &Outcome<'_>) -> Value {
    let texts = outcome.texts();
    let content = if texts.len() == outcome.content.len() {
        json!(texts.join("\n"))
    } else {
        let unseen =
            texts.is_empty().then(|| json!({"type": "text", "text": "(see attached image)"}));
        unseen.into_iter().chain(outcome.content.iter().filter_map(said)).collect()
    };
    json!({
        "type": "tool_result",
        "tool_use_id": outcome.id,
        "content": content,
        "is_error": outcome.is_error,
    })
}

/// The call id of another model, in characters that the provider accepts.
fn call_id(id: &str) -> String {
    let allowed = |it: char| {
        if it.is_ascii_alphanumeric() || matches!(it, '_' | '-') { it } else { '_' }
    };
    id.chars().map(allowed).take(MAXIMAL_CALL_ID).collect()
}
