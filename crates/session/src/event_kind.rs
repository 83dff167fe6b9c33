//! What kinds of events there are. Each question is asked here once, of every event, so that a new event is no part of an
//! answer by accident, and no two views answer differently.

use model::{Event, WaitReason, Waiting};

/// Whether it is part of the conversation: what was said, called and asked. Transcripts are made of these.
pub(crate) fn is_in_transcript(event: &Event) -> bool {
    match event {
        Event::UserMessage { .. }
        | Event::AssistantMessage { .. }
        | Event::ToolCall { .. }
        | Event::ToolResult { .. }
        | Event::MessageAccepted { .. }
        | Event::MessageDelivered { .. }
        | Event::MessageRefused { .. }
        | Event::QuestionAsked { .. }
        | Event::QuestionAnswered { .. }
        | Event::ModelFallback { .. }
        // A run that is parked goes on later, with another agent.
        | Event::Waiting { waiting: Waiting { reason: WaitReason::Quota { .. }, .. } }
        | Event::AnswerChecked { .. }
        | Event::PreparationStarted { .. }
        | Event::PreparationEnded { .. }
        | Event::CheckStarted { .. }
        | Event::CheckEnded { .. } => true,
        Event::Waiting { .. }
        | Event::RunStarted { .. }
        | Event::UsageReported { .. }
        | Event::RetryScheduled { .. }
        | Event::Stderr { .. }
        | Event::UnreadableLine { .. }
        | Event::MessageLost { .. }
        | Event::TimeoutExtended
        | Event::Stopping { .. }
        | Event::LogFull { .. }
        | Event::Warning { .. }
        | Event::ChangesKept { .. }
        | Event::RunEnded { .. }
        | Event::Unknown => false,
    }
}

/// Whether it counts as a message of the conversation, where messages are counted.
pub fn is_message(event: &Event) -> bool {
    matches!(
        event,
        Event::UserMessage { .. } | Event::AssistantMessage { .. } | Event::ToolResult { .. }
    )
}

/// Whether something went wrong, so that views mark it.
pub(crate) fn is_problem(event: &Event) -> bool {
    match event {
        Event::RetryScheduled { .. }
        | Event::ModelFallback { .. }
        | Event::MessageLost { .. }
        | Event::MessageRefused { .. }
        | Event::AnswerChecked { problem: Some(_) }
        | Event::PreparationEnded { succeeded: false, .. }
        | Event::CheckEnded { passed: false, .. }
        | Event::Stopping { .. }
        | Event::RunEnded { .. } => true,
        Event::Waiting { .. }
        | Event::PreparationStarted { .. }
        | Event::PreparationEnded { .. }
        | Event::RunStarted { .. }
        | Event::UserMessage { .. }
        | Event::MessageAccepted { .. }
        | Event::MessageDelivered { .. }
        | Event::QuestionAsked { .. }
        | Event::QuestionAnswered { .. }
        | Event::AssistantMessage { .. }
        | Event::UsageReported { .. }
        | Event::ToolCall { .. }
        | Event::ToolResult { .. }
        | Event::Stderr { .. }
        | Event::UnreadableLine { .. }
        | Event::TimeoutExtended
        | Event::AnswerChecked { .. }
        | Event::CheckStarted { .. }
        | Event::CheckEnded { .. }
        | Event::LogFull { .. }
        | Event::Warning { .. }
        | Event::ChangesKept { .. }
        | Event::Unknown => false,
    }
}
