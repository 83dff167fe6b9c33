//! The body of a request.

use serde_json::{Map, Value, json};

use super::thinking::{self, generation};
use crate::config::Model;
use crate::provider::history::{self, Block, Entry, Outcome, Part};
use crate::provider::{Request, limits};

const MAXIMAL_CALL_ID: usize = 64;

pub(super) fn body(model: &Model, request: &Request) -> Map<String, Value> {
    let mut body = Map::new();
    let mut set = |field: &str, value: Value| body.insert(field.to_owned(), value);
    set("contents", Value::Array(contents(model, request)));
    if !request.system.is_empty() {
        set("systemInstruction", json!({"parts": [{"text": request.system}], "role": "user"}));
    }
    if !request.tools.is_empty() {
        let declarations: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.name,
                    "description": tool.description,
                    "parametersJsonSchema": tool.parameters,
                })
            })
            .collect();
        set("tools", json!([{"functionDeclarations": declarations}]));
    }
    let mut generation = json!({"maxOutputTokens": limits::answer_limit(model, request)});
    if let Some(thinking) = thinking::config(model, request.thinking) {
        generation["thinkingConfig"] = thinking;
    }
    set("generationConfig", generation);
    body
}

fn contents(model: &Model, request: &Request) -> Vec<Value> {
    let has_ids = has_call_ids(&model.id);
    let to_own_id = if has_ids { call_id } else { str::to_owned };
    let mut contents = Vec::new();
    for entry in history::prepare(&request.messages, model, to_own_id) {
        let (role, parts): (&str, Vec<Value>) = match &entry {
            Entry::User(parts) => ("user", parts.iter().map(part).collect()),
            Entry::Assistant(blocks) => {
                ("model", blocks.iter().filter_map(|it| block(it, has_ids)).collect())
            }
            Entry::Results(outcomes) => {
                contents.extend(results(model, outcomes, has_ids));
                continue;
            }
        };
        if !parts.is_empty() {
            contents.push(json!({"role": role, "parts": parts}));
        }
    }
    contents
}

/// Whether calls and their results have ids. Older models find results by the name of the tool.
fn has_call_ids(id: &str) -> bool {
    id.starts_with("claude-")
        || id.starts_with("gpt-oss-")
        || generation(id).is_some_and(|generation| generation >= 3)
}

fn part(part: &Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({ "text": text }),
        Part::Image { data, mime_type } => {
            json!({"inlineData": {"mimeType": mime_type, "data": data}})
        }
    }
}

fn block(block: &Block<'_>, has_ids: bool) -> Option<Value> {
    let (mut part, signature, is_empty) = match block {
        Block::Text { text, signature } => {
            (json!({ "text": text }), signature, text.trim().is_empty())
        }
        Block::Thinking { text, signature, .. } => {
            (json!({"thought": true, "text": text}), signature, text.trim().is_empty())
        }
        Block::Call { id, name, arguments, signature } => {
            let mut call = json!({"name": name, "args": arguments});
            if has_ids {
                call["id"] = json!(id);
            }
            (json!({ "functionCall": call }), signature, false)
        }
    };
    // A part without words can have the signature that the model needs.
    match signature.filter(|signature| is_base64(signature)) {
        Some(signature) => part["thoughtSignature"] = json!(signature),
        None if is_empty => return None,
        None => {}
    }
    Some(part)
}

/// Other signatures are refused.
fn is_base64(signature: &str) -> bool {
    let digits = signature.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    signature.len().is_multiple_of(4)
        && signature.len() - digits.len() <= 2
        && !digits.is_empty()
        && digits.bytes().all(is_digit)
}

/// The results of all calls of one answer are one content. Older models get images in contents of their own.
fn results(model: &Model, outcomes: &[Outcome<'_>], has_ids: bool) -> Vec<Value> {
    let nests_images = generation(&model.id).is_none_or(|generation| generation >= 3);
    let mut contents: Vec<Value> = Vec::new();
    for outcome in outcomes {
        let images: Vec<Value> = outcome
            .content
            .iter()
            .filter(|it| matches!(it, Part::Image { .. }))
            .map(part)
            .collect();
        let text = outcome.texts().join("\n");
        let unseen = text.is_empty() && !images.is_empty();
        let text = if unseen { "(see attached image)" } else { &text };
        let field = if outcome.is_error { "error" } else { "output" };
        let mut response = json!({"name": outcome.name, "response": {field: text}});
        if has_ids {
            response["id"] = json!(outcome.id);
        }
        if nests_images && !images.is_empty() {
            response["parts"] = json!(images);
        }
        let response = json!({ "functionResponse": response });
        let last = contents.last_mut().filter(|it| it["parts"][0]["functionResponse"].is_object());
        match last.and_then(|content| content["parts"].as_array_mut()) {
            Some(parts) => parts.push(response),
            None => contents.push(json!({"role": "user", "parts": [response]})),
        }
        if !nests_images && !images.is_empty() {
            let caption = json!({"text": "Tool result image:"});
            let parts: Vec<Value> = [caption].into_iter().chain(images).collect();
            contents.push(json!({"role": "user", "parts": parts}));
        }
    }
    contents
}

/// The call id of another model, in characters that the provider accepts.
fn call_id(id: &str) -> String {
    let allowed = |it: char| {
        if it.is_ascii_alphanumeric() || matches!(it, '_' | '-') { it } else { '_' }
    };
    id.chars().map(allowed).take(MAXIMAL_CALL_ID).collect()
}
