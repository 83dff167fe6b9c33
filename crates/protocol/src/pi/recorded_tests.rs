//! What a real pi printed, and that no damage to it does harm.

use process::LineBuffer;

use super::tests::read_whole;
use super::*;

macro_rules! recorded {
    ($($name:literal),*) => {
        [$((
            $name,
            include_bytes!(concat!("../../tests/streams/", $name, ".jsonl")),
            include_str!(concat!("../../tests/streams/", $name, ".txt")),
        )),*]
    };
}

/// What a real pi printed, and what it means.
const STREAMS: [(&str, &[u8], &str); 8] = recorded! {
    "answer", "loop", "provider-400", "provider-500-then-ok", "sigterm", "tool-errors", "tools",
    "unicode"
};

/// Everything that a stream tells: its events, then the activities and what is said about the end,
/// both without repetitions, then the sum of what was used.
fn retell(stream: &[u8]) -> String {
    let mut lines = LineBuffer::new(keep);
    lines.push(stream);
    let (mut events, mut calls) = (String::new(), Vec::new());
    let (mut activities, mut last_words) = (Vec::new(), Vec::new());
    let mut sum = Usage::default();
    while let Some(line) = lines.next_line() {
        let reading = read(line);
        activities.extend(reading.activity.map(Activity::word));
        last_words.push(format!("{:?}", reading.last_word));
        for event in reading.events {
            events += &describe(&event);
            events.push('\n');
            match event {
                Event::AssistantMessage { usage, model, .. } => {
                    assert_eq!(model.as_deref(), Some("fake-1"));
                    sum += usage;
                }
                Event::ToolCall { id, tool, .. } => calls.push((id, tool)),
                Event::ToolResult { id, tool, .. } => assert!(calls.contains(&(id, tool))),
                _ => {}
            }
        }
    }
    assert_eq!(lines.rest(), None);
    activities.dedup();
    last_words.retain(|last_word| last_word != "Unchanged");
    last_words.dedup();
    let (activities, last_words) = (activities.join(" "), last_words.join(" "));
    let usage = serde_json::to_string(&sum).unwrap();
    format!("{events}\nactivities: {activities}\nlast words: {last_words}\nusage: {usage}\n")
}

pub(super) fn describe(event: &Event) -> String {
    match event {
        Event::UserMessage { .. } => "user_message".to_owned(),
        Event::AssistantMessage { text, stop_reason, error, .. } => {
            let stop_reason = stop_reason.as_ref().map_or("-", StopReason::word);
            let error = error.as_ref().map_or_else(String::new, |error| format!(" {error:?}"));
            format!("assistant_message {stop_reason} {text:?}{error}")
        }
        Event::ToolCall { tool, args, .. } => format!("tool_call {tool} {args}"),
        Event::ToolResult { tool, is_error, text, limit_reached, .. } => {
            let status = if *is_error { "error" } else { "ok" };
            let more = if *limit_reached { " and more" } else { "" };
            format!("tool_result {tool} {status} {text:?}{more}")
        }
        Event::RetryScheduled { attempt, max_attempts, delay_ms, error } => {
            format!("retry {attempt}/{max_attempts} {delay_ms}ms {error:?}")
        }
        other => panic!("pi does not tell {other:?}"),
    }
}

fn recorded_lines() -> impl Iterator<Item = &'static [u8]> {
    STREAMS.iter().flat_map(|(_, stream, _)| stream.trim_ascii_end().split(|byte| *byte == b'\n'))
}

#[test]
fn recorded_streams_tell_what_is_written_beside_them() {
    for (name, stream, expected) in STREAMS {
        let told = retell(stream);
        assert!(told == expected, "{name} tells\n{told}\ninstead of\n{expected}");
    }
}

#[test]
fn recorded_lines_are_readable_and_mean_the_same_however_they_are_written() {
    for line in recorded_lines() {
        let text = str::from_utf8(line).unwrap();
        let reading = read_whole(line);
        assert!(
            !matches!(
                reading.events[..],
                [Event::UnreadableLine { .. } | Event::MessageLost { .. }]
            ),
            "{text}"
        );
        assert_eq!(read_whole(format!(" \t{text}")), reading, "{text}");
        assert_eq!(read_whole(format!("{text}\r")), reading, "{text}");
        let mut record: serde_json::Map<String, Value> = serde_json::from_str(text).unwrap();
        let kind = record.shift_remove("type").unwrap();
        let is_delta = kind == "message_update" || kind == "tool_execution_update";
        assert_eq!(reading.is_delta, is_delta, "{text}");
        record.insert("type".to_owned(), kind);
        assert_eq!(read_whole(Value::from(record).to_string()), reading, "{text}");
    }
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as usize % bound.max(1)
    }

    fn damage(&mut self, line: &mut Vec<u8>) {
        const BYTES: &[u8] = b"\"\\{}[],: 0-e.u\x00\xc5\xff";
        // Some of the damage is done near the beginning, where lines are recognised.
        let reach = if self.below(4) == 0 { line.len().min(60) } else { line.len() };
        let at = self.below(reach);
        match self.below(5) {
            0 => line.truncate(at),
            1 => line[at] ^= 1 << self.below(8),
            2 => line[at] = BYTES[self.below(BYTES.len())],
            3 => line.insert(at, BYTES[self.below(BYTES.len())]),
            _ => drop(line.drain(at..at + self.below((line.len() - at).min(20)))),
        }
    }
}

#[test]
fn damaged_lines_are_read_without_harm() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for line in recorded_lines() {
        for round in 0..20 {
            let mut damaged = line.to_vec();
            for _ in 0..=round % 3 {
                if !damaged.is_empty() {
                    dice.damage(&mut damaged);
                }
            }
            let bytes = damaged.len() as u64;
            let (head, tail) = damaged.split_at(dice.below(damaged.len()));
            keep(head);
            for line in [Line::Whole(&damaged), Line::Cut { head, tail, bytes }] {
                let reading = read(line);
                assert!(!reading.is_delta || reading.events.is_empty(), "{line:?}");
                match &reading.events[..] {
                    [
                        Event::UnreadableLine { bytes: told, .. }
                        | Event::MessageLost { bytes: told, .. },
                    ] => assert_eq!(*told, bytes),
                    [event] => assert!(!describe(event).is_empty()),
                    events => assert!(events.is_empty(), "one line of pi is one event at most"),
                }
            }
        }
    }
}
