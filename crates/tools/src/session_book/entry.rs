//! The log entry of a run: how it is written, and how it is read again.
//!
//! Messages have the form of pi's own, so that programs that read pi's messages can read these. Each
//! tool call is a message of its own, because others may stand between two of them.

use model::{Access, Event, Record, RunId, SessionId, Status, StopReason, Usage};
use serde_json::{Map, Value, json};
use session::Facts;

use super::{BookRun, StartedRun};

/// The error of a run without an end in the log.
pub(super) const INTERRUPTED: &str =
    "Session was interrupted (main agent session ended unexpectedly)";
/// An entry with more messages was written by another program.
const MOST_STORED_MESSAGES: usize = 1_000;

/// The object without the fields that are null.
pub(crate) fn without_absent(mut object: Value) -> Value {
    if let Value::Object(fields) = &mut object {
        fields.retain(|_, value| !value.is_null());
    }
    object
}

impl BookRun {
    pub(super) fn to_entry(&self) -> Value {
        let started = &self.started;
        without_absent(json!({
            "sessionId": started.session_id.as_str(),
            "runId": started.run_id.as_str(),
            "taskName": started.name,
            "prompt": started.prompt,
            "cwd": started.cwd.to_string_lossy(),
            "profileName": started.profile,
            "access": started.access.is_restricted().then(|| started.access.word()),
            "status": self.status.word(),
            "messages": self.messages.iter().filter_map(to_message).collect::<Vec<_>>(),
            "exitCode": self.exit_code(),
            "startedAt": started.started_at,
            "model": self.model(),
            "stopReason": self.facts.stop_reason,
            "errorMessage": self.facts.error,
        }))
    }

    /// Nothing if it is not an entry. `index` distinguishes entries without a run id, of which an earlier
    /// version wrote one for each run.
    pub(super) fn from_entry(entry: &Value, index: usize) -> Option<BookRun> {
        let fields = entry.as_object()?;
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let owned = |name: &str| text(name).map(str::to_owned);
        let session_id = SessionId::parse(text("sessionId")?).ok()?;
        let run_id = match fields.get("runId") {
            Some(run_id) => RunId::parse(run_id.as_str()?).ok()?,
            None => RunId::parse(&format!("{session_id}-{index}")).ok()?,
        };
        let status = status_of(text("status")?)?;
        let messages = messages_of(fields)?;
        let mut run = BookRun::new(StartedRun {
            run_id,
            session_id,
            name: owned("taskName")?,
            prompt: owned("prompt")?,
            cwd: text("cwd").unwrap_or_default().into(),
            profile: owned("profileName"),
            model: owned("model"),
            access: text("access").and_then(Access::parse).unwrap_or_default(),
            started_at: fields.get("startedAt").and_then(number).unwrap_or(0),
        });
        for event in messages.iter().flat_map(|message| events_of(message)) {
            run.apply(&Record { seq: 0, at: 0, event });
        }
        let exit_code = fields.get("exitCode").and_then(Value::as_i64);
        run.facts = Facts {
            model: owned("model"),
            stop_reason: owned("stopReason").map(StopReason::from),
            error: owned("errorMessage"),
            exit_code: exit_code.and_then(|code| i32::try_from(code).ok()),
            ..run.facts
        };
        run.status = status;
        if status == Status::Running {
            run.status = Status::Error;
            run.facts.error.get_or_insert_with(|| INTERRUPTED.to_owned());
            run.is_cut_off = true;
        }
        Some(run)
    }
}

fn status_of(word: &str) -> Option<Status> {
    [Status::Running, Status::Completed, Status::Error]
        .into_iter()
        .find(|status| status.word() == word)
}

/// The messages, if all of them can be one.
fn messages_of(fields: &Map<String, Value>) -> Option<Vec<&Map<String, Value>>> {
    let messages = fields.get("messages")?.as_array()?;
    if messages.len() > MOST_STORED_MESSAGES {
        return None;
    }
    let with_role = |message: &'_ Value| message.get("role").is_some_and(Value::is_string);
    messages.iter().map(|message| message.as_object().filter(|_| with_role(message))).collect()
}

/// Numbers from JavaScript can have a fraction.
fn number(value: &Value) -> Option<u64> {
    // A cast of a float to an integer saturates, so that every number is safe.
    value.as_u64().or_else(|| value.as_f64().map(|number| number as u64))
}

fn to_message(event: &Event) -> Option<Value> {
    let said = |text: &str| json!([{"type": "text", "text": text}]);
    match event {
        Event::UserMessage { text } => Some(json!({"role": "user", "content": said(text)})),
        Event::AssistantMessage { text, .. } => {
            Some(json!({"role": "assistant", "content": said(text)}))
        }
        Event::ToolCall { id, tool, args } => {
            let call = json!({"type": "toolCall", "id": id, "name": tool, "arguments": args});
            Some(json!({"role": "assistant", "content": [call]}))
        }
        Event::ToolResult { id, tool, is_error, text, .. } => Some(json!({
            "role": "toolResult",
            "toolCallId": id,
            "toolName": tool,
            "isError": is_error,
            "content": said(text),
        })),
        _ => None,
    }
}

/// The events of a message. A message of an unknown role has none.
fn events_of(message: &Map<String, Value>) -> Vec<Event> {
    let owned = |fields: &Map<String, Value>, name: &str| {
        fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let parts: &[Value] =
        message.get("content").and_then(Value::as_array).map_or(&[], Vec::as_slice);
    let parts_of = |kind: &'static str| {
        parts
            .iter()
            .filter_map(Value::as_object)
            .filter(move |part| part.get("type").and_then(Value::as_str) == Some(kind))
    };
    let texts: Vec<String> = match message.get("content") {
        Some(Value::String(text)) => vec![text.clone()],
        _ => parts_of("text").map(|part| owned(part, "text")).collect(),
    };
    let text = texts.join("\n");
    match message.get("role").and_then(Value::as_str) {
        Some("user") => vec![Event::UserMessage { text }],
        Some("toolResult") => vec![Event::ToolResult {
            id: owned(message, "toolCallId"),
            tool: owned(message, "toolName"),
            is_error: message.get("isError").and_then(Value::as_bool).unwrap_or(false),
            text,
            limit_reached: false,
        }],
        Some("assistant") => {
            let calls = parts_of("toolCall").map(|part| Event::ToolCall {
                id: owned(part, "id"),
                tool: owned(part, "name"),
                args: part.get("arguments").cloned().unwrap_or_default(),
            });
            let calls: Vec<Event> = calls.collect();
            let is_message = !texts.is_empty() || calls.is_empty();
            let message = is_message.then_some(Event::AssistantMessage {
                text,
                model: None,
                stop_reason: None,
                error: None,
                usage: Usage::default(),
            });
            message.into_iter().chain(calls).collect()
        }
        _ => Vec::new(),
    }
}
