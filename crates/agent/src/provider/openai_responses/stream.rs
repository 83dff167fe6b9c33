//! Reads the events of an answer.

use serde_json::{Value, json};

use super::items;
use crate::config::Rates;
use crate::message::{StopReason, Usage};
use crate::provider::protocol::{malformed, parse_event};
use crate::provider::sse::Event;
use crate::provider::stream::Decoder;
use crate::provider::{Piece, ProviderError, failure, repair};

#[derive(Debug, Default)]
pub(super) struct Events {
    rates: Option<Rates>,
    /// How many times the usual price the tier `priority` costs, if there are tiers.
    priority: Option<f64>,
    is_started: bool,
    /// The items that have begun and are not done, of which only the last one grows.
    open: Vec<Open>,
    blocks: usize,
    calls: u64,
    /// By these the results of the calls are found.
    call_ids: Vec<String>,
    /// The items of thinking that came without their encrypted content, with the number of their block.
    unencrypted: Vec<(usize, Value)>,
    end: Option<(StopReason, Option<String>)>,
}

/// An item that is being sent.
#[derive(Debug)]
struct Open {
    output_index: u64,
    block: usize,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Text,
    Thinking,
    /// With its arguments so far.
    Call {
        index: u64,
        arguments: String,
    },
}

impl Events {
    pub(super) fn new(rates: Option<Rates>, priority: Option<f64>) -> Events {
        Events { rates, priority, ..Events::default() }
    }

    fn take(&mut self, event: &Value, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError> {
        let index = event["output_index"].as_u64().unwrap_or_default();
        let words = |field: &str| event[field].as_str().unwrap_or_default();
        let kind = words("type");
        match kind.strip_prefix("response.").unwrap_or(kind) {
            "created" => self.start(&event["response"], sink),
            "output_item.added" => {
                self.start(&Value::Null, sink);
                self.begin(index, &event["item"], sink);
            }
            "reasoning_summary_text.delta" | "reasoning_text.delta" => {
                self.grow(index, Piece::Thinking(words("delta").to_owned()), sink);
            }
            "reasoning_summary_part.done" => {
                self.grow(index, Piece::Thinking("\n\n".to_owned()), sink);
            }
            "output_text.delta" | "refusal.delta" => {
                self.grow(index, Piece::Text(words("delta").to_owned()), sink);
            }
            "function_call_arguments.delta" => self.argue(index, words("delta"), false, sink),
            "function_call_arguments.done" => self.argue(index, words("arguments"), true, sink),
            "output_item.done" => {
                self.start(&Value::Null, sink);
                self.finish(index, &event["item"], sink);
            }
            "completed" | "incomplete" => {
                self.start(&event["response"], sink);
                self.conclude(&event["response"], sink)?;
            }
            "failed" => {
                let status = event["response"]["status"].as_str();
                status.into_iter().for_each(|status| sink(Piece::StopWord(status.to_owned())));
                return Err(failed(&event["response"]));
            }
            "error" => return Err(error_event(event)),
            // Later additions to the protocol, and what only repeats.
            _ => {}
        }
        Ok(())
    }

    fn start(&mut self, response: &Value, sink: &mut dyn FnMut(Piece)) {
        if !std::mem::replace(&mut self.is_started, true) {
            let id = response["id"].as_str().filter(|id| !id.is_empty());
            sink(Piece::Started { response_id: id.map(str::to_owned) });
        }
    }

    /// The id, changed if an earlier call of this answer has the same: a provider takes one result for an id.
    fn unused_id(&mut self, id: String) -> String {
        let (call, _) = items::call_of(&id);
        let id = if self.call_ids.iter().any(|earlier| earlier == call) {
            id.replacen(call, &format!("{call}_{}", self.call_ids.len()), 1)
        } else {
            id
        };
        self.call_ids.push(items::call_of(&id).0.to_owned());
        id
    }

    fn begin(&mut self, output_index: u64, item: &Value, sink: &mut dyn FnMut(Piece)) {
        let kind = match item["type"].as_str().unwrap_or_default() {
            "reasoning" => {
                sink(Piece::ThinkingStarted);
                Kind::Thinking
            }
            "message" => {
                sink(Piece::TextStarted);
                Kind::Text
            }
            "function_call" | "custom_tool_call" => {
                let index = self.calls;
                self.calls += 1;
                let name = item["name"].as_str().unwrap_or_default().to_owned();
                let id = self.unused_id(items::id_of_call(item));
                sink(Piece::ToolCall { index, id, name });
                Kind::Call { index, arguments: String::new() }
            }
            _ => return,
        };
        // A number that is used twice means the later item.
        self.open.retain(|open| open.output_index != output_index);
        self.open.push(Open { output_index, block: self.blocks, kind });
        self.blocks += 1;
    }

    /// Adds a piece to the item that began last. The others are read when they are done.
    fn grow(&mut self, output_index: u64, piece: Piece, sink: &mut dyn FnMut(Piece)) {
        let last = self.open.last().filter(|open| open.output_index == output_index);
        match (last.map(|open| &open.kind), &piece) {
            (Some(Kind::Text), Piece::Text(_)) | (Some(Kind::Thinking), Piece::Thinking(_)) => {
                sink(piece);
            }
            _ => {}
        }
    }

    /// Takes more of the arguments of a call, or all of them.
    fn argue(&mut self, output_index: u64, json: &str, is_all: bool, sink: &mut dyn FnMut(Piece)) {
        let open = self.open.iter_mut().find(|open| open.output_index == output_index);
        let Some(Open { kind: Kind::Call { index, arguments }, .. }) = open else { return };
        let more = if is_all { json.strip_prefix(arguments.as_str()) } else { Some(json) };
        // What does not continue the arguments replaces them when the item is done.
        let Some(more) = more.filter(|more| !(is_all && more.is_empty())) else { return };
        arguments.push_str(more);
        sink(Piece::Arguments { index: *index, json: more.to_owned() });
    }

    fn finish(&mut self, output_index: u64, item: &Value, sink: &mut dyn FnMut(Piece)) {
        let is_open = |open: &Open| open.output_index == output_index;
        if !self.open.iter().any(is_open) {
            self.begin(output_index, item, sink);
        }
        let Some(position) = self.open.iter().position(is_open) else { return };
        let Open { block, kind, .. } = self.open.remove(position);
        let (text, signature) = match (kind, item["type"].as_str().unwrap_or_default()) {
            (Kind::Thinking, "reasoning") => {
                let text = [&item["summary"], &item["content"]].map(|it| texts(it, "\n\n"));
                let text = text.into_iter().find(|text| !text.is_empty());
                if !item["encrypted_content"].is_string() {
                    self.unencrypted.push((block, item.clone()));
                }
                (text, Some(item.to_string()))
            }
            (Kind::Text, "message") => {
                let text = Some(texts(&item["content"], "")).filter(|text| !text.is_empty());
                (text, items::text_signature(item))
            }
            (Kind::Call { arguments, .. }, "custom_tool_call") => {
                let input = item["input"].as_str().map(|it| json!({"input": it}).to_string());
                (input.filter(|input| *input != arguments), None)
            }
            (Kind::Call { arguments, .. }, "function_call") => {
                let whole = item["arguments"].as_str().filter(|it| !it.is_empty());
                (whole.filter(|it| *it != arguments).map(str::to_owned), None)
            }
            // What ends is something else than what began: what came so far is all there is.
            _ => (None, None),
        };
        if text.is_some() || signature.is_some() {
            sink(Piece::Block { block, text, signature });
        }
        if self.open.is_empty() {
            sink(Piece::BlockEnded);
        }
    }

    /// Takes the end of the answer.
    fn conclude(
        &mut self,
        response: &Value,
        sink: &mut dyn FnMut(Piece),
    ) -> Result<(), ProviderError> {
        // Azure tells the encrypted content only here.
        for item in response["output"].as_array().into_iter().flatten() {
            let is_same = |(_, kept): &&mut (usize, Value)| kept["id"] == item["id"];
            if let (Some((block, kept)), Value::String(content)) =
                (self.unencrypted.iter_mut().find(is_same), &item["encrypted_content"])
            {
                kept["encrypted_content"] = json!(content);
                let signature = Some(kept.to_string());
                sink(Piece::Block { block: *block, text: None, signature });
            }
        }
        if response["usage"].is_object() {
            let mut usage = usage_of(&response["usage"]).priced(self.rates);
            let times = match response["service_tier"].as_str() {
                Some("flex") => 0.5,
                Some("priority") => self.priority.unwrap_or(1.0),
                _ => 1.0,
            };
            if let (Some(cost), Some(_)) = (&mut usage.cost, self.priority) {
                for part in [
                    &mut cost.input,
                    &mut cost.output,
                    &mut cost.cache_read,
                    &mut cost.cache_write,
                    &mut cost.total,
                ] {
                    *part *= times;
                }
            }
            sink(Piece::Usage(usage));
        }
        let status = response["status"].as_str();
        let why = response["incomplete_details"]["reason"].as_str();
        let raw = status.map(|status| match why {
            Some(why) => format!("{status}.{why}"),
            None => status.to_owned(),
        });
        let is_error = matches!(status, Some("incomplete" | "failed" | "cancelled"));
        if let Some(raw) = raw.clone().filter(|_| is_error) {
            sink(Piece::StopWord(raw));
        }
        let reason = match (status, why) {
            (Some("incomplete"), Some("max_output_tokens")) => StopReason::Length,
            (Some("incomplete"), Some(why)) => {
                let words = format!("Response incomplete: {why}");
                return Err(ProviderError::permanent(words));
            }
            (Some("incomplete"), None) => {
                let words = "Response incomplete without a provider reason";
                return Err(ProviderError::permanent(words));
            }
            (Some("failed" | "cancelled"), _) => return Err(failed(response)),
            _ => StopReason::Stop,
        };
        self.end = Some((reason, raw));
        Ok(())
    }
}

impl Decoder for Events {
    fn event(&mut self, event: &Event, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError> {
        if self.is_whole() {
            return Ok(());
        }
        let Some(value) = parse_event(event)? else { return Ok(()) };
        match &value["error"] {
            Value::Null | Value::Bool(false) if event.name == "error" => Err(error_event(&value)),
            Value::Null | Value::Bool(false) => self.take(&value, sink),
            error => Err(failure::in_error_object(error)),
        }
    }

    fn document(&mut self, text: &str, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError> {
        let response =
            repair::parse::<Value>(text).map_err(|error| malformed(&error.to_string()))?;
        match (&response["error"], response["status"].as_str()) {
            (Value::Null | Value::Bool(false), None) => {
                return Err(malformed(&format!("not an answer but {response}")));
            }
            (Value::Null | Value::Bool(false), Some(_)) => {}
            (_, Some(_)) => return Err(failed(&response)),
            (error, None) => return Err(failure::in_error_object(error)),
        }
        self.start(&response, sink);
        for (index, item) in response["output"].as_array().into_iter().flatten().enumerate() {
            self.finish(index as u64, item, sink);
        }
        self.conclude(&response, sink)
    }

    fn is_whole(&self) -> bool {
        self.end.is_some()
    }

    fn end(&mut self, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError> {
        let Some((reason, raw)) = self.end.take() else {
            let words = "OpenAI Responses stream ended before a terminal response event";
            return Err(ProviderError::temporary(words));
        };
        sink(Piece::Ended { reason, raw });
        Ok(())
    }
}

/// The texts of a summary or of a message. A refusal is the text of a message, too.
fn texts(parts: &Value, separator: &str) -> String {
    let parts = parts.as_array().into_iter().flatten();
    let texts = parts.filter_map(|part| part["text"].as_str().or(part["refusal"].as_str()));
    texts.collect::<Vec<_>>().join(separator)
}

fn usage_of(usage: &Value) -> Usage {
    let count = |value: &Value| value.as_u64().unwrap_or_default();
    let details = &usage["input_tokens_details"];
    let (cache_read, cache_write) =
        (count(&details["cached_tokens"]), count(&details["cache_write_tokens"]));
    let input = count(&usage["input_tokens"]);
    Usage {
        input: input.saturating_sub(cache_read).saturating_sub(cache_write),
        output: count(&usage["output_tokens"]),
        cache_read,
        cache_write,
        reasoning: Some(count(&usage["output_tokens_details"]["reasoning_tokens"])),
        total_tokens: count(&usage["total_tokens"]),
        ..Usage::default()
    }
}

/// The error of a response that failed.
fn failed(response: &Value) -> ProviderError {
    let error = &response["error"];
    let words = |field: &str| error[field].as_str().filter(|words| !words.is_empty());
    let message = match response["incomplete_details"]["reason"].as_str() {
        _ if error.is_object() => {
            let code = words("code").unwrap_or("unknown");
            format!("{code}: {}", words("message").unwrap_or("no message"))
        }
        Some(reason) => format!("incomplete: {reason}"),
        None => "Unknown error (no error details in response)".to_owned(),
    };
    failure::in_stream(&message)
}

/// The error of an event that tells nothing else.
fn error_event(event: &Value) -> ProviderError {
    let words = |field: &str| event[field].as_str().filter(|words| !words.is_empty());
    match (words("code"), words("message")) {
        (Some(code), Some(message)) => failure::in_stream(&format!("Error Code {code}: {message}")),
        _ => failure::in_error_object(event),
    }
}
