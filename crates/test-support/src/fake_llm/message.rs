//! A turn in the words of the messages API, and a conversation in those of the other one.

use serde_json::{Value, json};

use super::reply::{Failure, Protocol, Reply};
use super::script::{Tool, pieces};

/// One answer of the model.
pub(super) struct Message<'request>(pub(super) Reply<'request>);

impl Protocol for Message<'_> {
    fn delta_events(&self) -> Vec<String> {
        let (turn, size) = (self.0.turn, self.0.turn.chunk);
        let mut message = self.message(&json!([]), &Value::Null);
        message["usage"]["output_tokens"] = json!(1);
        let start = event("message_start", &json!({"message": message}));
        let mut events = vec![start + &event("ping", &json!({}))];
        let blocks = self.blocks();
        let first_call = blocks.len() - turn.tools.len();
        for (index, block) in blocks.into_iter().enumerate() {
            let delta = |delta: Value| {
                event("content_block_delta", &json!({"index": index, "delta": delta}))
            };
            let (empty, deltas): (Value, Vec<Value>) = match block["type"].as_str() {
                Some("thinking") => {
                    let words = pieces(&turn.thinking, size);
                    let words = words.map(|it| json!({"type": "thinking_delta", "thinking": it}));
                    let signature = &block["signature"];
                    let last = json!({"type": "signature_delta", "signature": signature});
                    let empty = json!({"type": "thinking", "thinking": "", "signature": ""});
                    (empty, words.chain([last]).collect())
                }
                Some("text") => {
                    let words = pieces(&turn.text, size);
                    let words = words.map(|it| json!({"type": "text_delta", "text": it}));
                    (json!({"type": "text", "text": ""}), words.collect())
                }
                _ => {
                    let tool = index.checked_sub(first_call).and_then(|it| turn.tools.get(it));
                    let arguments = tool.map(Tool::arguments).unwrap_or_default();
                    let json = [""].into_iter().chain(pieces(&arguments, size));
                    let json =
                        json.map(|it| json!({"type": "input_json_delta", "partial_json": it}));
                    let mut empty = block.clone();
                    empty["input"] = json!({});
                    (empty, json.collect())
                }
            };
            let start = json!({"index": index, "content_block": empty});
            events.push(event("content_block_start", &start));
            events.extend(deltas.into_iter().map(delta));
            events.push(event("content_block_stop", &json!({"index": index})));
        }
        events
    }

    fn closing_events(&self) -> Vec<String> {
        let delta = json!({"stop_reason": self.stop_reason(), "stop_sequence": null});
        let end = json!({"delta": delta, "usage": self.usage()});
        vec![event("message_delta", &end), event("message_stop", &json!({}))]
    }

    fn whole(&self) -> Value {
        self.message(&Value::Array(self.blocks()), &json!(self.stop_reason()))
    }
}

impl Message<'_> {
    fn message(&self, content: &Value, stop_reason: &Value) -> Value {
        json!({
            "id": format!("msg_{}", self.0.number),
            "type": "message",
            "role": "assistant",
            "model": self.0.model,
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": null,
            "usage": self.usage(),
        })
    }

    fn blocks(&self) -> Vec<Value> {
        let (turn, number) = (self.0.turn, self.0.number);
        let mut blocks = Vec::new();
        if !turn.thinking.is_empty() {
            let signature = format!("signature_{number}");
            let thinking = &turn.thinking;
            blocks.push(json!({"type": "thinking", "thinking": thinking, "signature": signature}));
        }
        if !turn.text.is_empty() {
            blocks.push(json!({"type": "text", "text": turn.text}));
        }
        blocks.extend(turn.tools.iter().enumerate().map(|(index, tool)| {
            let id = tool.id.clone().unwrap_or_else(|| format!("toolu_{number}_{index}"));
            json!({"type": "tool_use", "id": id, "name": tool.name, "input": tool.args})
        }));
        blocks
    }

    /// The reason in the words of this API, so that a script can be played by both.
    fn stop_reason(&self) -> &str {
        let usual = if self.0.turn.tools.is_empty() { "stop" } else { "tool_calls" };
        match self.0.turn.finish.as_deref().unwrap_or(usual) {
            "stop" => "end_turn",
            "length" => "max_tokens",
            "tool_calls" => "tool_use",
            other => other,
        }
    }

    fn usage(&self) -> Value {
        let usage = self.0.turn.usage;
        let input = usage.input.saturating_sub(usage.cached).saturating_sub(usage.written);
        let mut counts = json!({
            "input_tokens": input,
            "cache_creation_input_tokens": usage.written,
            "cache_read_input_tokens": usage.cached,
            "output_tokens": usage.output,
        });
        if usage.thinking > 0 {
            counts["output_tokens_details"] = json!({"thinking_tokens": usage.thinking});
        }
        counts
    }
}

fn event(name: &str, fields: &Value) -> String {
    let mut data = json!({"type": name});
    for (field, value) in fields.as_object().into_iter().flatten() {
        data[field] = value.clone();
    }
    format!("event: {name}\ndata: {data}\n\n")
}

/// The messages with the results of tools as messages of their own, as the other API has them.
pub(super) fn with_tool_messages(messages: &[Value]) -> Vec<Value> {
    let mut unified = Vec::new();
    for message in messages {
        let parts = message["content"].as_array().map_or(&[][..], Vec::as_slice);
        let is_result = |part: &&Value| part["type"] == "tool_result";
        let results = parts.iter().filter(is_result);
        unified.extend(results.map(|it| json!({"role": "tool", "content": it["content"]})));
        let others: Vec<&Value> = parts.iter().filter(|part| !is_result(part)).collect();
        if parts.is_empty() || !others.is_empty() {
            let content = if parts.is_empty() { message["content"].clone() } else { json!(others) };
            unified.push(json!({"role": message["role"], "content": content}));
        }
    }
    unified
}

/// An error in the form that Anthropic gives it.
pub(super) fn error(failure: &Failure<'_>) -> Value {
    let usual = match failure.status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    let kind = failure.kind.unwrap_or(usual);
    json!({"type": "error", "error": {"type": kind, "message": failure.message}})
}
