//! What an agent is doing, in words for people.

use std::collections::VecDeque;

use model::{CheckResult, Event, MessageTiming};
use serde_json::Value;

use crate::text::{cut_chars, one_line, shorten};

/// Turns events into progress words. It remembers the open tool calls, so that the words for a
/// result can name the subject of its call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    open_calls: VecDeque<OpenCall>,
}

#[derive(Clone, Debug, PartialEq)]
struct OpenCall {
    id: String,
    subject: Option<String>,
    words: String,
}

impl Progress {
    /// More open calls than this are forgotten, oldest first.
    const OPEN_CALLS: usize = 64;
    const COMMAND_CHARS: usize = 120;

    /// The words for the tool call that was made last and has no result yet.
    pub fn open_call(&self) -> Option<&str> {
        self.open_calls.back().map(|call| call.words.as_str())
    }

    /// The words for an event, if it has any.
    pub fn words(&mut self, event: &Event) -> Option<String> {
        match event {
            Event::AssistantMessage { text, error, .. } => {
                let text = text.trim();
                if text.is_empty() {
                    error.as_ref().map(|error| format!("Provider error: {error}"))
                } else {
                    Some(text.to_owned())
                }
            }
            Event::ToolCall { id, tool, args } => {
                let subject = subject(tool, args);
                if self.open_calls.len() == Progress::OPEN_CALLS {
                    self.open_calls.pop_front();
                }
                let words = call_words(tool, subject.as_deref());
                self.open_calls.push_back(OpenCall {
                    id: id.clone(),
                    subject,
                    words: words.clone(),
                });
                Some(words)
            }
            Event::ToolResult { id, tool, is_error, .. } => {
                let position = self.open_calls.iter().position(|call| call.id == *id);
                let subject = position
                    .and_then(|position| self.open_calls.remove(position))
                    .and_then(|call| call.subject);
                Some(result_words(tool, subject.as_deref(), *is_error))
            }
            Event::PreparationStarted { .. } | Event::CheckStarted { .. } => {
                let words = plain_words(event)?;
                let (id, subject) = (COMMAND.to_owned(), None);
                self.open_calls.push_back(OpenCall { id, subject, words: words.clone() });
                Some(words)
            }
            Event::PreparationEnded { .. } | Event::CheckEnded { .. } => {
                self.open_calls.retain(|call| call.id != COMMAND);
                plain_words(event)
            }
            event => plain_words(event),
        }
    }
}

/// A command of ours among the calls of the agent, none of which has this id.
const COMMAND: &str = "";

/// So much of a message is shown when it is accepted. All of it is shown when the agent reads it.
const MESSAGE_CHARS: usize = 200;

/// The words for an event that is neither said nor done by the agent, if it has any.
pub(crate) fn plain_words(event: &Event) -> Option<String> {
    match event {
        Event::RetryScheduled { attempt, max_attempts, delay_ms, error } => {
            let seconds = *delay_ms as f64 / 1000.0;
            Some(format!(
                "Provider failed, attempt {attempt} of {max_attempts} in {seconds}s: {error}"
            ))
        }
        Event::ModelFallback { from, to, reason } => {
            Some(format!("{from} failed, continuing with {to}: {reason}"))
        }
        Event::MessageAccepted { number, text, timing } => {
            let when = match timing {
                MessageTiming::Steer => "",
                MessageTiming::After => ", for the end",
                MessageTiming::Interrupt => ", which interrupts",
            };
            let text = one_line(text);
            let text = shorten(&text, MESSAGE_CHARS);
            Some(format!("Message {number} accepted{when}: {text}"))
        }
        Event::MessageDelivered { number } => Some(format!("Message {number} delivered")),
        Event::MessageRefused { number, reason } => {
            Some(format!("Message {number} refused: {reason}"))
        }
        Event::QuestionAsked { number, question } => {
            Some(format!("Question {number}: {}", question.words()))
        }
        Event::QuestionAnswered { number, answer, text, by, client } => {
            let text =
                text.as_ref().map(|text| format!(": {}", shorten(&one_line(text), MESSAGE_CHARS)));
            let (answer, by) = (answer.word(), by.words(client.as_deref()));
            Some(format!("Question {number} answered {answer} {by}{}", text.unwrap_or_default()))
        }
        Event::Stderr { text } => Some(format!("[stderr]: {text}")),
        Event::UnreadableLine { text, .. } => {
            (!text.trim().is_empty()).then(|| text.trim_end().to_owned())
        }
        Event::MessageLost { bytes: 0, text } => Some(text.clone()),
        Event::MessageLost { bytes, .. } => {
            Some(format!("A message of {bytes} bytes could not be read"))
        }
        Event::TimeoutExtended => {
            Some("The time is up, but a tool was active: waiting for it".to_owned())
        }
        Event::AnswerChecked { problem: None } => Some("The answer fits its schema".to_owned()),
        Event::AnswerChecked { problem: Some(problem) } => {
            Some(format!("The answer does not fit its schema: {problem}"))
        }
        Event::Waiting { waiting } => Some(waiting.words()),
        Event::PreparationStarted { command } => Some(format!("Preparing: {}", one_line(command))),
        Event::PreparationEnded { succeeded: true, .. } => Some("Prepared".to_owned()),
        Event::PreparationEnded { problem, exit_code, signal, output, .. } => {
            Some(failure_words("Preparation", problem.as_ref(), *exit_code, *signal, output))
        }
        Event::CheckStarted { command } => Some(format!("Checking: {}", one_line(command))),
        Event::CheckEnded { passed: true, .. } => Some("Check passed".to_owned()),
        Event::CheckEnded { problem, exit_code, signal, output, .. } => {
            Some(failure_words("Check", problem.as_ref(), *exit_code, *signal, output))
        }
        Event::Stopping { cause, .. } => Some(cause.words().to_owned()),
        Event::LogFull { log } => Some(format!("{log} is full and takes no more")),
        Event::Warning { message } => Some(format!("Warning: {message}")),
        Event::RunEnded { error, .. } => error.as_ref().map(|error| format!("Error: {error}")),
        Event::RunStarted { .. }
        | Event::UserMessage { .. }
        | Event::AssistantMessage { .. }
        | Event::UsageReported { .. }
        | Event::ChangesKept { .. }
        | Event::ToolCall { .. }
        | Event::ToolResult { .. }
        | Event::Unknown => None,
    }
}

fn failure_words(
    what: &str,
    problem: Option<&String>,
    exit_code: Option<i32>,
    signal: Option<i32>,
    output: &str,
) -> String {
    let problem = problem.cloned();
    let result = CheckResult { problem, exit_code, signal, ..CheckResult::default() };
    let colon = if output.is_empty() { "" } else { ":\n" };
    format!("{what} failed ({}){colon}{output}", result.failure())
}

/// The words for a tool: its name, the arguments that can hold the subject of a call, and what is
/// said of a call, a success and a failure. The subject replaces `{}`.
type ToolWords = (&'static str, &'static [&'static str], [&'static str; 3]);

const PATH: &[&str] = &["path", "file_path", "filePath"];
const PATTERN: &[&str] = &["pattern"];

/// For other tools, and for calls without a subject, the words have the name of the tool.
const TOOLS: [ToolWords; 7] = [
    ("read", PATH, ["Reading {}", "Finished reading {}", "Read failed: {}"]),
    ("grep", PATTERN, ["Searching code for {}", "Search finished", "Search failed: {}"]),
    ("find", PATTERN, ["Scanning for {}", "Scan finished", "Scan failed: {}"]),
    ("ls", PATH, ["Listing {}", "Finished listing {}", "Listing failed: {}"]),
    ("edit", PATH, ["Editing {}", "Finished editing {}", "Edit failed: {}"]),
    ("write", PATH, ["Writing {}", "Finished writing {}", "Write failed: {}"]),
    ("bash", &["command"], ["{}", "Command finished: {}", "Command failed: {}"]),
];

fn words_for(tool: &str) -> Option<ToolWords> {
    TOOLS.into_iter().find(|(name, ..)| *name == tool)
}

fn subject(tool: &str, args: &Value) -> Option<String> {
    let (_, names, _) = words_for(tool)?;
    let text = names.iter().find_map(|name| args.get(name)?.as_str())?;
    let trimmed = text.trim();
    if trimmed.is_empty() || tool != "bash" {
        return (!trimmed.is_empty()).then(|| text.to_owned());
    }
    let first_line = trimmed.lines().next().unwrap_or_default();
    let shortened = cut_chars(first_line, Progress::COMMAND_CHARS);
    let dots = if shortened.len() == trimmed.len() { "" } else { "..." };
    Some(format!("{shortened}{dots}"))
}

fn call_words(tool: &str, subject: Option<&str>) -> String {
    match words_for(tool).zip(subject) {
        Some(((.., [call, ..]), subject)) => call.replace("{}", subject),
        None => format!("Running {tool}"),
    }
}

fn result_words(tool: &str, subject: Option<&str>, is_error: bool) -> String {
    match words_for(tool).zip(subject) {
        Some(((.., [_, _, failure]), subject)) if is_error => failure.replace("{}", subject),
        Some(((.., [_, success, _]), subject)) => success.replace("{}", subject),
        None => format!("{tool} {}", if is_error { "failed" } else { "finished" }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_tool_has_words_for_its_call_its_success_and_its_failure() {
        let long = "x".repeat(130);
        for (tool, args, call, success, failure) in [
            (
                "read",
                json!({"path": "src/auth.ts"}),
                "Reading src/auth.ts",
                "Finished reading src/auth.ts",
                "Read failed: src/auth.ts",
            ),
            (
                "read",
                json!({"file_path": "a"}),
                "Reading a",
                "Finished reading a",
                "Read failed: a",
            ),
            (
                "grep",
                json!({"pattern": "auth"}),
                "Searching code for auth",
                "Search finished",
                "Search failed: auth",
            ),
            (
                "find",
                json!({"pattern": "*.test.ts"}),
                "Scanning for *.test.ts",
                "Scan finished",
                "Scan failed: *.test.ts",
            ),
            (
                "ls",
                json!({"path": "src/"}),
                "Listing src/",
                "Finished listing src/",
                "Listing failed: src/",
            ),
            (
                "edit",
                json!({"path": "src/tool.ts"}),
                "Editing src/tool.ts",
                "Finished editing src/tool.ts",
                "Edit failed: src/tool.ts",
            ),
            (
                "write",
                json!({"path": "README.md"}),
                "Writing README.md",
                "Finished writing README.md",
                "Write failed: README.md",
            ),
            (
                "bash",
                json!({"command": "npm test"}),
                "npm test",
                "Command finished: npm test",
                "Command failed: npm test",
            ),
            (
                "bash",
                json!({"command": "one\ntwo"}),
                "one...",
                "Command finished: one...",
                "Command failed: one...",
            ),
            ("deploy", json!({"path": "x"}), "Running deploy", "deploy finished", "deploy failed"),
            ("read", json!({}), "Running read", "read finished", "read failed"),
            ("grep", json!(null), "Running grep", "grep finished", "grep failed"),
            (
                "bash",
                json!({"command": long}),
                &format!("{}...", "x".repeat(120)),
                &format!("Command finished: {}...", "x".repeat(120)),
                &format!("Command failed: {}...", "x".repeat(120)),
            ),
        ] {
            for (is_error, expected) in [(false, success), (true, failure)] {
                let mut progress = Progress::default();
                let event =
                    Event::ToolCall { id: "1".into(), tool: tool.into(), args: args.clone() };
                assert_eq!(progress.words(&event).as_deref(), Some(call));
                assert_eq!(progress.words(&result("1", tool, is_error)).as_deref(), Some(expected));
                assert!(progress.open_calls.is_empty());
            }
        }
    }

    #[test]
    fn results_find_their_call_by_its_id() {
        let mut progress = Progress::default();
        for (id, path) in [("1", "a"), ("2", "b")] {
            let args = json!({"path": path});
            progress.words(&Event::ToolCall { id: id.into(), tool: "read".into(), args });
        }
        assert_eq!(
            progress.words(&result("2", "read", false)).as_deref(),
            Some("Finished reading b")
        );
        assert_eq!(progress.words(&result("1", "read", true)).as_deref(), Some("Read failed: a"));
        assert_eq!(progress.words(&result("1", "read", true)).as_deref(), Some("read failed"));
    }

    #[test]
    fn blank_text_says_nothing() {
        let blank = Event::AssistantMessage {
            text: " \n".into(),
            model: None,
            stop_reason: None,
            error: None,
            usage: model::Usage::default(),
        };
        assert_eq!(Progress::default().words(&blank), None);
    }

    #[test]
    fn calls_that_never_end_do_not_pile_up() {
        let mut progress = Progress::default();
        for id in 0..10_000 {
            let args = json!({"path": "a"});
            progress.words(&Event::ToolCall { id: id.to_string(), tool: "read".into(), args });
        }
        assert_eq!(progress.open_calls.len(), Progress::OPEN_CALLS);
    }

    fn result(id: &str, tool: &str, is_error: bool) -> Event {
        Event::ToolResult {
            id: id.into(),
            tool: tool.into(),
            is_error,
            text: String::new(),
            limit_reached: false,
        }
    }
}
