//! pi's JSON mode.
//!
//! Most of a stream are deltas, which later records repeat in full. They are recognised by their
//! first bytes and never parsed; of the other records only those that carry something are.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem;
use model::{Activity, Cost, Event, Outcome, StopReason, Usage, Verdict};
use process::{Keep, Line};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json::{self, Content, count, number, stop_reason};
use crate::{LastWord, Reading};

/// How every record of pi begins. Others are understood too, only not as fast.
const PREFIX: &[u8] = b"{\"type\":\"";
/// How the smallest pieces of a message begin.
const DELTA: &[u8] = b"{\"type\":\"message_update\"";
/// How a finished message begins.
const MESSAGE_END: &[u8] = b"{\"type\":\"message_end\",\"message\":{\"role\":\"";

/// Reads one line.
pub(crate) fn read(line: Line<'_>) -> Reading {
    // Nearly all lines are of this kind.
    if line.head().starts_with(DELTA) {
        return read_kind(b"message_update", line);
    }
    let Some(kind) = kind_at_start(line.head()) else {
        return read_unusual(line);
    };
    read_kind(kind, line)
}

/// Whether a long line must be kept whole, judged by its beginning.
pub(crate) fn keep(head: &[u8]) -> Keep {
    let is_needed = match kind_at_start(head) {
        Some(
            b"tool_execution_start"
            | b"tool_execution_end"
            | b"auto_retry_start"
            | b"model_fallback",
        ) => true,
        Some(b"message_end") => role_at_start(head).is_none_or(is_kept_role),
        Some(_) => false,
        None => head.trim_ascii_start().starts_with(b"{"),
    };
    if is_needed { Keep::Whole } else { Keep::Ends }
}

fn read_kind(kind: &[u8], line: Line<'_>) -> Reading {
    match kind {
        b"message_update" => Reading {
            activity: delta_activity(line.head()),
            last_word: LastWord::NotYet,
            is_delta: true,
            ..Reading::default()
        },
        b"tool_execution_update" => Reading {
            activity: Some(Activity::Tool),
            is_tool_activity: true,
            last_word: LastWord::NotYet,
            is_delta: true,
            ..Reading::default()
        },
        b"message_end" if role_at_start(line.head()).is_none_or(is_kept_role) => {
            parse(line, message_end)
        }
        b"tool_execution_start" => parse(line, tool_call),
        b"tool_execution_end" => parse(line, tool_result),
        b"auto_retry_start" => parse(line, retry),
        b"model_fallback" => parse(line, fallback),
        b"agent_end" => agent_end(line),
        b"agent_settled" => agent_settled(line),
        b"agent_start" | b"turn_start" | b"message_start" | b"compaction_start" => Reading {
            activity: Some(Activity::Waiting),
            last_word: LastWord::NotYet,
            ..Reading::default()
        },
        // Records of other kinds, known or not, say nothing that is needed.
        _ => Reading::default(),
    }
}

fn kind_at_start(line: &[u8]) -> Option<&[u8]> {
    word(line.strip_prefix(PREFIX)?)
}

fn role_at_start(line: &[u8]) -> Option<&[u8]> {
    word(line.strip_prefix(MESSAGE_END)?)
}

/// The bytes up to the closing quote, if they are a plain word.
fn word(text: &[u8]) -> Option<&[u8]> {
    let end = text.iter().position(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'))?;
    (text[end] == b'"').then(|| &text[..end])
}

fn is_kept_role(role: &[u8]) -> bool {
    matches!(role, b"assistant" | b"user")
}

/// A line that does not begin as pi's records do: an unusual record, or no record at all.
fn read_unusual(line: Line<'_>) -> Reading {
    #[derive(Deserialize)]
    struct Typed<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
    }
    match line {
        Line::Whole(bytes) if bytes.trim_ascii().is_empty() => Reading::default(),
        // serde would take an array for the fields of a struct, too.
        Line::Whole(bytes) if bytes.trim_ascii_start().starts_with(b"{") => {
            match serde_json::from_slice::<Typed<'_>>(bytes) {
                Ok(typed) => read_kind(typed.kind.as_bytes(), line),
                Err(_) => unreadable(line),
            }
        }
        Line::Whole(_) | Line::Cut { .. } => unreadable(line),
    }
}

fn unreadable(line: Line<'_>) -> Reading {
    Reading::unreadable(line, may_be_message(line.head()))
}

fn parse<Record: DeserializeOwned>(
    line: Line<'_>,
    read: impl FnOnce(Record) -> Reading,
) -> Reading {
    let Line::Whole(bytes) = line else {
        return unreadable(line);
    };
    json::parse(bytes).map_or_else(|| unreadable(line), read)
}

/// Whether a record that cannot be read may have been a message of the model. Nothing may look like
/// success when the last one was lost.
fn may_be_message(head: &[u8]) -> bool {
    match role_at_start(head) {
        Some(role) => role == b"assistant",
        None => {
            memmem::find(head, b"\"message_end\"").is_some()
                && memmem::find(head, b"\"user\"").is_none()
                && memmem::find(head, b"\"toolResult\"").is_none()
        }
    }
}

/// What a delta is a delta of. The word stands behind a few numbers about usage.
fn delta_activity(line: &[u8]) -> Option<Activity> {
    // The end of `"assistantMessageEvent":{"type":"`: short keys are found faster.
    const KEY: &[u8] = b"Event\":{\"type\":\"";
    // Building a searcher costs more than searching one delta.
    static FINDER: LazyLock<memmem::Finder<'_>> = LazyLock::new(|| memmem::Finder::new(KEY));
    let line = &line[..line.len().min(2048)];
    let start = FINDER.find(line)? + KEY.len();
    match word(&line[start..])? {
        kind if kind.starts_with(b"text") => Some(Activity::Writing),
        kind if kind.starts_with(b"thinking") => Some(Activity::Thinking),
        kind if kind.starts_with(b"toolcall") => Some(Activity::Calling),
        _ => None,
    }
}

/// The record repeats all messages of the run, so it can be very long; the one thing that is
/// needed stands at its end.
fn agent_end(line: Line<'_>) -> Reading {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct AgentEnd {
        #[serde(default)]
        will_retry: bool,
    }
    let (Line::Whole(end) | Line::Cut { tail: end, .. }) = line;
    let will_retry = if end.ends_with(b"\"willRetry\":true}") {
        true
    } else if end.ends_with(b"\"willRetry\":false}") || matches!(line, Line::Cut { .. }) {
        false
    } else {
        match serde_json::from_slice::<AgentEnd>(end) {
            Ok(record) => record.will_retry,
            Err(_) => return unreadable(line),
        }
    };
    if will_retry {
        Reading {
            activity: Some(Activity::Retrying),
            last_word: LastWord::NotYet,
            ..Reading::default()
        }
    } else {
        Reading { last_word: LastWord::AgentEnded, ..Reading::default() }
    }
}

/// The last word counts also where the rest of the record cannot be understood.
fn agent_settled(line: Line<'_>) -> Reading {
    /// Only later versions tell it, and the last message need not.
    #[derive(Default, Deserialize)]
    struct AgentSettled {
        aborted: Option<bool>,
    }
    let record = match line {
        Line::Whole(bytes) => serde_json::from_slice(bytes).unwrap_or_default(),
        Line::Cut { .. } => AgentSettled::default(),
    };
    // An agent that was interrupted can go on with another prompt, and then this is the one that counts.
    let verdict = record.aborted.map(|is_aborted| match is_aborted {
        true => Verdict {
            outcome: Outcome::Cancelled,
            error: Some("Sub-agent says that it was aborted".to_owned()),
        },
        false => Verdict { outcome: Outcome::Completed, error: None },
    });
    Reading {
        activity: Some(Activity::Done),
        last_word: LastWord::Said,
        verdict,
        ..Reading::default()
    }
}

#[derive(Deserialize)]
struct MessageEnd {
    message: Message,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    role: String,
    #[serde(default)]
    content: Content,
    model: Option<String>,
    #[serde(default)]
    usage: LenientUsage,
    stop_reason: Option<String>,
    error_message: Option<String>,
}

fn message_end(record: MessageEnd) -> Reading {
    let message = record.message;
    match message.role.as_str() {
        "assistant" => {
            let stop_reason = message.stop_reason.map(stop_reason);
            let last_word = match &stop_reason {
                Some(StopReason::ToolUse) => LastWord::NotYet,
                Some(StopReason::Other(_)) | None => LastWord::Unchanged,
                Some(_) => LastWord::MessageEnded,
            };
            let event = Event::AssistantMessage {
                text: message.content.0,
                model: message.model,
                stop_reason,
                error: message.error_message,
                usage: message.usage.0,
            };
            Reading { events: vec![event], last_word, ..Reading::default() }
        }
        "user" => {
            let event = Event::UserMessage { text: message.content.0 };
            Reading { events: vec![event], ..Reading::default() }
        }
        _ => Reading::default(),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolStart {
    tool_call_id: String,
    tool_name: String,
    #[serde(default)]
    args: Value,
}

fn tool_call(record: ToolStart) -> Reading {
    let args = json::readable_arguments(record.args);
    let event = Event::ToolCall { id: record.tool_call_id, tool: record.tool_name, args };
    Reading {
        events: vec![event],
        activity: Some(Activity::Tool),
        is_tool_activity: true,
        last_word: LastWord::NotYet,
        ..Reading::default()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolEnd {
    tool_call_id: String,
    tool_name: String,
    #[serde(default)]
    result: ToolOutput,
    #[serde(default)]
    is_error: bool,
}

#[derive(Default, Deserialize)]
struct ToolOutput {
    #[serde(default)]
    content: Content,
    /// Whatever the tool likes.
    #[serde(default)]
    details: Value,
}

fn tool_result(record: ToolEnd) -> Reading {
    let limit_reached =
        ["entryLimitReached", "resultLimitReached"].iter().any(|key| {
            match record.result.details.get(key) {
                None | Some(Value::Null | Value::Bool(false)) => false,
                Some(limit) => limit.as_f64() != Some(0.0),
            }
        });
    let event = Event::ToolResult {
        id: record.tool_call_id,
        tool: record.tool_name,
        is_error: record.is_error,
        text: record.result.content.0,
        limit_reached,
    };
    Reading {
        events: vec![event],
        activity: Some(Activity::Waiting),
        is_tool_activity: true,
        last_word: LastWord::NotYet,
        ..Reading::default()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Retry {
    attempt: u64,
    max_attempts: u64,
    delay_ms: u64,
    error_message: String,
}

fn retry(record: Retry) -> Reading {
    let event = Event::RetryScheduled {
        attempt: record.attempt,
        max_attempts: record.max_attempts,
        delay_ms: record.delay_ms,
        error: record.error_message,
    };
    Reading {
        events: vec![event],
        activity: Some(Activity::Retrying),
        last_word: LastWord::NotYet,
        ..Reading::default()
    }
}

/// Only the built-in agent has this record.
#[derive(Deserialize)]
struct Fallback {
    from: String,
    to: String,
    reason: String,
}

fn fallback(record: Fallback) -> Reading {
    let Fallback { from, to, reason } = record;
    Reading {
        events: vec![Event::ModelFallback { from, to, reason }],
        activity: Some(Activity::Waiting),
        last_word: LastWord::NotYet,
        ..Reading::default()
    }
}

/// Usage as far as it can be understood: a message must not be lost over a strange number.
#[derive(Default)]
struct LenientUsage(Usage);

impl<'de> Deserialize<'de> for LenientUsage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LenientUsage, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let value: Value = serde_json::from_str(text.get()).unwrap_or_default();
        let tokens = |key: &str| count(&value, key);
        let cost = value.get("cost").filter(|cost| cost.is_object());
        Ok(LenientUsage(Usage {
            input: tokens("input"),
            output: tokens("output"),
            cache_read: tokens("cacheRead"),
            cache_write: tokens("cacheWrite"),
            total_tokens: tokens("totalTokens"),
            cost: cost.map(|cost| Cost {
                input: number(cost, "input"),
                output: number(cost, "output"),
                cache_read: number(cost, "cacheRead"),
                cache_write: number(cost, "cacheWrite"),
                total: number(cost, "total"),
            }),
        }))
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "recorded_tests.rs"]
mod recorded_tests;
