//! The body of a request.

use serde_json::{Map, Value, json};

use super::compat::Traits;
use super::thinking;
use crate::config::Model;
use crate::message::ToolDeclaration;
use crate::provider::history::{self, Block, Entry, Outcome, Part};
use crate::provider::{Request, azure, limits};

const MAXIMAL_CACHE_KEY: usize = 64;

const MAXIMAL_CALL_ID: usize = 40;

/// The fields that can have the thinking, in answers and in requests.
pub(super) const THOUGHT_FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

pub(super) fn body(
    model: &Model,
    traits: &Traits,
    session: Option<&str>,
    request: &Request,
) -> Map<String, Value> {
    let to_own_id = if model.provider == "openai" { short_call_id } else { call_id };
    let entries = history::prepare(&request.messages, model, to_own_id);
    let has_tool_history = entries.iter().any(|entry| matches!(entry, Entry::Results(_)));

    let mut body = Map::new();
    let mut set = |field: &str, value: Value| body.insert(field.to_owned(), value);
    set("model", json!(azure::model_name(model)));
    set("messages", Value::Array(messages(model, traits, &request.system, entries)));
    set("stream", json!(true));
    if let Some(session) = session
        && model.base_url.contains("api.openai.com")
    {
        let key: String = session.chars().take(MAXIMAL_CACHE_KEY).collect();
        set("prompt_cache_key", json!(key));
    }
    if traits.usage_in_stream {
        set("stream_options", json!({"include_usage": true}));
    }
    if traits.store {
        set("store", json!(false));
    }
    let limit = limits::answer_limit(model, request);
    set(&traits.max_tokens_field, json!(limit));
    if !request.tools.is_empty() {
        set("tools", request.tools.iter().map(tool).collect());
        if traits.tool_stream {
            set("tool_stream", json!(true));
        }
    } else if has_tool_history {
        // Some proxies of Anthropic require the field once tools were used.
        set("tools", json!([]));
    }
    if let Some(priority) = model.compat.vllm_priority {
        set("priority", json!(priority));
    }
    thinking::add(&mut body, model, traits, request.thinking, limit);
    if let Some(routing) = &model.compat.open_router_routing {
        body.insert("provider".to_owned(), routing.clone());
    }
    if let Some(Value::Object(routing)) = &model.compat.vercel_gateway_routing {
        let known = ["only", "order"].into_iter();
        let known = known.filter_map(|name| Some((name.to_owned(), routing.get(name)?.clone())));
        let known: Map<String, Value> = known.collect();
        if !known.is_empty() {
            body.insert("providerOptions".to_owned(), json!({"gateway": known}));
        }
    }
    if traits.cache_control {
        mark_for_cache(&mut body);
    }
    body
}

fn tool(tool: &ToolDeclaration) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        },
    })
}

fn messages(model: &Model, traits: &Traits, system: &str, entries: Vec<Entry<'_>>) -> Vec<Value> {
    let mut messages = Vec::new();
    if !system.is_empty() {
        let is_developer = model.reasoning && traits.developer_role;
        let role = if is_developer { "developer" } else { "system" };
        messages.push(json!({"role": role, "content": system}));
    }
    let bridge = || json!({"role": "assistant", "content": "I have processed the tool results."});
    let mut is_after_results = false;
    for entry in entries {
        match entry {
            Entry::User(parts) => {
                if traits.assistant_after_tool_result && is_after_results {
                    messages.push(bridge());
                }
                is_after_results = false;
                let content: Vec<Value> = parts.iter().filter_map(content_part).collect();
                if !content.is_empty() {
                    messages.push(json!({"role": "user", "content": content}));
                }
            }
            Entry::Assistant(blocks) => {
                is_after_results = false;
                messages.extend(assistant(model, traits, &blocks));
            }
            Entry::Results(outcomes) => {
                messages.extend(outcomes.iter().map(|outcome| result(traits, outcome)));
                let images: Vec<Value> = outcomes
                    .iter()
                    .flat_map(|outcome| &outcome.content)
                    .filter(|part| matches!(part, Part::Image { .. }))
                    .filter_map(content_part)
                    .collect();
                is_after_results = images.is_empty();
                // A tool message can have only text, so the images follow in a user message.
                if !images.is_empty() {
                    if traits.assistant_after_tool_result {
                        messages.push(bridge());
                    }
                    let text =
                        json!({"type": "text", "text": "Attached image(s) from tool result:"});
                    let content: Vec<Value> = [text].into_iter().chain(images).collect();
                    messages.push(json!({"role": "user", "content": content}));
                }
            }
        }
    }
    messages
}

fn content_part(part: &Part<'_>) -> Option<Value> {
    match part {
        Part::Text(text) if text.is_empty() => None,
        Part::Text(text) => Some(json!({"type": "text", "text": text})),
        Part::Image { data, mime_type } => {
            let url = format!("data:{mime_type};base64,{data}");
            Some(json!({"type": "image_url", "image_url": {"url": url}}))
        }
    }
}

/// The message of an answer; `None` for an empty one, which many providers refuse.
fn assistant(model: &Model, traits: &Traits, blocks: &[Block<'_>]) -> Option<Value> {
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text { text, .. } if !text.trim().is_empty() => Some(*text),
            _ => None,
        })
        .collect();
    let thoughts: Vec<(&str, Option<&str>)> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::Thinking { text, signature, .. } => Some((*text, *signature)),
            _ => None,
        })
        .collect();
    let details = thoughts.iter().find_map(|(_, signature)| reasoning_details((*signature)?));
    let said: Vec<(&str, Option<&str>)> =
        thoughts.into_iter().filter(|(text, _)| !text.trim().is_empty()).collect();
    let thought =
        |separator: &str| said.iter().map(|(text, _)| *text).collect::<Vec<_>>().join(separator);

    let mut message = Map::new();
    message.insert("role".to_owned(), json!("assistant"));
    // Some providers do not accept null.
    let nothing = if traits.assistant_after_tool_result { json!("") } else { Value::Null };
    let content = if traits.thinking_as_text && !said.is_empty() {
        let all = [thought("\n\n")].into_iter().chain(texts.iter().map(|&text| text.to_owned()));
        all.map(|text| json!({"type": "text", "text": text})).collect()
    } else if texts.is_empty() {
        nothing
    } else {
        // One string: models imitate parts that they see.
        json!(texts.concat())
    };
    let is_empty = content.is_null() || content == "";
    message.insert("content".to_owned(), content);
    if !traits.thinking_as_text
        && details.is_none()
        && let Some((_, Some(field))) = said.first()
        && THOUGHT_FIELDS.contains(field)
    {
        message.insert((*field).to_owned(), json!(thought("\n")));
    }
    let calls: Vec<Value> = blocks.iter().filter_map(call).collect();
    if is_empty && calls.is_empty() {
        return None;
    }
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    if let Some(details) = details {
        message.insert("reasoning_details".to_owned(), details);
    }
    if traits.reasoning_content && model.reasoning && !message.contains_key("reasoning_content") {
        message.insert("reasoning_content".to_owned(), json!(""));
    }
    Some(Value::Object(message))
}

/// The thinking in the form in which the provider sent it, if the signature holds it.
fn reasoning_details(signature: &str) -> Option<Value> {
    let details: Value = serde_json::from_str(signature).ok()?;
    (details.as_array().is_some_and(|details| !details.is_empty())).then_some(details)
}

fn call(block: &Block<'_>) -> Option<Value> {
    let Block::Call { id, name, arguments, .. } = block else { return None };
    let arguments = json!(arguments).to_string();
    let function = json!({"name": name, "arguments": arguments});
    Some(json!({"id": id, "type": "function", "function": function}))
}

fn result(traits: &Traits, outcome: &Outcome<'_>) -> Value {
    let texts = outcome.texts();
    let text = texts.join("\n");
    let has_images = texts.len() < outcome.content.len();
    let text = match text.as_str() {
        "" if has_images => "(see attached image)",
        "" => "(no tool output)",
        text => text,
    };
    let mut message = json!({"role": "tool", "content": text, "tool_call_id": outcome.id});
    if traits.tool_result_name && !outcome.name.is_empty() {
        message["name"] = json!(outcome.name);
    }
    message
}

/// Marks the prefixes that Anthropic should cache: the system prompt, the tools, and all messages.
fn mark_for_cache(body: &mut Map<String, Value>) {
    let mark = json!({"type": "ephemeral"});
    if let Some(Value::Array(messages)) = body.get_mut("messages") {
        let is_system =
            |message: &Value| message["role"] == "system" || message["role"] == "developer";
        if let Some(system) = messages.iter_mut().find(|message| is_system(message)) {
            mark_text(system, &mark);
        }
        for message in messages.iter_mut().rev().filter(|message| !is_system(message)) {
            if mark_text(message, &mark) {
                break;
            }
        }
    }
    if let Some(Value::Array(tools)) = body.get_mut("tools")
        && let Some(tool) = tools.last_mut()
    {
        tool["cache_control"] = mark;
    }
}

/// Marks the last text of a message; returns whether there is one.
fn mark_text(message: &mut Value, mark: &Value) -> bool {
    match &mut message["content"] {
        Value::String(text) if !text.is_empty() => {
            let part = json!({"type": "text", "text": text, "cache_control": mark});
            message["content"] = json!([part]);
            true
        }
        Value::Array(parts) => match parts.iter_mut().rfind(|part| part["type"] == "text") {
            Some(part) => {
                part["cache_control"] = mark.clone();
                true
            }
            None => false,
        },
        _ => false,
    }
}

/// The call id of another model. Those of OpenAI's newer API are two ids with a bar between them, and
/// hundreds of characters long.
fn call_id(id: &str) -> String {
    if !id.contains('|') {
        return id.to_owned();
    }
    let allowed = |it: char| if it.is_ascii_alphanumeric() || it == '-' { it } else { '_' };
    let id: String = id.trim_end_matches('|').chars().map(allowed).collect();
    if id.len() <= MAXIMAL_CALL_ID {
        return id;
    }
    // The ids of one answer may differ only at the end, so that a hash of all of it is added.
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{}_{:08x}", &id[..MAXIMAL_CALL_ID - 9], hash >> 32)
}

fn short_call_id(id: &str) -> String {
    call_id(id).chars().take(MAXIMAL_CALL_ID).collect()
}
