//! The conversation of a session as text: for people, and for an agent that continues it.

use std::collections::HashMap;

use model::{Event, Record, Status, clean};
use serde_json::Value;

use crate::event_kind::{is_in_transcript, is_message};
use crate::progress_words::plain_words;
use crate::text::cut_chars;

pub(crate) const ARGUMENT_CHARS: usize = 120;
pub(crate) const RESULT_CHARS: usize = 500;
const NOTHING: &str = "(no messages in session)";

/// The transcript of all runs of a session, each given with its status, its error and its events.
///
/// Texts are verbatim, arguments are cut at 120 and tool results at 500 characters. The header of
/// a run is left out when there is only one.
pub fn transcript<Records>(runs: Vec<(Status, Option<String>, Records)>) -> String
where
    Records: IntoIterator<Item = Record>,
{
    let runs = runs.into_iter();
    let without_prompt =
        |(status, error, records)| PastRun { status, error, prompt: None, records };
    transcript_with_prompts(runs.map(without_prompt).collect())
}

/// As [`transcript`], with the prompt before each run, where it is given.
pub fn transcript_with_prompts<Records>(runs: Vec<PastRun<Records>>) -> String
where
    Records: IntoIterator<Item = Record>,
{
    let count = runs.len();
    let mut parts = Vec::new();
    for (index, PastRun { status, error, prompt, records }) in runs.into_iter().enumerate() {
        let mut lines = Vec::new();
        if count > 1 {
            lines.push(format!("=== Run {}/{count} ({}) ===", index + 1, status.word()));
        }
        lines.extend(prompt.map(|prompt| format!("[prompt]: {}", prompt.trim_end())));
        lines.extend(conversation(records).iter().filter_map(entry));
        lines.extend(error.map(|error| format!("[Error: {error}]")));
        parts.push(lines.join("\n"));
    }
    finish(&parts.join("\n---\n"))
}

/// A run of a session that is shown or continued.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct PastRun<Records> {
    pub status: Status,
    pub error: Option<String>,
    /// The first message of a run that continued others repeats all of them. The prompt replaces
    /// it; otherwise transcripts would double with each run.
    pub prompt: Option<String>,
    pub records: Records,
}

/// What an agent is told about the earlier runs of its session, which do not include its own.
///
/// Cut as [`transcript`] is, but with the user's messages, and with a blank line between parts.
pub fn resume_transcript<Records>(runs: Vec<PastRun<Records>>) -> String
where
    Records: IntoIterator<Item = Record>,
{
    let mut parts = Vec::new();
    for (index, run) in runs.into_iter().enumerate() {
        let mut events = conversation(run.records);
        if let Some(prompt) = run.prompt {
            let first = events.iter_mut().find_map(|event| match event {
                Event::UserMessage { text } => Some(text),
                _ => None,
            });
            match first {
                Some(first) => *first = prompt,
                None => events.insert(0, Event::UserMessage { text: prompt }),
            }
        }
        let messages = events.iter().filter(|event| is_message(event));
        parts.push(format!(
            "--- Run {} ({}, {} messages) ---",
            index + 1,
            run.status.word(),
            messages.count()
        ));
        parts.extend(events.iter().filter_map(labelled_entry));
        parts.extend(run.error.map(|error| format!("[Error: {error}]")));
    }
    finish(&parts.join("\n\n"))
}

/// The prompt for an agent that continues what a transcript says.
pub fn continued(transcript: &str, prompt: &str) -> String {
    format!("Previously:\n\n{transcript}\n\nInstructions:\n\n{prompt}")
}

/// The messages, calls and results. Tools that run side by side finish in any order; their results
/// are put into the order of the calls.
fn conversation(records: impl IntoIterator<Item = Record>) -> Vec<Event> {
    let mut events = Vec::new();
    let mut calls: HashMap<String, usize> = HashMap::new();
    let mut answers: Vec<(usize, Event)> = Vec::new();
    for (position, record) in records.into_iter().enumerate() {
        match record.event {
            Event::ToolResult { ref id, .. } => {
                let call = calls.get(id).copied().unwrap_or(usize::MAX);
                answers.push((call, record.event));
                continue;
            }
            Event::ToolCall { ref id, .. } => {
                calls.insert(id.clone(), position);
            }
            ref event if is_in_transcript(event) => {}
            _ => continue,
        }
        events.extend(sorted(&mut answers));
        events.push(record.event);
    }
    events.extend(sorted(&mut answers));
    events
}

fn sorted(answers: &mut Vec<(usize, Event)>) -> impl Iterator<Item = Event> {
    answers.sort_by_key(|(call, _)| *call);
    answers.drain(..).map(|(_, event)| event)
}

fn entry(event: &Event) -> Option<String> {
    match event {
        Event::AssistantMessage { text, .. } if !text.is_empty() => Some(text.clone()),
        Event::ToolCall { tool, args, .. } => Some(format!("→ {tool}: {}", cut_arguments(args))),
        Event::ToolResult { text, .. } => Some(format!("[tool result]: {}", cut_result(text))),
        Event::MessageAccepted { number, text, .. } => {
            Some(format!("[message {number} accepted]: {text}"))
        }
        Event::MessageDelivered { number } => Some(format!("[message {number} delivered]")),
        Event::MessageRefused { number, reason } => {
            Some(format!("[message {number} refused]: {reason}"))
        }
        Event::ModelFallback { .. } | Event::Waiting { .. } => {
            plain_words(event).map(|words| format!("[model]: {words}"))
        }
        Event::PreparationStarted { .. } | Event::PreparationEnded { .. } => {
            plain_words(event).map(|words| format!("[preparation]: {words}"))
        }
        Event::AnswerChecked { .. } | Event::CheckStarted { .. } | Event::CheckEnded { .. } => {
            plain_words(event).map(|words| format!("[check]: {words}"))
        }
        Event::QuestionAsked { number, question } => {
            Some(format!("[question {number}]: {}", question.words()))
        }
        Event::QuestionAnswered { number, answer, text, by, client } => {
            let text = text.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
            let (answer, by) = (answer.word(), by.words(client.as_deref()));
            Some(format!("[question {number} answered {answer} {by}]{text}"))
        }
        _ => None,
    }
}

fn labelled_entry(event: &Event) -> Option<String> {
    match event {
        Event::UserMessage { text } if !text.is_empty() => Some(format!("User: {text}")),
        Event::AssistantMessage { text, .. } if !text.is_empty() => {
            Some(format!("Assistant: {text}"))
        }
        Event::ToolCall { tool, args, .. } => {
            Some(format!("Tool Call: {tool}({})", cut_arguments(args)))
        }
        Event::ToolResult { text, .. } if !text.is_empty() => {
            Some(format!("Tool Result: {}", cut_result(text)))
        }
        _ => None,
    }
}

fn cut_arguments(args: &Value) -> String {
    let mut json = args.to_string();
    json.truncate(cut_chars(&json, ARGUMENT_CHARS).len());
    json
}

fn cut_result(text: &str) -> String {
    let shortened = cut_chars(text, RESULT_CHARS);
    let dots = if shortened.len() < text.len() { "..." } else { "" };
    format!("{shortened}{dots}")
}

fn finish(transcript: &str) -> String {
    if transcript.is_empty() { NOTHING.to_owned() } else { clean(transcript).into_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn records(events: Vec<Event>) -> Vec<Record> {
        events.into_iter().map(|event| Record { seq: 1, at: 1, event }).collect()
    }

    fn said(text: &str) -> Event {
        Event::AssistantMessage {
            text: text.into(),
            model: None,
            stop_reason: None,
            error: None,
            usage: model::Usage::default(),
        }
    }

    #[test]
    fn one_run_has_no_header_and_long_parts_are_cut() {
        let events = vec![
            Event::RunStarted { pid: 1, agent: None },
            said("I look."),
            Event::ToolCall {
                id: "1".into(),
                tool: "read".into(),
                args: json!({"path": "p".repeat(200)}),
            },
            Event::ToolResult {
                id: "1".into(),
                tool: "read".into(),
                is_error: false,
                text: "r".repeat(501),
                limit_reached: false,
            },
            said(""),
            said("Done."),
        ];
        let expected = format!(
            "I look.\n→ read: {{\"path\":\"{}\n[tool result]: {}...\nDone.",
            "p".repeat(111),
            "r".repeat(500)
        );
        assert_eq!(transcript(vec![(Status::Completed, None, records(events))]), expected);
    }

    #[test]
    fn a_change_of_models_is_told() {
        let (from, to, reason) = ("a/b".into(), "c/d".into(), "overloaded".into());
        let events = vec![Event::ModelFallback { from, to, reason }, said("Done.")];
        let expected = "[model]: a/b failed, continuing with c/d: overloaded\nDone.";
        assert_eq!(transcript(vec![(Status::Completed, None, records(events))]), expected);
    }

    #[test]
    fn several_runs_are_labelled_and_errors_follow_their_run() {
        let runs = vec![
            (Status::Error, Some("Timed out".to_owned()), records(vec![said("a")])),
            (Status::Completed, None, records(vec![said("b")])),
        ];
        assert_eq!(
            transcript(runs),
            "=== Run 1/2 (error) ===\na\n[Error: Timed out]\n---\n=== Run 2/2 (completed) ===\nb"
        );
        assert_eq!(
            transcript(vec![(Status::Running, None, Vec::new())]),
            "(no messages in session)"
        );
    }

    fn call(id: &str, tool: &str, args: Value) -> Event {
        Event::ToolCall { id: id.into(), tool: tool.into(), args }
    }

    fn result(id: &str, text: &str) -> Event {
        Event::ToolResult {
            id: id.into(),
            tool: "read".into(),
            is_error: false,
            text: text.into(),
            limit_reached: false,
        }
    }

    #[test]
    fn answers_follow_in_the_order_of_their_calls() {
        let events = vec![
            call("1", "read", json!({"path": "a"})),
            call("2", "read", json!({"path": "b"})),
            result("2", "of b"),
            Event::Stderr { text: "noise".into() },
            result("lost", "of no call"),
            result("1", "of a"),
            said("Again."),
            // The ids of a new message may be those of an old one.
            call("2", "read", json!({"path": "c"})),
            call("1", "read", json!({"path": "d"})),
            result("1", "of d"),
            result("2", "of c"),
        ];
        assert_eq!(
            transcript(vec![(Status::Completed, None, records(events))]),
            "→ read: {\"path\":\"a\"}\n→ read: {\"path\":\"b\"}\n[tool result]: of a\n\
             [tool result]: of b\n[tool result]: of no call\nAgain.\n→ read: {\"path\":\"c\"}\n\
             → read: {\"path\":\"d\"}\n[tool result]: of c\n[tool result]: of d"
        );
    }

    fn past(error: Option<&str>, prompt: Option<&str>, events: Vec<Event>) -> PastRun<Vec<Record>> {
        PastRun {
            status: if error.is_some() { Status::Error } else { Status::Completed },
            error: error.map(str::to_owned),
            prompt: prompt.map(str::to_owned),
            records: records(events),
        }
    }

    #[test]
    fn one_earlier_run_is_told_with_its_header() {
        let events = vec![
            Event::RunStarted { pid: 1, agent: None },
            Event::UserMessage { text: "Do $& it.".into() },
            said("I look."),
            call("1", "read", json!({"path": "p".repeat(200)})),
            result("1", &"r".repeat(501)),
            said(""),
        ];
        assert_eq!(
            resume_transcript(vec![past(Some("Timed out"), None, events)]),
            format!(
                "--- Run 1 (error, 4 messages) ---\n\nUser: Do $& it.\n\nAssistant: I look.\n\n\
                 Tool Call: read({{\"path\":\"{})\n\nTool Result: {}...\n\n[Error: Timed out]",
                "p".repeat(111),
                "r".repeat(500)
            )
        );
        assert_eq!(
            resume_transcript(vec![past(None, None, Vec::new())]),
            "--- Run 1 (completed, 0 messages) ---"
        );
        assert_eq!(resume_transcript(Vec::<PastRun<Vec<Record>>>::new()), NOTHING);
    }

    #[test]
    fn several_earlier_runs_have_headers_with_the_number_of_their_messages() {
        let told = |text: &str| Event::UserMessage { text: text.into() };
        let first = vec![
            told("Go."),
            call("1", "ls", json!({})),
            result("1", "a"),
            said(""),
            said("Gone."),
        ];
        let second = vec![told("Previously: ... Go on."), said("Done.")];
        let runs = vec![
            past(Some("Interrupted"), None, first),
            past(None, Some("Go on."), second),
            past(None, Some("And?"), Vec::new()),
        ];
        assert_eq!(
            resume_transcript(runs),
            "--- Run 1 (error, 4 messages) ---\n\nUser: Go.\n\nTool Call: ls({})\n\n\
             Tool Result: a\n\nAssistant: Gone.\n\n[Error: Interrupted]\n\n\
             --- Run 2 (completed, 2 messages) ---\n\nUser: Go on.\n\nAssistant: Done.\n\n\
             --- Run 3 (completed, 1 messages) ---\n\nUser: And?"
        );
    }
}
