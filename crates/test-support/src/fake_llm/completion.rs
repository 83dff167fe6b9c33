//! A turn in the words of the chat completions API.

use serde_json::{Value, json};

use super::reply::{Failure, Protocol, Reply};
use super::script::pieces;

/// One answer of the model.
pub(super) struct Completion<'request>(pub(super) Reply<'request>);

impl Protocol for Completion<'_> {
    fn delta_events(&self) -> Vec<String> {
        let turn = self.0.turn;
        let size = turn.chunk;
        let mut deltas = vec![json!({"role": "assistant", "content": self.content("")})];
        deltas
            .extend(pieces(&turn.thinking, size).map(|piece| json!({"reasoning_content": piece})));
        deltas.extend(pieces(&turn.text, size).map(|piece| json!({"content": piece})));
        for (index, tool) in turn.tools.iter().enumerate() {
            let function = json!({"name": tool.name, "arguments": ""});
            let id = self.call_id(index);
            let call = json!({"index": index, "id": id, "type": "function", "function": function});
            deltas.push(json!({"tool_calls": [call]}));
            for piece in pieces(&tool.arguments(), size) {
                let call = json!({"index": index, "function": {"arguments": piece}});
                deltas.push(json!({"tool_calls": [call]}));
            }
        }

        deltas.iter().map(|delta| self.delta_event(delta, None)).collect()
    }

    fn closing_events(&self) -> Vec<String> {
        vec![
            self.delta_event(&json!({}), Some(self.finish_reason())),
            self.event(&json!([]), &self.usage()),
            "data: [DONE]\n\n".to_owned(),
        ]
    }

    fn whole(&self) -> Value {
        let mut message = json!({
            "role": "assistant",
            "content": self.content(&self.0.turn.text),
            "refusal": null,
        });
        if !self.0.turn.thinking.is_empty() {
            message["reasoning_content"] = json!(self.0.turn.thinking);
        }
        if !self.0.turn.tools.is_empty() {
            let calls = self.0.turn.tools.iter().enumerate().map(|(index, tool)| {
                let function = json!({"name": tool.name, "arguments": tool.arguments()});
                json!({"id": self.call_id(index), "type": "function", "function": function})
            });
            message["tool_calls"] = calls.collect();
        }
        let choices = json!([{
            "index": 0,
            "message": message,
            "logprobs": null,
            "finish_reason": self.finish_reason(),
        }]);
        self.document("chat.completion", &choices, &self.usage())
    }
}

impl Completion<'_> {
    fn delta_event(&self, delta: &Value, finish_reason: Option<&str>) -> String {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish_reason});
        self.event(&json!([choice]), &Value::Null)
    }

    fn event(&self, choices: &Value, usage: &Value) -> String {
        let document = self.document("chat.completion.chunk", choices, usage);
        format!("data: {document}\n\n")
    }

    fn document(&self, object: &str, choices: &Value, usage: &Value) -> Value {
        json!({
            "id": format!("chatcmpl-{}", self.0.number),
            "object": object,
            "created": self.0.created,
            "model": self.0.model,
            "choices": choices,
            "usage": usage,
        })
    }

    /// `text` as the content of the message: null if all that the message does is to call tools.
    fn content(&self, text: &str) -> Value {
        if self.0.turn.text.is_empty() && !self.0.turn.tools.is_empty() {
            Value::Null
        } else {
            json!(text)
        }
    }

    fn call_id(&self, index: usize) -> String {
        let given = self.0.turn.tools.get(index).and_then(|tool| tool.id.clone());
        given.unwrap_or_else(|| format!("call_{}_{index}", self.0.number))
    }

    fn finish_reason(&self) -> &str {
        let usual = if self.0.turn.tools.is_empty() { "stop" } else { "tool_calls" };
        self.0.turn.finish.as_deref().unwrap_or(usual)
    }

    fn usage(&self) -> Value {
        let usage = self.0.turn.usage;
        let mut counts = json!({
            "prompt_tokens": usage.input,
            "completion_tokens": usage.output,
            "total_tokens": usage.input.saturating_add(usage.output),
            "prompt_tokens_details": {"cached_tokens": usage.cached},
        });
        if usage.written > 0 {
            counts["prompt_tokens_details"]["cache_write_tokens"] = json!(usage.written);
        }
        if usage.thinking > 0 {
            counts["completion_tokens_details"] = json!({"reasoning_tokens": usage.thinking});
        }
        counts
    }
}

/// An error in the form that the completions API gives it.
pub(super) fn error(failure: &Failure<'_>) -> Value {
    let kind = failure.kind.unwrap_or("invalid_request_error");
    json!({"error": {"message": failure.message, "type": kind}})
}
