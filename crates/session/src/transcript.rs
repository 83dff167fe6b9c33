//! The whole conversation of a session, in words.

use model::{Event, Record, Status};

use crate::text::{clean, cut_chars};

/// The transcript of all runs of a session, each given with its status, its error and its events.
///
/// Texts are verbatim, arguments are cut at 120 and tool results at 500 characters. The header of
/// a run is left out when there is only one.
pub fn transcript<Records>(runs: Vec<(Status, Option<String>, Records)>) -> String
where
    Records: IntoIterator<Item = Record>,
{
    let count = runs.len();
    let mut parts = Vec::new();
    for (index, (status, error, records)) in runs.into_iter().enumerate() {
        let mut lines = Vec::new();
        if count > 1 {
            lines.push(format!("=== Run {}/{count} ({}) ===", index + 1, status.word()));
        }
        lines.extend(records.into_iter().filter_map(|record| entry(&record.event)));
        lines.extend(error.map(|error| format!("[Error: {error}]")));
        parts.push(lines.join("\n"));
    }
    let transcript = parts.join("\n---\n");
    if transcript.is_empty() {
        "(no messages in session)".to_owned()
    } else {
        clean(&transcript).into_owned()
    }
}

fn entry(event: &Event) -> Option<String> {
    match event {
        Event::AssistantMessage { text, .. } if !text.is_empty() => Some(text.clone()),
        Event::ToolCall { tool, args, .. } => {
            Some(format!("→ {tool}: {}", cut_chars(&args.to_string(), 120)))
        }
        Event::ToolResult { text, .. } => {
            let shortened = cut_chars(text, 500);
            let dots = if shortened.len() < text.len() { "..." } else { "" };
            Some(format!("[tool result]: {shortened}{dots}"))
        }
        _ => None,
    }
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
            Event::RunStarted { pid: 1 },
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
}
