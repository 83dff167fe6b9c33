//! Estimates the number of tokens of a conversation.

use std::borrow::Borrow;

use crate::message::{Content, Message, StopReason, ToolDeclaration};

/// What providers count for an image of usual size.
const IMAGE: u64 = 1200;

/// About how many tokens the next request takes: the provider's count for its last answer, and an
/// estimate of the messages since.
pub(crate) fn in_use<M: Borrow<Message>>(
    system: &str,
    tools: &[ToolDeclaration],
    messages: &[M],
) -> u64 {
    let mut counted = None;
    let mut latest = 0;
    for (index, message) in messages.iter().map(Borrow::borrow).enumerate() {
        if let Message::Assistant(answer) = message
            // A newer message before it, such as a summary, was not counted.
            && answer.timestamp >= latest
            && !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted)
            && answer.usage.total_tokens > 0
        {
            counted = Some((answer.usage.total_tokens, index + 1));
        }
        latest = latest.max(message.timestamp());
    }
    let (tokens, since) = counted.unwrap_or_else(|| {
        let tools = tools.iter().map(|tool| {
            of_text(&tool.name) + of_text(&tool.description) + of_text(&tool.parameters.to_string())
        });
        (of_text(system) + tools.sum::<u64>(), 0)
    });
    let uncounted = messages[since..].iter().map(|message| of_message(message.borrow()));
    uncounted.fold(tokens, u64::saturating_add)
}

pub(crate) fn of_message(message: &Message) -> u64 {
    let content = match message {
        // The caller passes the system prompt separately.
        Message::System(_) => return 0,
        Message::CompactionSummary(summary) => return of_text(&summary.summary),
        Message::User(message) => &message.content,
        Message::Assistant(message) => &message.content,
        Message::ToolResult(message) => &message.content,
    };
    let tokens = content.iter().map(|part| match part {
        Content::Text { text, .. } => of_text(text),
        Content::Thinking { thinking, .. } => of_text(thinking),
        Content::ToolCall { name, arguments, .. } => {
            let arguments = serde_json::to_string(arguments).unwrap_or_default();
            of_text(name) + of_text(&arguments)
        }
        Content::Image { .. } => IMAGE,
    });
    tokens.sum()
}

/// Four bytes are about one token.
pub(crate) fn of_text(text: &str) -> u64 {
    u64::try_from(text.len().div_ceil(4)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::CompactionSummary;
    use crate::testing::{assistant, result, user};

    #[test]
    fn what_the_provider_counted_is_believed_and_the_rest_is_estimated() {
        let words = |tokens| "four".repeat(tokens);
        let entries = [user("1", &words(10)), assistant("2", "yes", 500), result("3", &words(40))];
        let mut messages: Vec<Message> =
            entries.iter().map(|entry| Message::clone(&entry.message)).collect();
        assert_eq!(in_use("", &[], &messages), 540);
        assert_eq!(in_use(&words(5), &[], &messages[..1]), 15, "nothing was counted yet");
        let summary = CompactionSummary { summary: words(7), tokens_before: 0, timestamp: 9 };
        messages[0] = Message::CompactionSummary(summary);
        assert_eq!(in_use("", &[], &messages), 7 + 1 + 40, "that count is of another time");
    }
}
