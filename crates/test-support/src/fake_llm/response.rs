//! A turn in the words of the responses API.

use serde_json::{Value, json};

use super::reply::{Failure, Protocol, Reply};
use super::script::{Tool, pieces};

/// One answer of the model: a list of items, of which each begins, grows and is done.
pub(super) struct Response<'request>(pub(super) Reply<'request>);

impl Protocol for Response<'_> {
    fn delta_events(&self) -> Vec<String> {
        let mut events: Vec<String> =
            self.events().iter().enumerate().map(|(number, event)| line(number, event)).collect();
        // Two events tell of the beginning, and nothing ever comes between them.
        let beginning: String = events.drain(..2).collect();
        events.insert(0, beginning);
        events
    }

    fn closing_events(&self) -> Vec<String> {
        let (status, _) = self.ending();
        let event = json!({"type": format!("response.{status}"), "response": self.whole()});
        vec![line(self.events().len(), &event)]
    }

    fn whole(&self) -> Value {
        let (status, details) = self.ending();
        let mut response = self.document(status, &self.items());
        response["usage"] = self.usage();
        match status {
            "incomplete" => response["incomplete_details"] = details,
            "failed" => response["error"] = details,
            _ => {}
        }
        response
    }
}

impl Response<'_> {
    /// All events but the last, without their numbers.
    fn events(&self) -> Vec<Value> {
        let (turn, size) = (self.0.turn, self.0.turn.chunk);
        let beginning = self.document("in_progress", &[]);
        let mut events = vec![
            json!({"type": "response.created", "response": beginning}),
            json!({"type": "response.in_progress", "response": beginning}),
        ];
        let items = self.items();
        let first_call = items.len() - turn.tools.len();
        for (index, item) in items.iter().enumerate() {
            let event = |kind: &str, fields: Value| {
                let mut event = json!({
                    "type": format!("response.{kind}"),
                    "item_id": item["id"],
                    "output_index": index,
                });
                merge(&mut event, fields);
                event
            };
            let item_event = |kind: &str, item: &Value| json!({"type": format!("response.output_item.{kind}"), "output_index": index, "item": item});
            let mut empty = item.clone();
            empty["status"] = json!("in_progress");
            match item["type"].as_str() {
                Some("reasoning") => {
                    empty["summary"] = json!([]);
                    events.push(item_event("added", &empty));
                    let part = |text: &str| json!({"summary_index": 0, "part": {"type": "summary_text", "text": text}});
                    events.push(event("reasoning_summary_part.added", part("")));
                    events.extend(pieces(&turn.thinking, size).map(|piece| {
                        let delta = json!({"summary_index": 0, "delta": piece});
                        event("reasoning_summary_text.delta", delta)
                    }));
                    let text = json!({"summary_index": 0, "text": turn.thinking});
                    events.push(event("reasoning_summary_text.done", text));
                    events.push(event("reasoning_summary_part.done", part(&turn.thinking)));
                }
                Some("message") => {
                    empty["content"] = json!([]);
                    events.push(item_event("added", &empty));
                    let part = |text: &str| json!({"content_index": 0, "part": text_part(text)});
                    events.push(event("content_part.added", part("")));
                    events.extend(pieces(&turn.text, size).map(|piece| {
                        let delta = json!({"content_index": 0, "delta": piece, "logprobs": []});
                        event("output_text.delta", delta)
                    }));
                    let text = json!({"content_index": 0, "text": turn.text, "logprobs": []});
                    events.push(event("output_text.done", text));
                    events.push(event("content_part.done", part(&turn.text)));
                }
                Some("custom_tool_call") => {
                    let input = item["input"].as_str().unwrap_or_default();
                    empty["input"] = json!("");
                    events.push(item_event("added", &empty));
                    events.extend(pieces(input, size).map(|piece| {
                        event("custom_tool_call_input.delta", json!({"delta": piece}))
                    }));
                    events.push(event("custom_tool_call_input.done", json!({"input": input})));
                }
                _ => {
                    let tool = index.checked_sub(first_call).and_then(|it| turn.tools.get(it));
                    let arguments = tool.map(Tool::arguments).unwrap_or_default();
                    empty["arguments"] = json!("");
                    events.push(item_event("added", &empty));
                    events.extend(pieces(&arguments, size).map(|piece| {
                        event("function_call_arguments.delta", json!({"delta": piece}))
                    }));
                    let whole = json!({"name": item["name"], "arguments": arguments});
                    events.push(event("function_call_arguments.done", whole));
                }
            }
            events.push(item_event("done", item));
        }
        events
    }

    /// What the model thinks, what it says, and its calls, in this order.
    fn items(&self) -> Vec<Value> {
        let (turn, number) = (self.0.turn, self.0.number);
        let mut items = Vec::new();
        if !turn.thinking.is_empty() {
            items.push(json!({
                "id": format!("rs_{number}"),
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": turn.thinking}],
                "encrypted_content": format!("encrypted_{number}"),
            }));
        }
        if !turn.text.is_empty() {
            items.push(json!({
                "id": format!("msg_{number}"),
                "type": "message",
                "status": "completed",
                "role": "assistant",
                "content": [text_part(&turn.text)],
            }));
        }
        items.extend(turn.tools.iter().enumerate().map(|(index, tool)| {
            let id = tool.id.clone().unwrap_or_else(|| format!("call_{number}_{index}"));
            let mut call = json!({"status": "completed", "call_id": id, "name": tool.name});
            merge(
                &mut call,
                match &tool.input {
                    Some(input) => json!({
                        "id": format!("ctc_{number}_{index}"),
                        "type": "custom_tool_call",
                        "input": input,
                    }),
                    None => json!({
                        "id": format!("fc_{number}_{index}"),
                        "type": "function_call",
                        "arguments": tool.arguments(),
                    }),
                },
            );
            if let Some(namespace) = &tool.namespace {
                call["namespace"] = json!(namespace);
            }
            call
        }));
        items
    }

    fn document(&self, status: &str, output: &[Value]) -> Value {
        json!({
            "id": format!("resp_{}", self.0.number),
            "object": "response",
            "created_at": self.0.created,
            "status": status,
            "error": null,
            "incomplete_details": null,
            "model": self.0.model,
            "output": output,
            "usage": null,
        })
    }

    /// The status at the end, and what explains it where it is not `completed`. The script has the words of the
    /// other APIs, so that it can be played by all.
    fn ending(&self) -> (&'static str, Value) {
        let turn = self.0.turn;
        match turn.finish.as_deref() {
            None | Some("stop" | "tool_calls") => ("completed", Value::Null),
            Some("failed") => {
                let message = turn.error_message.as_deref().unwrap_or("scripted error");
                let code = turn.error_type.as_deref().unwrap_or("server_error");
                ("failed", json!({"code": code, "message": message}))
            }
            Some("length") => ("incomplete", json!({"reason": "max_output_tokens"})),
            Some(other) => ("incomplete", json!({"reason": other})),
        }
    }

    fn usage(&self) -> Value {
        let usage = self.0.turn.usage;
        let mut counts = json!({
            "input_tokens": usage.input,
            "input_tokens_details": {"cached_tokens": usage.cached},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": usage.thinking},
            "total_tokens": usage.input.saturating_add(usage.output),
        });
        if usage.written > 0 {
            counts["input_tokens_details"]["cache_write_tokens"] = json!(usage.written);
        }
        counts
    }
}

fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

fn line(number: usize, event: &Value) -> String {
    let mut event = event.clone();
    event["sequence_number"] = json!(number);
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
}

fn merge(event: &mut Value, fields: Value) {
    if let Value::Object(fields) = fields {
        for (name, value) in fields {
            event[name] = value;
        }
    }
}

/// The input as messages of the completions API: items of the model that stand together are one message, as they
/// were one answer, and the output of a call is a message of the tool.
pub(super) fn as_messages(input: &Value) -> Option<Vec<Value>> {
    let items = match input {
        Value::String(text) => return Some(vec![json!({"role": "user", "content": text})]),
        Value::Array(items) => items,
        _ => return None,
    };
    let mut messages: Vec<Value> = Vec::new();
    for item in items {
        let kind = item["type"].as_str().unwrap_or("message");
        if item["role"].as_str().is_some_and(|role| role != "assistant") {
            messages.push(json!({"role": item["role"], "content": item["content"]}));
        } else if kind.ends_with("_output") {
            messages.push(json!({"role": "tool", "content": item["output"]}));
        } else if messages.last().is_none_or(|last| last["role"] != "assistant") {
            messages.push(json!({"role": "assistant"}));
        }
    }
    Some(messages)
}

/// An error in the form that the responses API gives it.
pub(super) fn error(failure: &Failure<'_>) -> Value {
    let (kind, code) = match (failure.kind, failure.status) {
        (Some(kind), _) => (kind, json!(kind)),
        (None, 401) => ("invalid_request_error", json!("invalid_api_key")),
        (None, 429) => ("tokens", json!("rate_limit_exceeded")),
        (None, 500..) => ("server_error", Value::Null),
        (None, _) => ("invalid_request_error", Value::Null),
    };
    json!({"error": {"message": failure.message, "type": kind, "param": null, "code": code}})
}
