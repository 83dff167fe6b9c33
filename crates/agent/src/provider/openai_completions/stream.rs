//! Reads the chunks of an answer.

use serde_json::{Map, Value};

use super::request::THOUGHT_FIELDS;
use crate::config::Rates;
use crate::message::{StopReason, Usage};
use crate::provider::protocol::{malformed, parse_event};
use crate::provider::sse::Event;
use crate::provider::stream::Decoder;
use crate::provider::{Piece, ProviderError, failure, repair};

#[derive(Debug, Default)]
pub(super) struct Chunks {
    rates: Option<Rates>,
    /// Whether the provider tells why it stops, so that an end without a reason is an error.
    tells_reason: bool,
    is_started: bool,
    is_done: bool,
    has_thoughts: bool,
    finish: Option<String>,
    calls: Vec<Call>,
    details: Vec<Map<String, Value>>,
}

/// A tool call that is being sent. Its number is its position.
#[derive(Debug)]
struct Call {
    index: Option<u64>,
    id: String,
    /// Those that came before the name of the tool.
    arguments: String,
    is_announced: bool,
}

impl Chunks {
    pub(super) fn new(rates: Option<Rates>, tells_reason: bool) -> Chunks {
        Chunks { rates, tells_reason, ..Chunks::default() }
    }

    fn chunk(&mut self, chunk: &Value, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError> {
        match &chunk["error"] {
            Value::Null | Value::Bool(false) => {}
            error => return Err(failure::in_error_object(error)),
        }
        if !chunk.is_object() {
            return Ok(());
        }
        let id = chunk["id"].as_str().filter(|id| !id.is_empty());
        let choice = &chunk["choices"][0];
        // The first chunk of some providers has neither an id nor anything else.
        if !self.is_started && (id.is_some() || choice.is_object()) {
            self.is_started = true;
            sink(Piece::Started { response_id: id.map(str::to_owned) });
        }
        let usage = [&chunk["usage"], &choice["usage"]].into_iter().find(|usage| usage.is_object());
        if let Some(usage) = usage {
            sink(Piece::Usage(usage_of(usage).priced(self.rates)));
        }
        if let Some(reason) = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty()) {
            self.finish = Some(reason.to_owned());
        }
        // An answer that is no stream has a whole message.
        let delta = if choice["delta"].is_object() { &choice["delta"] } else { &choice["message"] };
        self.delta(delta, sink);
        Ok(())
    }

    fn delta(&mut self, delta: &Value, sink: &mut dyn FnMut(Piece)) {
        // Some providers send the same thinking in two fields.
        let thought = THOUGHT_FIELDS
            .iter()
            .find_map(|field| Some((*field, delta[*field].as_str().filter(|it| !it.is_empty())?)));
        let text = words(&delta["content"]);
        if !text.is_empty() {
            sink(Piece::Text(text));
        }
        if let Some(text) = delta["refusal"].as_str().filter(|text| !text.is_empty()) {
            sink(Piece::Text(text.to_owned()));
        }
        if let Some((field, thought)) = thought {
            sink(Piece::Thinking(thought.to_owned()));
            if !std::mem::replace(&mut self.has_thoughts, true) {
                // Requests must have the thinking in the same field.
                sink(Piece::ThinkingSignature(field.to_owned()));
            }
        }
        let calls = delta["tool_calls"].as_array().into_iter().flatten();
        for call in calls.filter(|call| call["function"].is_object()) {
            self.call(call, sink);
        }
        for detail in delta["reasoning_details"].as_array().into_iter().flatten() {
            self.detail(detail, sink);
        }
    }

    fn call(&mut self, call: &Value, sink: &mut dyn FnMut(Piece)) {
        let function = &call["function"];
        let name = function["name"].as_str().unwrap_or_default();
        let id = call["id"].as_str().unwrap_or_default();
        let position = self.position_of(call["index"].as_u64(), id, name);
        let known = &mut self.calls[position];
        if known.id.is_empty() {
            id.clone_into(&mut known.id);
        }
        match &function["arguments"] {
            Value::String(text) => known.arguments.push_str(text),
            Value::Null => {}
            arguments => known.arguments.push_str(&arguments.to_string()),
        }
        if !name.is_empty() || known.is_announced {
            known.announce(position, name, sink);
        }
    }

    /// The call that a piece belongs to, which may be a new one.
    fn position_of(&mut self, index: Option<u64>, id: &str, name: &str) -> usize {
        let by_index = |call: &Call| index.is_some() && call.index == index;
        let by_id = |call: &Call| !id.is_empty() && call.id == id;
        let found = self.calls.iter().rposition(by_index);
        let found = found.or_else(|| self.calls.iter().rposition(by_id));
        // Without index and id it continues the last call, unless it names a tool.
        let continues = index.is_none() && id.is_empty() && name.is_empty();
        let found = found.or_else(|| continues.then(|| self.calls.len().checked_sub(1)).flatten());
        // Some providers give the same index to all calls, some the same id. A new id alone is no
        // new call, because some give a new one to every piece.
        let is_other = |call: &Call| {
            let has_other_id = !id.is_empty() && call.id != id;
            let has_other_index = index.is_some() && call.index.is_some() && call.index != index;
            call.is_announced && !name.is_empty() && (has_other_id || has_other_index)
        };
        match found {
            Some(position) if !is_other(&self.calls[position]) => {
                let call = &mut self.calls[position];
                call.index = call.index.or(index);
                position
            }
            _ => {
                let arguments = String::new();
                self.calls.push(Call { index, id: id.to_owned(), arguments, is_announced: false });
                self.calls.len() - 1
            }
        }
    }

    /// Takes a piece of thinking in the form that requests must have.
    fn detail(&mut self, detail: &Value, sink: &mut dyn FnMut(Piece)) {
        let kind = detail["type"].as_str().unwrap_or_default();
        let field = match kind {
            "reasoning.text" => "text",
            "reasoning.summary" => "summary",
            "reasoning.encrypted" => "data",
            _ => return,
        };
        let (Some(detail), Some(words)) = (detail.as_object(), detail[field].as_str()) else {
            return;
        };
        if !std::mem::replace(&mut self.has_thoughts, true) {
            sink(Piece::Thinking(String::new()));
        }
        // Texts that follow one another are joined; encrypted data is not.
        if let Some(last) = self.details.last_mut()
            && kind != "reasoning.encrypted"
            && last.get("type") == detail.get("type")
        {
            if let Some(Value::String(text)) = last.get_mut(field) {
                text.push_str(words);
            }
            for (name, value) in detail {
                let missing = last.get(name).is_none_or(|known| known.is_null() || known == "");
                if missing {
                    last.insert(name.clone(), value.clone());
                }
            }
            return;
        }
        self.details.push(detail.clone());
    }
}

impl Call {
    /// Reports the call, once, and its new arguments.
    fn announce(&mut self, position: usize, name: &str, sink: &mut dyn FnMut(Piece)) {
        let index = position as u64;
        if !std::mem::replace(&mut self.is_announced, true) {
            if self.id.is_empty() {
                self.id = format!("call_{}", uuid::Uuid::new_v4().simple());
            }
            sink(Piece::ToolCall { index, id: self.id.clone(), name: name.to_owned() });
        }
        sink(Piece::Arguments { index, json: std::mem::take(&mut self.arguments) });
    }
}

impl Decoder for Chunks {
    fn event(&mut self, event: &Event, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError> {
        if self.is_done {
            return Ok(());
        }
        let Some(chunk) = parse_event(event)? else {
            self.is_done = !event.data.trim().is_empty();
            return Ok(());
        };
        if event.name == "error" && chunk["error"].is_null() {
            return Err(failure::in_error_object(&chunk));
        }
        self.chunk(&chunk, sink)
    }

    fn document(&mut self, text: &str, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError> {
        match repair::parse::<Value>(text) {
            Ok(document) => self.chunk(&document, sink),
            Err(error) => Err(malformed(&error.to_string())),
        }
    }

    fn is_whole(&self) -> bool {
        self.finish.is_some() || self.is_done && !self.tells_reason
    }

    fn end(&mut self, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError> {
        let (reason, raw) = match self.finish.take() {
            Some(raw) => (stop_reason(&raw)?, Some(raw)),
            None if self.tells_reason || !self.is_started => {
                return Err(ProviderError::temporary("Stream ended without finish_reason"));
            }
            None if self.calls.is_empty() => (StopReason::Stop, None),
            None => (StopReason::ToolUse, None),
        };
        for (position, call) in self.calls.iter_mut().enumerate() {
            // The agent refuses a call without a name, so that the model learns of it.
            if !call.is_announced {
                call.announce(position, "", sink);
            }
        }
        if !self.details.is_empty() {
            let details = std::mem::take(&mut self.details);
            let details: Value = details.into_iter().map(Value::Object).collect();
            sink(Piece::ThinkingSignature(details.to_string()));
        }
        sink(Piece::Ended { reason, raw });
        Ok(())
    }
}

/// The text of a message, which is a string or has parts.
fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

fn stop_reason(raw: &str) -> Result<StopReason, ProviderError> {
    match raw {
        "stop" | "end" => Ok(StopReason::Stop),
        "length" => Ok(StopReason::Length),
        "tool_calls" | "function_call" => Ok(StopReason::ToolUse),
        _ => Err(failure::in_stream(&format!("Provider finish_reason: {raw}"))),
    }
}

/// Providers agree on the totals, but not on the fields for cached tokens.
fn usage_of(usage: &Value) -> Usage {
    let details = &usage["prompt_tokens_details"];
    let cache_read = details["cached_tokens"]
        .as_u64()
        .or_else(|| usage["prompt_cache_hit_tokens"].as_u64())
        .or_else(|| usage["cached_tokens"].as_u64())
        .unwrap_or(0);
    let cache_write = details["cache_write_tokens"].as_u64().unwrap_or(0);
    let input = usage["prompt_tokens"].as_u64().unwrap_or(0);
    let input = input.saturating_sub(cache_read).saturating_sub(cache_write);
    let output = usage["completion_tokens"].as_u64().unwrap_or(0);
    let reasoning = usage["completion_tokens_details"]["reasoning_tokens"].as_u64().unwrap_or(0);
    let all = [input, output, cache_read, cache_write];
    Usage {
        input,
        output,
        cache_read,
        cache_write,
        reasoning: Some(reasoning),
        total_tokens: all.into_iter().fold(0, u64::saturating_add),
        ..Usage::default()
    }
}
