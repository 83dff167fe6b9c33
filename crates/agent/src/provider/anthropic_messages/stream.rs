//! Reads the events of an answer.

use serde_json::Value;

use crate::config::Rates;
use crate::message::{StopReason, Usage};
use crate::provider::sse::Event;
use crate::provider::stream::Decoder;
use crate::provider::{Piece, ProviderError, failure, repair};

#[derive(Debug, Default)]
pub(super) struct Events {
    rates: Option<Rates>,
    usage: Usage,
    is_started: bool,
    is_stopped: bool,
    stop: Option<(String, Value)>,
    /// The block that is being sent, with the provider's number for it.
    open: Option<(u64, Block)>,
    calls: u64,
}

#[derive(Debug)]
enum Block {
    Text { has_pieces: bool },
    Thinking { has_pieces: bool, signature: String },
    Redacted,
    // With the arguments of its first event, until others come.
    Call { index: u64, input: Option<Value> },
    Unknown,
}

impl Events {
    pub(super) fn new(rates: Option<Rates>) -> Events {
        Events { rates, ..Events::default() }
    }

    fn take(&mut self, event: &Value, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError> {
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => {
                let message = &event["message"];
                let id = message["id"].as_str().filter(|id| !id.is_empty());
                self.is_started = true;
                sink(Piece::Started { response_id: id.map(str::to_owned) });
                self.count(&message["usage"], sink);
            }
            "content_block_start" => {
                self.close_block(sink);
                let block = self.open_block(&event["content_block"], sink);
                self.open = Some((number(&event["index"]), block));
            }
            "content_block_delta" => self.delta(number(&event["index"]), &event["delta"], sink),
            "content_block_stop" => self.close_block(sink),
            "message_delta" => {
                if let Some(reason) = event["delta"]["stop_reason"].as_str() {
                    let details = event["delta"]["stop_details"].clone();
                    self.stop = Some((reason.to_owned(), details));
                }
                self.count(&event["usage"], sink);
            }
            "message_stop" => {
                self.close_block(sink);
                self.is_stopped = true;
            }
            "error" => return Err(failure::in_stream(&event.to_string())),
            // Pings, and later additions to the protocol.
            _ => {}
        }
        Ok(())
    }

    fn open_block(&mut self, block: &Value, sink: &mut dyn FnMut(Piece)) -> Block {
        let words = |field: &str| block[field].as_str().unwrap_or_default().to_owned();
        match block["type"].as_str().unwrap_or_default() {
            "text" => {
                let text = words("text");
                let has_pieces = !text.is_empty();
                if has_pieces {
                    sink(Piece::Text(text));
                }
                Block::Text { has_pieces }
            }
            "thinking" => {
                let thinking = words("thinking");
                let has_pieces = !thinking.is_empty();
                if has_pieces {
                    sink(Piece::Thinking(thinking));
                }
                Block::Thinking { has_pieces, signature: words("signature") }
            }
            "redacted_thinking" => {
                sink(Piece::RedactedThinking(words("data")));
                Block::Redacted
            }
            "tool_use" => {
                let index = self.calls;
                self.calls += 1;
                let id = match words("id") {
                    id if id.is_empty() => format!("toolu_{}", uuid::Uuid::new_v4().simple()),
                    id => id,
                };
                sink(Piece::ToolCall { index, id, name: words("name") });
                let input = &block["input"];
                let has_input = input.as_object().is_some_and(|input| !input.is_empty());
                Block::Call { index, input: has_input.then(|| input.clone()) }
            }
            _ => Block::Unknown,
        }
    }

    fn delta(&mut self, number: u64, delta: &Value, sink: &mut dyn FnMut(Piece)) {
        let words = |field: &str| delta[field].as_str().unwrap_or_default();
        let open = self.open.as_mut().filter(|(open, _)| *open == number);
        match (words("type"), open.map(|(_, block)| block)) {
            ("text_delta", Some(Block::Text { has_pieces })) => {
                *has_pieces = true;
                sink(Piece::Text(words("text").to_owned()));
            }
            ("thinking_delta", Some(Block::Thinking { has_pieces, .. })) => {
                *has_pieces = true;
                sink(Piece::Thinking(words("thinking").to_owned()));
            }
            ("signature_delta", Some(Block::Thinking { signature, .. })) => {
                signature.push_str(words("signature"));
            }
            ("input_json_delta", Some(Block::Call { index, input })) => {
                let json = words("partial_json").to_owned();
                if !json.is_empty() {
                    *input = None;
                }
                sink(Piece::Arguments { index: *index, json });
            }
            _ => {}
        }
    }

    fn close_block(&mut self, sink: &mut dyn FnMut(Piece)) {
        let Some((_, block)) = self.open.take() else { return };
        match block {
            Block::Text { has_pieces: false } | Block::Unknown => return,
            Block::Text { has_pieces: true } | Block::Redacted => {}
            Block::Thinking { has_pieces, signature } => {
                if !has_pieces && signature.is_empty() {
                    return;
                }
                if !has_pieces {
                    sink(Piece::Thinking(String::new()));
                }
                if !signature.is_empty() {
                    sink(Piece::ThinkingSignature(signature));
                }
            }
            Block::Call { index, input } => {
                if let Some(input) = input {
                    sink(Piece::Arguments { index, json: input.to_string() });
                }
            }
        }
        sink(Piece::BlockEnded);
    }

    /// Takes the counts of an event. A count that it lacks stays.
    fn count(&mut self, usage: &Value, sink: &mut dyn FnMut(Piece)) {
        if !usage.is_object() {
            return;
        }
        let counts = &mut self.usage;
        let fields = [
            (&mut counts.input, "input_tokens"),
            (&mut counts.output, "output_tokens"),
            (&mut counts.cache_read, "cache_read_input_tokens"),
            (&mut counts.cache_write, "cache_creation_input_tokens"),
        ];
        for (count, field) in fields {
            *count = usage[field].as_u64().unwrap_or(*count);
        }
        let thinking = usage["output_tokens_details"]["thinking_tokens"].as_u64();
        counts.reasoning = thinking.or(counts.reasoning);
        let all = [counts.input, counts.output, counts.cache_read, counts.cache_write];
        counts.total_tokens = all.into_iter().fold(0, u64::saturating_add);
        self.usage = self.usage.priced(self.rates);
        sink(Piece::Usage(self.usage));
    }
}

impl Decoder for Events {
    fn event(&mut self, event: &Event, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError> {
        if self.is_stopped {
            return Ok(());
        }
        if event.name == "error" {
            return Err(failure::in_stream(&event.data));
        }
        match repair::parse::<Value>(&event.data) {
            Ok(value) => self.take(&value, sink),
            Err(_) if event.data.trim().is_empty() => Ok(()),
            Err(error) => {
                // Not shortened: the client first removes keys, and would not recognise half of one.
                Err(ProviderError::temporary(format!(
                    "Could not parse Anthropic SSE event {}: {error}; data={}",
                    event.name, event.data
                )))
            }
        }
    }

    fn document(&mut self, text: &str, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError> {
        match repair::parse::<Value>(text) {
            Ok(document) if document["type"] == "error" => self.take(&document, sink),
            _ => Err(ProviderError::permanent(format!("Not a stream but a document came: {text}"))),
        }
    }

    fn is_whole(&self) -> bool {
        self.is_stopped
    }

    fn end(&mut self, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError> {
        if self.is_started && !self.is_stopped {
            return Err(ProviderError::temporary("Anthropic stream ended before message_stop"));
        }
        let Some((raw, details)) = self.stop.take() else {
            return Err(ProviderError::temporary("Anthropic stream ended without a stop reason"));
        };
        let reason = match raw.as_str() {
            "end_turn" | "pause_turn" | "stop_sequence" => StopReason::Stop,
            "max_tokens" => StopReason::Length,
            "tool_use" => StopReason::ToolUse,
            "refusal" => {
                let usual = "The model refused to complete the request";
                let words = details["explanation"].as_str().unwrap_or(usual);
                return Err(ProviderError::permanent(words));
            }
            "sensitive" => {
                return Err(ProviderError::permanent("Provider stopped with: sensitive"));
            }
            _ => return Err(failure::in_stream(&format!("Unhandled stop reason: {raw}"))),
        };
        sink(Piece::Ended { reason, raw: Some(raw) });
        Ok(())
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}
