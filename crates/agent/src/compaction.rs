//! Decides how a conversation that is too long for the model is shortened.
//!
//! The model itself summarises the old messages; the recent ones are kept. Everything here is pure:
//! which messages are old, what the model is asked, and what its summary becomes.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::config::Compaction;
use crate::history::Entry;
use crate::message::{Content, Message, text_of};
use crate::provider::{Request, ThinkingLevel};
use crate::tokens;

/// A longer tool result is shortened in what the model is asked to summarise.
const MAX_TOOL_RESULT: usize = 2000;

/// A longer prompt of the user is shortened in front of the summary.
const MAX_TASK: usize = 40_000;

/// The policy for a model. A small context window would otherwise be full from the start.
pub(crate) fn within(policy: Compaction, context_window: u64) -> Compaction {
    let part = context_window / 4;
    Compaction {
        enabled: policy.enabled,
        reserve_tokens: policy.reserve_tokens.min(part),
        keep_recent_tokens: policy.keep_recent_tokens.min(part),
    }
}

/// The index of the first entry that is kept, so that about `keep_recent_tokens` are. A tool result
/// is never kept without its call.
pub(crate) fn first_kept(entries: &[Entry], keep_recent_tokens: u64) -> usize {
    let mut recent = 0;
    let mut first = 0;
    for (index, entry) in entries.iter().enumerate().rev() {
        recent += tokens::of_message(&entry.message);
        if recent > keep_recent_tokens {
            first = index + 1;
            break;
        }
    }
    while entries.get(first).is_some_and(|entry| matches!(*entry.message, Message::ToolResult(_))) {
        first += 1;
    }
    first
}

pub(crate) fn summary_request(
    entries: &[Entry],
    previous_summary: Option<&str>,
    policy: Compaction,
    context_window: u64,
) -> Request {
    let budget = context_window.saturating_sub(policy.reserve_tokens * 2).max(1000) * 3;
    let conversation = shortened(&in_words(entries), usize::try_from(budget).unwrap_or(usize::MAX));
    let mut prompt = format!("<conversation>\n{conversation}\n</conversation>\n\n");
    if let Some(previous_summary) = previous_summary {
        let _ = write!(prompt, "<previous-summary>\n{previous_summary}\n</previous-summary>\n\n");
        prompt.push_str(
            "The conversation above goes on from the previous summary. Write a new summary that \
             holds everything of the previous one that still matters, brought up to date.\n\n",
        );
    }
    prompt.push_str(INSTRUCTIONS);
    let message = Message::User(crate::message::UserMessage {
        content: vec![Content::text(prompt)],
        timestamp: crate::clock::now(),
    });
    Request {
        system: SYSTEM_PROMPT.to_owned(),
        tools: Vec::new(),
        messages: vec![Arc::new(message)],
        thinking: ThinkingLevel::Off,
        max_tokens: Some(policy.reserve_tokens.max(1000) * 4 / 5),
    }
}

/// The summary as it is in the conversation: after the task, which no summary may lose.
pub(crate) fn with_task(task: &str, summary: &str) -> String {
    let task = shortened(task.trim(), MAX_TASK);
    format!("The task, in the user's own words:\n\n{task}\n\n---\n\n{}", summary.trim())
}

fn in_words(entries: &[Entry]) -> String {
    let mut words = String::new();
    let mut say = |who: &str, what: &str| {
        if !what.trim().is_empty() {
            let _ = write!(words, "[{who}]: {what}\n\n");
        }
    };
    for entry in entries {
        match &*entry.message {
            // The previous summary has a section of its own.
            Message::System(_) | Message::CompactionSummary(_) => {}
            Message::User(message) => say("User", &text_of(&message.content)),
            Message::Assistant(message) => {
                say("Assistant", &message.text());
                for part in &message.content {
                    if let Content::ToolCall { name, arguments, .. } = part {
                        let arguments = serde_json::to_string(arguments).unwrap_or_default();
                        let call = format!("{name} {}", shortened(&arguments, MAX_TOOL_RESULT));
                        say("Assistant calls", &call);
                    }
                }
            }
            Message::ToolResult(message) => {
                let text = text_of(&message.content);
                say(
                    if message.is_error { "Tool error" } else { "Tool result" },
                    &shortened(&text, MAX_TOOL_RESULT),
                );
            }
        }
    }
    words.trim_end().to_owned()
}

/// The text, or its beginning and its end with a note of how much is missing.
fn shortened(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(max_bytes / 4);
    let tail = text.ceil_char_boundary(text.len() - (max_bytes - max_bytes / 4));
    format!("{}\n[… {} bytes left out …]\n{}", &text[..head], tail - head, &text[tail..])
}

const SYSTEM_PROMPT: &str = "\
You summarise conversations between a user and a coding agent, so that the agent can go on with \
its work from your summary alone. Do not continue the conversation, do not answer questions in \
it. Write only the summary.";

const INSTRUCTIONS: &str = "\
Write a summary of the conversation above from which another agent can go on with the work. Use \
exactly these headings, and leave none out; write \"(none)\" where there is nothing to say:

## Goal
## Constraints and preferences
## Done
## In progress
## Blocked
## Decisions, with their reasons
## Next steps
## What must be known to go on

Be brief, but keep the exact paths of files, names of functions, commands and words of errors.";

#[cfg(test)]
#[path = "compaction_tests.rs"]
mod tests;
