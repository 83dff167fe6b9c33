//! What the agent asks before it makes a call, and the answer.

use model::{Activity, Answer, Event, Question, StopReason};
use serde_json::{Value, json};

use super::super::calls::Asking;
use super::super::permission;
use super::{AcpReader, line_of};
use crate::Reading;
use crate::json::take_in;
use crate::question::Asked;

/// A call that waits for a permission.
#[derive(Debug)]
pub(super) struct Permission {
    pub(super) request: Value,
    options: Value,
    call: String,
}

impl AcpReader {
    /// The agent asks whether it may make a call.
    pub(super) fn permission(&mut self, id: &Value, mut params: Value) -> Reading {
        let Asking { events: mut told, id: call, kind, tool, text } =
            self.calls.ask(take_in(&mut params, "toolCall"));
        if self.assignment.ask && !self.turn.is_cancelled {
            let options = take_in(&mut params, "options");
            let permission = Permission { request: id.clone(), options, call };
            let asked = Asked {
                number: self.permissions.add(permission),
                question: Question::permission(&tool, &text),
                effect: permission::effect(&kind),
                patience: None,
            };
            let events = self.end_message(Some(StopReason::ToolUse));
            let reading = self.working(events, told, Activity::Tool);
            return Reading { questions: vec![asked], ..reading };
        }
        let access = self.assignment.access;
        let is_permitted = permission::is_permitted(access, &kind);
        if !is_permitted {
            let reason = format!("access \"{}\" does not permit it", access.word());
            let (result, tool) = self.calls.refuse(&call, &reason);
            told.extend(result);
            let message =
                format!("access \"{}\" did not permit the agent to use {tool}", access.word());
            told.push(Event::Warning { message });
        }
        let events = self.end_message(Some(StopReason::ToolUse));
        // An agent that was told to leave its work must not go on with it.
        let options = if self.turn.is_cancelled { &Value::Null } else { &params["options"] };
        let result = permission::answer(is_permitted, options);
        let reply = line_of(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
        Reading { reply, ..self.working(events, told, Activity::Tool) }
    }

    /// Answers the agent that asked for a permission.
    pub(crate) fn answer(&mut self, number: u64, answer: &Answer) -> Reading {
        let Some(Permission { request, options, call }) = self.permissions.take(number) else {
            return Reading::default();
        };
        if self.turn.is_cancelled {
            // It was answered when the turn was.
            return Reading::default();
        }
        // An option or a text permits nothing.
        let is_permitted = matches!(answer, Answer::Yes | Answer::Always);
        let mut events = Vec::new();
        if !is_permitted {
            let reason = match answer {
                Answer::No(Some(reason)) => reason.as_str(),
                _ => "the user did not permit it",
            };
            events.extend(self.calls.refuse(&call, reason).0);
        }
        let result = permission::answer(is_permitted, &options);
        let reply = line_of(&json!({"jsonrpc": "2.0", "id": request, "result": result}));
        Reading { reply, events, ..Reading::default() }
    }
}
