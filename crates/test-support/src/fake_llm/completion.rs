//! A turn in the words of the chat completions API.

use std::iter;
use std::num::NonZeroUsize;

use serde_json::{Value, json};

use super::script::Turn;

/// One answer of the model: a turn, and what tells it from other answers.
pub(super) struct Completion<'request> {
    /// The number of this answer; unique per server.
    pub(super) number: u64,
    /// When it was made, in seconds since 1970.
    pub(super) created: u64,
    pub(super) model: &'request str,
    pub(super) turn: &'request Turn,
}

impl Completion<'_> {
    /// The server-sent events that carry the message. There is always one, for the role.
    pub(super) fn delta_events(&self) -> Vec<String> {
        let turn = self.turn;
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

        let mut events: Vec<String> =
            deltas.iter().map(|delta| self.delta_event(delta, None)).collect();
        if let Some(garbage) = &turn.garbage {
            events.splice(1..events.len().min(2), [garbage.clone()]);
        }
        events
    }

    /// The server-sent events that follow the message: why it ended, and what it cost.
    pub(super) fn closing_events(&self) -> [String; 3] {
        [
            self.delta_event(&json!({}), Some(self.finish_reason())),
            self.event(&json!([]), &self.usage()),
            "data: [DONE]\n\n".to_owned(),
        ]
    }

    /// The whole completion, for clients that do not want a stream.
    pub(super) fn whole(&self) -> Value {
        let mut message = json!({
            "role": "assistant",
            "content": self.content(&self.turn.text),
            "refusal": null,
        });
        if !self.turn.thinking.is_empty() {
            message["reasoning_content"] = json!(self.turn.thinking);
        }
        if !self.turn.tools.is_empty() {
            let calls = self.turn.tools.iter().enumerate().map(|(index, tool)| {
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
            "id": format!("chatcmpl-{}", self.number),
            "object": object,
            "created": self.created,
            "model": self.model,
            "choices": choices,
            "usage": usage,
        })
    }

    /// `text` as the content of the message: null if all that the message does is to call tools.
    fn content(&self, text: &str) -> Value {
        if self.turn.text.is_empty() && !self.turn.tools.is_empty() {
            Value::Null
        } else {
            json!(text)
        }
    }

    fn call_id(&self, index: usize) -> String {
        format!("call_{}_{index}", self.number)
    }

    fn finish_reason(&self) -> &str {
        let usual = if self.turn.tools.is_empty() { "stop" } else { "tool_calls" };
        self.turn.finish.as_deref().unwrap_or(usual)
    }

    fn usage(&self) -> Value {
        let usage = self.turn.usage;
        json!({
            "prompt_tokens": usage.input,
            "completion_tokens": usage.output,
            "total_tokens": usage.input.saturating_add(usage.output),
            "prompt_tokens_details": {"cached_tokens": usage.cached},
        })
    }
}

/// Cuts a text into pieces of `size` characters.
fn pieces(text: &str, size: NonZeroUsize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    iter::from_fn(move || {
        let end = rest.char_indices().nth(size.get()).map_or(rest.len(), |(position, _)| position);
        let (piece, tail) = rest.split_at(end);
        rest = tail;
        (!piece.is_empty()).then_some(piece)
    })
}
