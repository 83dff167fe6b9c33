//! Our own events as a stream: a child that prints what `events.jsonl` holds, because another
//! supervisor carries out the run somewhere else.
//!
//! The child is told the prompt as the line `{"type":"prompt","text":…}`. Its input stays open for
//! as long as the supervisor lives, so that its end tells the child that the supervisor is gone. The
//! child's `run_ended` is the last word, and is acknowledged: `{"type":"acknowledged","seq":…}`.
//!
//! Messages to the agent are `{"type":"message","number":…,"text":…,"timing":…}`, and answers to its questions
//! `{"type":"answer","number":…,"text":…,"by":…}`. What becomes of them the other supervisor decides, and its events say:
//! `message_delivered` and `message_refused` with the number of the message, `question_answered` with that of the question.

use std::collections::BTreeMap;

use memchr::memmem;
use model::{
    Activity, Answer, AnsweredBy, Event, LeftAnswer, Message, Question, QuestionKind, Record,
    ToolEffect, Verdict,
};
use process::{Keep, Line};
use serde::Serialize;
use serde_json::json;

use crate::json::{parse, readable_arguments};
use crate::{Asked, Delivery, LastWord, Reading};

/// Reads numbered events, each once.
#[derive(Debug, Default)]
pub struct EventReader {
    last_seq: u64,
    has_ended: bool,
    /// The questions that have no answer yet, by their numbers.
    open: BTreeMap<u64, Question>,
}

/// Everything that may be a record is needed whole.
pub(crate) fn keep(head: &[u8]) -> Keep {
    if head.trim_ascii_start().starts_with(b"{") { Keep::Whole } else { Keep::Ends }
}

/// The first line of the child's input.
pub(crate) fn opening(prompt: &str) -> Vec<u8> {
    line_of(&json!({"type": "prompt", "text": prompt}))
}

/// A message to the agent, which the other supervisor brings on its way.
pub(crate) fn tell(number: u64, message: &Message) -> Vec<u8> {
    line_of(&Said { kind: "message", number, what: message })
}

/// Something that the agent is told by way of the other supervisor.
#[derive(Serialize)]
struct Said<'a, What> {
    #[serde(rename = "type")]
    kind: &'static str,
    number: u64,
    #[serde(flatten)]
    what: &'a What,
}

impl EventReader {
    /// The answer of a user, in words that mean the same to the other supervisor.
    pub(crate) fn answer(&mut self, number: u64, answer: &Answer) -> Reading {
        let Some(question) = self.open.remove(&number) else { return Reading::default() };
        let answer = LeftAnswer::new(words(&question, answer), AnsweredBy::Shell);
        let reply = line_of(&Said { kind: "answer", number, what: &answer });
        Reading { reply, ..Reading::default() }
    }

    pub(crate) fn read(&mut self, line: Line<'_>) -> Reading {
        let record = match line {
            Line::Whole(bytes) if bytes.trim_ascii().is_empty() => return Reading::default(),
            Line::Whole(bytes) if bytes.trim_ascii_start().starts_with(b"{") => {
                parse::<Record>(bytes)
            }
            Line::Whole(_) | Line::Cut { .. } => None,
        };
        let Some(Record { seq, event, .. }) = record else {
            let may_be_message = memmem::find(line.head(), b"\"assistant_message\"").is_some();
            return Reading::unreadable(line, may_be_message);
        };
        // A sender that is not sure whether a line has arrived sends it again, and nothing comes after
        // the end of a run.
        if seq <= self.last_seq || self.has_ended {
            return Reading::default();
        }
        self.has_ended = matches!(event, Event::RunEnded { .. });
        let missing = seq - self.last_seq - 1;
        self.last_seq = seq;
        let mut reading = self.meaning(seq, event);
        if missing > 0 {
            // One of them may have been the answer.
            let text = format!("{missing} events are missing before number {seq}");
            reading.events.insert(0, Event::MessageLost { bytes: 0, text });
        }
        reading
    }

    fn meaning(&mut self, seq: u64, event: Event) -> Reading {
        let is_tool_activity = matches!(event, Event::ToolCall { .. } | Event::ToolResult { .. });
        let activity = match &event {
            Event::RunStarted { .. }
            | Event::AssistantMessage { .. }
            | Event::ToolResult { .. }
            | Event::ModelFallback { .. } => Some(Activity::Waiting),
            Event::ToolCall { .. } => Some(Activity::Tool),
            Event::RetryScheduled { .. } => Some(Activity::Retrying),
            Event::RunEnded { .. } => Some(Activity::Done),
            _ => None,
        };
        // Its supervisor takes messages from now on, and knows when the agent can read them.
        let is_under_way = matches!(event, Event::RunStarted { .. });
        let mut reading = Reading {
            activity,
            is_tool_activity,
            is_under_way,
            last_word: LastWord::NotYet,
            ..Reading::default()
        };
        match event {
            Event::RunEnded { outcome, error, .. } => {
                reading.last_word = LastWord::Said;
                reading.verdict = Some(Verdict { outcome, error });
                reading.reply = line_of(&json!({"type": "acknowledged", "seq": seq}));
            }
            Event::MessageDelivered { number } => {
                reading.deliveries.push(Delivery::Delivered(number));
            }
            Event::MessageRefused { number, reason } => {
                reading.deliveries.push(Delivery::Refused(number, reason));
            }
            Event::QuestionAsked { number, question } => {
                self.open.insert(number, question.clone());
                reading.questions.push(Asked {
                    number,
                    question,
                    effect: ToolEffect::Other,
                    patience: None,
                });
            }
            Event::QuestionAnswered { number, .. } => {
                self.open.remove(&number);
                reading.answered.push(event);
            }
            // These are about the other supervisor's own tree and files, or of a newer version.
            Event::Waiting { .. }
            | Event::RunStarted { .. }
            | Event::MessageAccepted { .. }
            | Event::Stopping { .. }
            | Event::LogFull { .. }
            | Event::Unknown => {}
            Event::ToolCall { id, tool, args } => {
                reading.events.push(Event::ToolCall { id, tool, args: readable_arguments(args) });
            }
            event => reading.events.push(event),
        }
        reading
    }
}

/// The text that a question reads as this answer.
fn words(question: &Question, answer: &Answer) -> String {
    let denial = || question.refusal().unwrap_or_default().to_owned();
    match answer {
        Answer::Yes => "yes".to_owned(),
        Answer::Always => "always".to_owned(),
        Answer::No(Some(reason)) if question.kind == QuestionKind::Permission => reason.clone(),
        Answer::No(_) => denial(),
        Answer::Option(index) => question.options.get(*index).cloned().unwrap_or_else(denial),
        Answer::Text(text) => text.clone(),
    }
}

fn line_of(message: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use model::Outcome;

    use super::*;

    fn read(reader: &mut EventReader, line: &str) -> Reading {
        reader.read(Line::Whole(line.as_bytes()))
    }

    fn line(seq: u64, fields: &str) -> String {
        format!(r#"{{"seq":{seq},"at":17,{fields}}}"#)
    }

    const STARTED: &str = r#""type":"run_started","pid":7"#;
    const SAID: &str = r#""type":"assistant_message","text":"found it","stopReason":"stop""#;
    const ENDED: &str = r#""type":"run_ended","outcome":"timeout","error":"Timed out after 2s.""#;

    #[test]
    fn events_pass_and_the_end_is_the_last_word() {
        let mut reader = EventReader::default();
        let started = read(&mut reader, &line(1, STARTED));
        assert_eq!((started.events.len(), started.activity), (0, Some(Activity::Waiting)));
        let call =
            read(&mut reader, &line(2, r#""type":"tool_call","id":"1","tool":"ls","args":{}"#));
        assert!(matches!(call.events[..], [Event::ToolCall { .. }]));
        assert!(call.is_tool_activity && call.activity == Some(Activity::Tool));
        let said = read(&mut reader, &line(3, SAID));
        assert!(
            matches!(&said.events[..], [Event::AssistantMessage { text, .. }] if text == "found it")
        );
        assert_eq!(said.last_word, LastWord::NotYet, "only the end of the run is an end");
        let ended = read(&mut reader, &line(4, ENDED));
        assert_eq!((ended.events.len(), ended.last_word), (0, LastWord::Said));
        assert_eq!(ended.verdict.unwrap().outcome, Outcome::Timeout);
        assert_eq!(ended.reply, b"{\"type\":\"acknowledged\",\"seq\":4}\n");
        assert_eq!(read(&mut reader, &line(5, SAID)), Reading::default(), "it comes after the end");
    }

    #[test]
    fn a_repeated_event_counts_once_and_a_missing_one_is_told() {
        let mut reader = EventReader::default();
        let warning = r#""type":"warning","message":"Odd.""#;
        assert_eq!(read(&mut reader, &line(1, warning)).events.len(), 1);
        assert_eq!(read(&mut reader, &line(1, warning)), Reading::default());
        let after_gap = read(&mut reader, &line(4, warning)).events;
        assert!(matches!(&after_gap[..], [Event::MessageLost { text, .. }, Event::Warning { .. }]
            if text == "2 events are missing before number 4"));
        assert_eq!(read(&mut reader, &line(3, warning)), Reading::default(), "it is too late");
    }

    #[test]
    fn what_is_no_event_is_kept_as_an_unreadable_line() {
        let mut reader = EventReader::default();
        for (text, is_message) in [
            ("npm warn something", false),
            ("{\"seq\":1}", false),
            ("[1]", false),
            (r#"{"seq":1,"at":1,"type":"assistant_message","text":"#, true),
        ] {
            let reading = read(&mut reader, text);
            let is_lost = matches!(reading.events[..], [Event::MessageLost { .. }]);
            let is_unreadable = matches!(reading.events[..], [Event::UnreadableLine { .. }]);
            assert_eq!((is_lost, is_unreadable), (is_message, !is_message), "{text}");
        }
        assert_eq!(read(&mut reader, "  "), Reading::default());
        let newer = read(&mut reader, &line(1, r#""type":"teleported""#));
        assert_eq!((newer.events.len(), newer.last_word), (0, LastWord::NotYet));
        let cut =
            Line::Cut { head: b"{\"seq\":2,\"type\":\"assistant_message\"", tail: b"", bytes: 9 };
        assert!(matches!(reader.read(cut).events[..], [Event::MessageLost { .. }]));
    }

    #[test]
    fn what_the_agent_is_told_and_asks_passes_in_both_directions() {
        let message = Message { text: "a\n".to_owned(), timing: model::MessageTiming::After };
        assert_eq!(
            tell(3, &message),
            b"{\"type\":\"message\",\"number\":3,\"text\":\"a\\n\",\"timing\":\"after\"}\n"
        );
        let mut reader = EventReader::default();
        let delivered = read(&mut reader, &line(1, r#""type":"message_delivered","number":3"#));
        assert_eq!(delivered.deliveries, [Delivery::Delivered(3)]);
        let asked = r#""type":"question_asked","number":2,"question":{"kind":"choice","text":"Which?","options":["Ab","1"]}"#;
        let asked = read(&mut reader, &line(2, asked));
        assert!(matches!(
            &asked.questions[..],
            [Asked { number: 2, effect: ToolEffect::Other, .. }]
        ));
        assert_eq!(
            reader.answer(2, &Answer::Option(1)).reply,
            b"{\"type\":\"answer\",\"number\":2,\"text\":\"1\",\"by\":\"shell\"}\n"
        );
        assert_eq!(reader.answer(2, &Answer::Option(1)), Reading::default(), "each once");
        let answered = r#""type":"question_answered","number":2,"answer":"no","by":"deadline""#;
        let answered = read(&mut reader, &line(3, answered));
        assert!(matches!(&answered.answered[..], [Event::QuestionAnswered { number: 2, .. }]));
    }

    #[test]
    fn an_answer_means_the_same_to_the_other_supervisor() {
        let options = vec!["2".to_owned(), "Ab".to_owned()];
        let question = |kind| Question::dialog(kind, "Which?", options.clone());
        let denied = |reason: &str| Answer::No(Some(reason.to_owned()));
        for (question, answer) in [
            (Question::permission("bash", "make"), Answer::Always),
            (Question::permission("bash", "make"), denied("Not now.")),
            (question(QuestionKind::Choice), Answer::Option(0)),
            (question(QuestionKind::Choice), Answer::Option(1)),
            (question(QuestionKind::Choice), Answer::No(None)),
            (question(QuestionKind::Confirmation), Answer::Yes),
            (question(QuestionKind::Text), Answer::Text("no".to_owned())),
            (question(QuestionKind::Text), Answer::No(None)),
        ] {
            assert_eq!(question.read_answer(&words(&question, &answer)), Ok(answer));
        }
    }

    #[test]
    fn the_prompt_is_one_line_of_json() {
        assert_eq!(opening("a\n\"b\""), b"{\"type\":\"prompt\",\"text\":\"a\\n\\\"b\\\"\"}\n");
    }
}
