//! The items of an answer, and what of them is kept for the next request.

use serde_json::{Value, json};

use crate::provider::history::Block;

const MAXIMAL_ID: usize = 64;

/// The id under which a call is known here: that of the call, by which its result finds it, and that of its item.
pub(super) fn id_of_call(item: &Value) -> String {
    let id = |field: &str| item[field].as_str().filter(|id| !id.is_empty());
    let call_id = match id("call_id").or_else(|| id("id")) {
        Some(id) => id.to_owned(),
        None => format!("call_{}", uuid::Uuid::new_v4().simple()),
    };
    match id("id").filter(|_| id("call_id").is_some()) {
        Some(item) => format!("{call_id}|{item}"),
        None => call_id,
    }
}

/// The id of the call, and that of its item, if it is one that the provider accepts.
pub(super) fn call_of(id: &str) -> (&str, Option<&str>) {
    match id.split_once('|') {
        Some((call, item)) => (call, Some(item).filter(|item| item.starts_with("fc_"))),
        None => (id, None),
    }
}

/// The call id of another model. The id of its item is left out: the provider would look for the thinking that belonged
/// to it.
pub(super) fn call_id(id: &str) -> String {
    let (call, _) = id.split_once('|').unwrap_or((id, ""));
    let allowed = |it: char| {
        if it.is_ascii_alphanumeric() || matches!(it, '_' | '-') { it } else { '_' }
    };
    let id: String = call.chars().map(allowed).take(MAXIMAL_ID).collect();
    id.trim_end_matches('_').to_owned()
}

/// What is kept with a text, so that it can be sent back under its own id.
pub(super) fn text_signature(item: &Value) -> Option<String> {
    let mut signature = json!({"v": 1, "id": item["id"].as_str()?});
    if let Some(phase) = item["phase"].as_str() {
        signature["phase"] = json!(phase);
    }
    Some(signature.to_string())
}

/// An answer as items of a request. `message` is the number of the answer among all messages.
pub(super) fn of_answer(blocks: &[Block<'_>], message: usize) -> Vec<Value> {
    let mut texts = 0;
    let mut items = Vec::new();
    for block in blocks {
        match block {
            Block::Thinking { signature, .. } => {
                // Thinking cannot be sent back without its item.
                let item = signature.and_then(|it| serde_json::from_str::<Value>(it).ok());
                items.extend(item.filter(Value::is_object));
            }
            Block::Text { text, signature } => {
                let usual = match texts {
                    0 => format!("msg_pi_{message}"),
                    more => format!("msg_pi_{message}_{more}"),
                };
                texts += 1;
                items.push(text_item(text, *signature, &usual));
            }
            Block::Call { id, name, arguments, .. } => {
                let (call, item) = call_of(id);
                let mut value = json!({
                    "type": "function_call",
                    "call_id": call,
                    "name": name,
                    "arguments": json!(arguments).to_string(),
                });
                if let Some(item) = item {
                    value["id"] = json!(item);
                }
                items.push(value);
            }
        }
    }
    items
}

fn text_item(text: &str, signature: Option<&str>, usual_id: &str) -> Value {
    let kept = signature.and_then(|it| serde_json::from_str::<Value>(it).ok());
    let kept = kept.filter(|kept| kept["v"] == 1).unwrap_or_default();
    let id = kept["id"].as_str().filter(|id| id.len() <= MAXIMAL_ID);
    let content = json!({"type": "output_text", "text": text, "annotations": []});
    let mut item = json!({
        "type": "message",
        "role": "assistant",
        "content": [content],
        "status": "completed",
        "id": id.unwrap_or(usual_id),
    });
    if let Some(phase @ ("commentary" | "final_answer")) = kept["phase"].as_str() {
        item["phase"] = json!(phase);
    }
    item
}
