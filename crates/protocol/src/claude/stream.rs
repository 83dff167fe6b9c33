//! What Claude Code prints.
//!
//! One message of the model comes as several records, one for each of its blocks, between the partial
//! records of the same message. Why the model stopped and what it used stands only in a partial
//! record, so a message is put together from both, and told when it has ended. What all messages used
//! and what they cost stands in the last record.

use memchr::memmem;
use model::{Activity, Answer, Cost, Event, Outcome, StopReason, Usage, Verdict};
use process::{Keep, Line};
use serde_json::{Value, json};

use super::questions::{self, Asking, Requests};
use super::tools;
use crate::conversation::Told;
use crate::json::{self, Content, count, number, stop_reason, take_in};
use crate::open_calls::OpenCalls;
use crate::{LastWord, Reading};

/// How the smallest pieces of a message begin, and most lines.
const DELTA: &[u8] = b"{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\"";
/// The model of a message that Claude Code has written itself, because the provider failed.
const NO_MODEL: &str = "<synthetic>";

/// A message that grows beyond this is told in parts.
const MESSAGE_BYTES: usize = 4 * 1024 * 1024;
const MESSAGE_CALLS: usize = 64;

/// Whether a long line must be kept whole, judged by its beginning.
pub(crate) fn keep(head: &[u8]) -> Keep {
    let is_record = head.trim_ascii_start().starts_with(b"{") && !head.starts_with(DELTA);
    if is_record { Keep::Whole } else { Keep::Ends }
}

/// Reads what one Claude Code prints.
#[derive(Debug, Default)]
pub struct ClaudeReader {
    message: Message,
    calls: OpenCalls,
    /// The sum of what the messages have told.
    told: Usage,
    told_cost: f64,
    /// Whether the last answer was read, and the last record need not repeat it.
    has_answer: bool,
    user: Told,
    /// What it asks and is not answered yet.
    requests: Requests,
}

/// A line that tells the agent something. While it works, it reads the line before its next request.
pub(crate) fn user_message(text: &str) -> Vec<u8> {
    line_of(&json!({"type": "user", "message": {"role": "user", "content": text}}))
}

/// A line that stops what the agent is doing. Its result follows, and it waits for more.
pub(crate) fn interruption() -> Vec<u8> {
    let (kind, id) = ("control_request", "interruption");
    line_of(&json!({"type": kind, "request_id": id, "request": {"subtype": "interrupt"}}))
}

pub(super) fn line_of(record: &Value) -> Vec<u8> {
    let mut line = record.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// The message of the model that is being written.
#[derive(Debug, Default)]
struct Message {
    text: String,
    model: Option<String>,
    error: Option<String>,
    stop_reason: Option<StopReason>,
    usage: Usage,
    calls: Vec<Event>,
    /// Whether there is anything to tell.
    has_block: bool,
}

impl ClaudeReader {
    pub(crate) fn tell(&mut self, number: u64, text: &str) -> Vec<u8> {
        self.user.write(number, text);
        user_message(text)
    }

    pub(crate) fn read(&mut self, line: Line<'_>) -> Reading {
        if line.head().starts_with(DELTA) {
            return delta(line.head());
        }
        let record = match line {
            Line::Whole(bytes) if bytes.trim_ascii().is_empty() => return Reading::default(),
            Line::Whole(bytes) => json::parse::<Value>(bytes),
            Line::Cut { .. } => None,
        };
        let Some((kind, mut record)) = record.and_then(typed) else {
            return self.unreadable(line);
        };
        let is_nested = !record["parent_tool_use_id"].is_null();
        match kind.as_str() {
            "stream_event" if is_nested => Reading { is_delta: true, ..busy(None) },
            "stream_event" => self.partial(&record["event"]),
            "assistant" => self.assistant(record, is_nested),
            "user" => self.user(take_in(&mut record, "message"), is_nested),
            "system" => self.system(&record),
            "result" => self.result(&record),
            "control_request" => self.ask(record),
            "control_cancel_request" => {
                let withdrawn = questions::cancel(&mut self.requests, &record["request_id"]);
                Reading { withdrawn, ..Reading::default() }
            }
            // Records of other kinds, known or not, say nothing that is needed.
            _ => Reading::default(),
        }
    }

    /// The agent asks whether it may use a tool.
    fn ask(&mut self, record: Value) -> Reading {
        match questions::ask(&mut self.requests, record) {
            Asking::Question(asked) => {
                // The message that calls the tool is told before the question.
                let events = self.end_message();
                let is_tool_activity = has_calls(&events);
                Reading { questions: vec![*asked], is_tool_activity, events, ..busy(None) }
            }
            Asking::Reply(reply) => Reading { reply, ..busy(None) },
            Asking::Nothing => Reading::default(),
        }
    }

    pub(crate) fn answer(&mut self, number: u64, answer: &Answer) -> Reading {
        let reply = questions::answer(&mut self.requests, number, answer);
        Reading { reply, ..Reading::default() }
    }

    /// What was read, but not told yet, when the output has ended.
    pub(crate) fn finish(&mut self) -> Reading {
        Reading { events: self.end_message(), ..Reading::default() }
    }

    fn unreadable(&mut self, line: Line<'_>) -> Reading {
        // An answer that was lost can still be in the last record.
        let is_message = memmem::find(line.head(), b"\"type\":\"assistant\"").is_some();
        self.has_answer &= !is_message;
        let mut reading = Reading::unreadable(line, is_message);
        if is_message {
            let mut events = self.end_message();
            events.append(&mut reading.events);
            reading.events = events;
        }
        reading
    }

    /// A piece of a message. All but the smallest say something that no other record does.
    fn partial(&mut self, event: &Value) -> Reading {
        let usage = |value: &Value| Usage {
            input: count(value, "input_tokens"),
            output: count(value, "output_tokens"),
            cache_read: count(value, "cache_read_input_tokens"),
            cache_write: count(value, "cache_creation_input_tokens"),
            ..Usage::default()
        };
        let mut reading = Reading { is_delta: true, ..busy(None) };
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => {
                reading.events = self.end_message();
                reading.deliveries = self.user.answer();
                // The number of tokens that were written is not known yet.
                self.message.usage = Usage { output: 0, ..usage(&event["message"]["usage"]) };
                reading.activity = Some(Activity::Waiting);
            }
            "content_block_start" => {
                reading.activity = match event["content_block"]["type"].as_str() {
                    Some("text") => Some(Activity::Writing),
                    Some("thinking" | "redacted_thinking") => Some(Activity::Thinking),
                    Some("tool_use" | "server_tool_use" | "mcp_tool_use") => {
                        Some(Activity::Calling)
                    }
                    _ => None,
                };
            }
            "message_delta" => {
                let word = event["delta"]["stop_reason"].as_str();
                self.message.stop_reason = word.map(|word| stop_reason(word.to_owned()));
                let told = usage(&event["usage"]);
                let message = &mut self.message.usage;
                message.input = message.input.max(told.input);
                message.output = told.output;
                message.cache_read = message.cache_read.max(told.cache_read);
                message.cache_write = message.cache_write.max(told.cache_write);
            }
            "message_stop" => reading.events = self.end_message(),
            _ => {}
        }
        reading.is_tool_activity = has_calls(&reading.events);
        // Events are told, so the line is kept.
        reading.is_delta = reading.events.is_empty();
        reading
    }

    fn assistant(&mut self, mut record: Value, is_nested: bool) -> Reading {
        let is_error = record["is_api_error_message"] == true
            || record["message"]["model"].as_str() == Some(NO_MODEL);
        let mut message = take_in(&mut record, "message");
        let deliveries = if is_nested { Vec::new() } else { self.user.answer() };
        let mut text = String::new();
        let mut calls = Vec::new();
        let blocks = match take_in(&mut message, "content") {
            Value::Array(blocks) => blocks,
            Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
            _ => Vec::new(),
        };
        for mut block in blocks {
            match block["type"].as_str() {
                Some("text") => add_line(&mut text, block["text"].as_str().unwrap_or_default()),
                Some("tool_use" | "server_tool_use" | "mcp_tool_use") => {
                    let id = block["id"].as_str().unwrap_or_default().to_owned();
                    let name = block["name"].as_str().unwrap_or_default().to_owned();
                    let (tool, args) = tools::call(&name, take_in(&mut block, "input"));
                    self.calls.open(&id, &tool);
                    let args = json::readable_arguments(args);
                    calls.push(Event::ToolCall { id, tool, args });
                }
                _ => {}
            }
        }
        if is_nested {
            // What a helper of the agent says is for the agent, not for the user; what it does is work.
            if calls.is_empty() {
                return busy(None);
            }
            let mut events = self.end_message();
            events.append(&mut calls);
            return Reading { events, is_tool_activity: true, ..busy(Some(Activity::Tool)) };
        }
        let activity = (!calls.is_empty()).then_some(Activity::Tool);
        if is_error {
            // What came before belongs to another message.
            let mut events = self.end_message();
            self.message.error = Some(text).filter(|text| !text.is_empty());
            self.message.stop_reason = Some(StopReason::Error);
            self.message.has_block = true;
            events.extend(self.end_message());
            let is_tool_activity = has_calls(&events);
            return Reading { is_tool_activity, events, deliveries, ..busy(activity) };
        }
        let pending = &mut self.message;
        pending.has_block |= !text.is_empty() || !calls.is_empty();
        pending.calls.append(&mut calls);
        add_line(&mut pending.text, &text);
        pending.model = message["model"].as_str().map(str::to_owned);
        // A message without an end must not fill the memory.
        let is_full = pending.text.len() > MESSAGE_BYTES || pending.calls.len() > MESSAGE_CALLS;
        let events = if is_full { self.end_message() } else { Vec::new() };
        let is_tool_activity = has_calls(&events);
        Reading { is_tool_activity, events, deliveries, ..busy(activity) }
    }

    /// The results of tools, and what the agent is told.
    fn user(&mut self, mut message: Value, is_nested: bool) -> Reading {
        let mut told = Vec::new();
        match take_in(&mut message, "content") {
            Value::Array(blocks) => {
                for mut block in blocks {
                    if block["type"] != "tool_result" {
                        continue;
                    }
                    let id = block["tool_use_id"].as_str().unwrap_or_default().to_owned();
                    let text: Content =
                        serde_json::from_value(take_in(&mut block, "content")).unwrap_or_default();
                    let tool = self.calls.close(&id).unwrap_or_else(|| "tool".to_owned());
                    let is_error = block["is_error"] == true;
                    let limit_reached = false;
                    told.push(Event::ToolResult {
                        id,
                        tool,
                        is_error,
                        text: text.0,
                        limit_reached,
                    });
                }
            }
            Value::String(text) if !is_nested => {
                self.user.show(&text);
                told.push(Event::UserMessage { text });
            }
            _ => {}
        }
        // What a helper is told can come before the end of the message that has called it.
        if is_nested && told.is_empty() {
            return busy(None);
        }
        let mut events = self.end_message();
        events.append(&mut told);
        Reading { is_tool_activity: has_calls(&events), events, ..busy(Some(Activity::Waiting)) }
    }

    fn system(&mut self, record: &Value) -> Reading {
        match record["subtype"].as_str() {
            Some("api_retry") => {
                let mut events = self.end_message();
                let status = record["error_status"].as_u64().map(|status| status.to_string());
                let words = [status.as_deref(), record["error"].as_str()];
                events.push(Event::RetryScheduled {
                    attempt: count(record, "attempt"),
                    max_attempts: count(record, "max_retries"),
                    delay_ms: count(record, "retry_delay_ms"),
                    error: words.into_iter().flatten().collect::<Vec<_>>().join(" "),
                });
                Reading { events, ..busy(Some(Activity::Retrying)) }
            }
            Some("init" | "status") => {
                Reading { events: self.end_message(), ..busy(Some(Activity::Waiting)) }
            }
            // Among them is what the helpers of the agent do, also before the message that has called them ends.
            _ => Reading::default(),
        }
    }

    /// The last record. Its `subtype` can be `success` although the provider has refused.
    fn result(&mut self, record: &Value) -> Reading {
        let mut events = self.end_message();
        let text = record["result"].as_str().unwrap_or_default();
        let subtype = record["subtype"].as_str().unwrap_or_default();
        let is_error = record["is_error"] == true || subtype.starts_with("error");
        let structured = &record["structured_output"];
        if !is_error && !structured.is_null() {
            // An answer by a schema, which the model hands to a tool instead of saying it.
            self.has_answer = true;
            events.push(Event::AssistantMessage {
                text: structured.to_string(),
                model: None,
                stop_reason: None,
                error: None,
                usage: Usage::default(),
            });
        } else if !is_error && !self.has_answer && !text.trim().is_empty() {
            self.has_answer = true;
            let word = record["stop_reason"].as_str();
            events.push(Event::AssistantMessage {
                text: text.to_owned(),
                model: None,
                stop_reason: word.map(|word| stop_reason(word.to_owned())),
                error: None,
                usage: Usage::default(),
            });
        }
        events.extend(self.rest_of_usage(record));
        events.extend(denials(record));
        let verdict = if is_error { failure(record, subtype, text) } else { success() };
        Reading {
            events,
            activity: Some(Activity::Done),
            // It waits for more.
            last_word: LastWord::Idle { is_settled: false },
            verdict: Some(verdict),
            withdrawn: self.requests.withdraw(|_| true),
            ..Reading::default()
        }
    }

    /// What was used and not told yet: all numbers of the record are sums over the whole run.
    fn rest_of_usage(&mut self, record: &Value) -> Option<Event> {
        let models = record["modelUsage"].as_object();
        let mut sum = Usage::default();
        for usage in models.into_iter().flat_map(serde_json::Map::values) {
            sum += Usage {
                input: count(usage, "inputTokens"),
                output: count(usage, "outputTokens"),
                cache_read: count(usage, "cacheReadInputTokens"),
                cache_write: count(usage, "cacheCreationInputTokens"),
                ..Usage::default()
            };
        }
        let rest = Usage {
            input: sum.input.saturating_sub(self.told.input),
            output: sum.output.saturating_sub(self.told.output),
            cache_read: sum.cache_read.saturating_sub(self.told.cache_read),
            cache_write: sum.cache_write.saturating_sub(self.told.cache_write),
            ..Usage::default()
        };
        let mut rest = with_total(rest);
        if record["total_cost_usd"].is_number() {
            let total = (number(record, "total_cost_usd") - self.told_cost).max(0.0);
            self.told_cost += total;
            rest.cost = Some(Cost { total, ..Cost::default() });
        }
        self.told += Usage { cost: None, ..rest };
        (rest != Usage::default()).then_some(Event::UsageReported { usage: rest })
    }

    /// Tells the message that has been written, if there is one.
    fn end_message(&mut self) -> Vec<Event> {
        let message = std::mem::take(&mut self.message);
        if !message.has_block {
            return Vec::new();
        }
        let is_final = message.stop_reason.is_some() && message.error.is_none();
        // Without the end of a message, its numbers are not final: the last record has the sum.
        let usage = if is_final { with_total(message.usage) } else { Usage::default() };
        self.told += usage;
        if message.error.is_none() && !message.text.trim().is_empty() {
            self.has_answer = true;
        }
        let event = Event::AssistantMessage {
            text: message.text,
            model: message.model,
            stop_reason: message.stop_reason,
            error: message.error,
            usage,
        };
        [event].into_iter().chain(message.calls).collect()
    }
}

fn typed(record: Value) -> Option<(String, Value)> {
    let kind = record.get("type")?.as_str()?.to_owned();
    Some((kind, record))
}

fn busy(activity: Option<Activity>) -> Reading {
    Reading { activity, last_word: LastWord::NotYet, ..Reading::default() }
}

/// What a delta is a delta of. The word stands behind the number of the block.
fn delta(head: &[u8]) -> Reading {
    const KEY: &[u8] = b"\"delta\":{\"type\":\"";
    let head = &head[..head.len().min(256)];
    let word = memmem::find(head, KEY).map(|start| &head[start + KEY.len()..]);
    let activity = match word {
        Some(word) if word.starts_with(b"text_delta") => Some(Activity::Writing),
        Some(word) if word.starts_with(b"thinking_delta") => Some(Activity::Thinking),
        Some(word) if word.starts_with(b"input_json_delta") => Some(Activity::Calling),
        _ => None,
    };
    Reading { is_delta: true, ..busy(activity) }
}

fn has_calls(events: &[Event]) -> bool {
    events.iter().any(|event| matches!(event, Event::ToolCall { .. } | Event::ToolResult { .. }))
}

fn add_line(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push('\n');
    }
    text.push_str(more);
}

fn with_total(usage: Usage) -> Usage {
    let parts = [usage.input, usage.output, usage.cache_read, usage.cache_write];
    Usage { total_tokens: parts.into_iter().fold(0, u64::saturating_add), ..usage }
}

/// The tools that the agent was not permitted to use.
fn denials(record: &Value) -> Option<Event> {
    let denials = record["permission_denials"].as_array()?;
    let mut tools: Vec<&str> =
        denials.iter().filter_map(|denial| denial["tool_name"].as_str()).collect();
    tools.sort_unstable();
    tools.dedup();
    let message = format!("Claude Code did not permit the agent to use {}", tools.join(", "));
    (!tools.is_empty()).then_some(Event::Warning { message })
}

fn success() -> Verdict {
    Verdict { outcome: Outcome::Completed, error: None }
}

fn failure(record: &Value, subtype: &str, text: &str) -> Verdict {
    match subtype {
        "error_max_turns" => {
            let error = "Interrupted: Claude Code stopped at its own limit of turns".to_owned();
            return Verdict { outcome: Outcome::Interrupted, error: Some(error) };
        }
        "error_max_budget_usd" => {
            let spent = model::dollars(number(record, "total_cost_usd"));
            let error = format!(
                "Claude Code stopped at its budget (spent {spent}). Consider resuming with a larger one."
            );
            return Verdict { outcome: Outcome::Budget, error: Some(error) };
        }
        _ => {}
    }
    let errors = record["errors"].as_array();
    let errors: Vec<&str> = errors.into_iter().flatten().filter_map(Value::as_str).collect();
    let error = match (text.trim(), errors.join("; ")) {
        ("", errors) if errors.is_empty() => format!("Claude Code failed: {subtype}"),
        ("", errors) => errors,
        (text, _) => text.to_owned(),
    };
    Verdict { outcome: Outcome::ProviderError, error: Some(error) }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
