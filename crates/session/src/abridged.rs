//! Events cut to what a transcript shows, for programs that keep many of them in memory.

use model::Event;
use serde_json::{Map, Value};

use crate::event_kind::is_in_transcript;
use crate::text::cut_chars;
use crate::transcript::{ARGUMENT_CHARS, RESULT_CHARS};

/// The event without what no transcript shows; `None` if it is not part of a conversation.
/// Transcripts of abridged events are the same, letter by letter.
pub fn abridged(event: &Event) -> Option<Event> {
    match event {
        Event::ToolCall { id, tool, args } => Some(Event::ToolCall {
            id: id.clone(),
            tool: tool.clone(),
            args: beginning(args, &mut { ARGUMENT_CHARS }),
        }),
        Event::ToolResult { id, tool, is_error, text, limit_reached } => Some(Event::ToolResult {
            id: id.clone(),
            tool: tool.clone(),
            is_error: *is_error,
            // One character more than is shown, so that the transcript still marks the cut.
            text: cut_chars(text, RESULT_CHARS + 1).to_owned(),
            limit_reached: *limit_reached,
        }),
        event => is_in_transcript(event).then(|| event.clone()),
    }
}

/// A value whose JSON begins with the same `left` characters. No part is counted longer than it is
/// written, so that nothing is cut too early.
fn beginning(value: &Value, left: &mut usize) -> Value {
    match value {
        Value::String(text) => Value::String(cut_text(text, left)),
        Value::Array(values) => {
            let mut kept = Vec::new();
            for value in values {
                if *left == 0 {
                    break;
                }
                kept.push(beginning(value, left));
                *left = left.saturating_sub(1);
            }
            Value::Array(kept)
        }
        Value::Object(fields) => {
            let mut kept = Map::new();
            for (key, value) in fields {
                if *left == 0 {
                    break;
                }
                // Two long keys must not become one.
                *left = left.saturating_sub(key.chars().count());
                kept.insert(key.clone(), beginning(value, left));
                *left = left.saturating_sub(1);
            }
            Value::Object(kept)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn cut_text(text: &str, left: &mut usize) -> String {
    let cut = cut_chars(text, *left);
    *left -= cut.chars().count();
    cut.to_owned()
}

#[cfg(test)]
mod tests {
    use model::{Record, Status};
    use serde_json::json;

    use super::*;
    use crate::testing::Random;
    use crate::{PastRun, resume_transcript, transcript};

    fn words(events: &[Event]) -> (String, String) {
        let records = || -> Vec<Record> {
            events.iter().map(|event| Record { seq: 1, at: 1, event: event.clone() }).collect()
        };
        let past =
            PastRun { status: Status::Completed, error: None, prompt: None, records: records() };
        (transcript(vec![(Status::Completed, None, records())]), resume_transcript(vec![past]))
    }

    fn call(args: Value) -> Event {
        Event::ToolCall { id: "1".into(), tool: "write".into(), args }
    }

    fn result(text: String) -> Event {
        Event::ToolResult {
            id: "1".into(),
            tool: "write".into(),
            is_error: false,
            text,
            limit_reached: true,
        }
    }

    #[test]
    fn transcripts_of_abridged_events_are_the_same() {
        let mut random = Random::default();
        let mut events = vec![
            Event::RunStarted { pid: 1, agent: None },
            Event::UserMessage { text: "Go. ".repeat(1_000) },
            call(json!({"path": "a", "content": "ż\n\"".repeat(1_000), "more": vec!["x"; 500]})),
            call(json!([[vec!["y"; 200], vec!["z"; 200]], "w"])),
            call(json!({"k".repeat(300): 1, "l".repeat(300): 2})),
            call(json!("s".repeat(119))),
            call(json!(vec![1; 300])),
        ];
        events.extend([499, 500, 501, 502].map(|length| result("ż".repeat(length))));
        events.extend((0..2_000).map(|_| call(random.value(3))));
        for event in events {
            let events = [event];
            let short: Vec<Event> = events.iter().filter_map(abridged).collect();
            assert_eq!(words(&short), words(&events), "{events:?}");
        }
    }

    #[test]
    fn long_arguments_and_results_are_not_kept() {
        let args =
            json!({"a": "x".repeat(1_000_000), "b": ["y".repeat(1_000_000)], "c": vec![7; 9999]});
        for event in [call(args), result("z".repeat(1_000_000))] {
            let kept = serde_json::to_string(&abridged(&event)).unwrap();
            assert!(kept.len() < 700, "{} bytes", kept.len());
        }
        assert_eq!(abridged(&Event::TimeoutExtended), None);
        assert_eq!(abridged(&Event::Stderr { text: "noise".into() }), None);
    }
}
