//! Reads the chunks of an answer. Each is a document in the form of a whole answer.

use serde_json::Value;

use crate::config::Rates;
use crate::message::{StopReason, Usage};
use crate::provider::protocol::{malformed, parse_event};
use crate::provider::sse::Event;
use crate::provider::stream::Decoder;
use crate::provider::{Piece, ProviderError, failure, repair};

#[derive(Debug, Default)]
pub(super) struct Chunks {
    rates: Option<Rates>,
    is_started: bool,
    /// The kind of the open block.
    open: Option<Kind>,
    blocks: usize,
    calls: u64,
    /// The provider's reason, and its words about it.
    finish: Option<(String, Option<String>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
}

impl Chunks {
    pub(super) fn new(rates: Option<Rates>) -> Chunks {
        Chunks { rates, ..Chunks::default() }
    }

    fn chunk(&mut self, chunk: &Value, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError> {
        match &chunk["error"] {
            Value::Null | Value::Bool(false) => {}
            error => return Err(failure::in_error_object(error)),
        }
        if let Some(reason) = chunk["promptFeedback"]["blockReason"].as_str() {
            let message = chunk["promptFeedback"]["blockReasonMessage"].as_str();
            let words = with_details(&format!("Provider blocked the prompt: {reason}"), message);
            return Err(ProviderError::permanent(words));
        }
        let candidate = &chunk["candidates"][0];
        if !self.is_started && (candidate.is_object() || chunk["responseId"].is_string()) {
            self.is_started = true;
            let id = chunk["responseId"].as_str().filter(|id| !id.is_empty());
            sink(Piece::Started { response_id: id.map(str::to_owned) });
        }
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            self.part(part, sink);
        }
        if let Some(reason) = candidate["finishReason"].as_str().filter(|it| !it.is_empty()) {
            let message = candidate["finishMessage"].as_str().map(str::to_owned);
            self.finish = Some((reason.to_owned(), message));
        }
        if chunk["usageMetadata"].is_object() {
            sink(Piece::Usage(usage_of(&chunk["usageMetadata"]).priced(self.rates)));
        }
        Ok(())
    }

    fn part(&mut self, part: &Value, sink: &mut dyn FnMut(Piece)) {
        let signature = part["thoughtSignature"].as_str().filter(|it| !it.is_empty());
        if let Some(text) = part["text"].as_str() {
            let kind = if part["thought"] == true { Kind::Thinking } else { Kind::Text };
            if self.open != Some(kind) {
                self.close(sink);
                sink(match kind {
                    Kind::Text => Piece::TextStarted,
                    Kind::Thinking => Piece::ThinkingStarted,
                });
                self.open = Some(kind);
                self.blocks += 1;
            }
            sink(match kind {
                Kind::Text => Piece::Text(text.to_owned()),
                Kind::Thinking => Piece::Thinking(text.to_owned()),
            });
            self.sign(signature, sink);
        }
        if part["functionCall"].is_object() {
            self.close(sink);
            self.call(&part["functionCall"], sink);
            self.sign(signature, sink);
            sink(Piece::BlockEnded);
        }
    }

    /// A call comes whole.
    fn call(&mut self, call: &Value, sink: &mut dyn FnMut(Piece)) {
        let index = self.calls;
        self.calls += 1;
        self.blocks += 1;
        let id = match call["id"].as_str().filter(|id| !id.is_empty()) {
            Some(id) => id.to_owned(),
            None => format!("call_{}", uuid::Uuid::new_v4().simple()),
        };
        let name = call["name"].as_str().unwrap_or_default().to_owned();
        sink(Piece::ToolCall { index, id, name });
        let arguments = match &call["args"] {
            Value::Null => "{}".to_owned(),
            arguments => arguments.to_string(),
        };
        sink(Piece::Arguments { index, json: arguments });
    }

    /// Keeps what the provider wants back with the last block. A later piece without it does not take it away.
    fn sign(&self, signature: Option<&str>, sink: &mut dyn FnMut(Piece)) {
        if let (Some(signature), Some(block)) = (signature, self.blocks.checked_sub(1)) {
            let signature = Some(signature.to_owned());
            sink(Piece::Block { block, text: None, signature });
        }
    }

    fn close(&mut self, sink: &mut dyn FnMut(Piece)) {
        if self.open.take().is_some() {
            sink(Piece::BlockEnded);
        }
    }
}

impl Decoder for Chunks {
    fn event(&mut self, event: &Event, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError> {
        let Some(chunk) = parse_event(event)? else { return Ok(()) };
        if event.name == "error" && chunk["error"].is_null() {
            return Err(failure::in_error_object(&chunk));
        }
        self.chunk(&chunk, sink)
    }

    /// Without `alt=sse`, the chunks come as one array.
    fn document(&mut self, text: &str, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError> {
        match repair::parse::<Value>(text) {
            Ok(Value::Array(chunks)) => chunks.iter().try_for_each(|chunk| self.chunk(chunk, sink)),
            Ok(document) => self.chunk(&document, sink),
            Err(error) => Err(malformed(&error.to_string())),
        }
    }

    fn is_whole(&self) -> bool {
        self.finish.is_some()
    }

    fn end(&mut self, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError> {
        let Some((raw, message)) = self.finish.take() else {
            return Err(ProviderError::temporary("Google stream ended without a finish reason"));
        };
        self.close(sink);
        let reason = match raw.as_str() {
            "STOP" => StopReason::Stop,
            "MAX_TOKENS" => StopReason::Length,
            _ => {
                let words = format!("Provider stopped with: {raw}");
                sink(Piece::StopWord(raw));
                return Err(ProviderError::permanent(with_details(&words, message.as_deref())));
            }
        };
        sink(Piece::Ended { reason, raw: Some(raw) });
        Ok(())
    }
}

fn with_details(words: &str, details: Option<&str>) -> String {
    match details.filter(|details| !details.trim().is_empty()) {
        Some(details) => format!("{words}: {details}"),
        None => words.to_owned(),
    }
}

fn usage_of(usage: &Value) -> Usage {
    let count = |field: &str| usage[field].as_u64().unwrap_or_default();
    let (cache_read, thoughts) = (count("cachedContentTokenCount"), count("thoughtsTokenCount"));
    Usage {
        input: count("promptTokenCount").saturating_sub(cache_read),
        output: count("candidatesTokenCount").saturating_add(thoughts),
        cache_read,
        reasoning: Some(thoughts),
        total_tokens: count("totalTokenCount"),
        ..Usage::default()
    }
}
