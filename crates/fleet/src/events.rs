//! The events of an attempt as chunks of text, cut and put together.

use model::Record;

use crate::EventChunk;

/// Puts the lines of an attempt together. Chunks that arrive twice count once.
#[derive(Debug, Default)]
pub struct EventLines {
    last: u64,
    text: String,
    /// Whether what comes belongs to a line that is too long.
    is_too_long: bool,
}

/// A line that does not end within so many bytes is none that a supervisor has written.
const LONGEST_LINE: usize = 16 * 1024 * 1024;

impl EventLines {
    /// Whether all chunks before this one were read.
    pub fn has_all_before(&self, number: u64) -> bool {
        self.last.saturating_add(1) >= number
    }

    /// The events that a chunk completes. What cannot be read is passed over.
    pub fn read(&mut self, chunk: &[u8]) -> Vec<Record> {
        let Ok(chunk) = serde_json::from_slice::<EventChunk>(chunk) else { return Vec::new() };
        if chunk.number <= self.last {
            return Vec::new();
        }
        self.last = chunk.number;
        let mut text = chunk.text.as_str();
        if self.is_too_long {
            let Some((_, rest)) = text.split_once('\n') else { return Vec::new() };
            (text, self.is_too_long) = (rest, false);
        }
        self.text.push_str(text);
        let Some(end) = self.text.rfind('\n') else {
            if self.text.len() > LONGEST_LINE {
                (self.text, self.is_too_long) = (String::new(), true);
            }
            return Vec::new();
        };
        let rest = self.text.split_off(end + 1);
        let whole = std::mem::replace(&mut self.text, rest);
        whole.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

/// Cuts a text into parts that a message can have.
pub fn cut_into_chunks(mut text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    while !text.is_empty() {
        let (part, rest) = text.split_at(text.floor_char_boundary(EventChunk::TEXT_BYTES));
        parts.push(part);
        text = rest;
    }
    parts
}

#[cfg(test)]
mod tests {
    use model::Event;

    use super::*;
    use crate::Format;

    #[test]
    fn an_event_of_any_length_arrives_whole_and_once() {
        let event = |seq: u64, text: String| Record { seq, at: 17, event: Event::Stderr { text } };
        let sent = [event(1, "ä".repeat(200_000)), event(2, "short".to_owned())];
        let text: String =
            sent.iter().map(|record| serde_json::to_string(record).unwrap() + "\n").collect();
        let parts = cut_into_chunks(&text);
        assert!(parts.len() == 4 && parts.concat() == text, "{}", parts.len());
        let mut lines = EventLines::default();
        let mut read = Vec::new();
        for (number, part) in (1..).zip(parts) {
            let chunk = EventChunk { format: Format, number, text: part.to_owned() };
            let chunk = serde_json::to_vec(&chunk).unwrap();
            read.extend(lines.read(&chunk));
            assert!(lines.read(&chunk).is_empty(), "it came before");
        }
        assert_eq!(read, sent);
    }

    #[test]
    fn a_line_without_an_end_costs_itself_and_no_memory() {
        let mut lines = EventLines::default();
        let mut number = 0;
        let mut read = |text: &str| {
            number += 1;
            let chunk = EventChunk { format: Format, number, text: text.to_owned() };
            let read = lines.read(&serde_json::to_vec(&chunk).unwrap());
            assert!(lines.text.capacity() < 2 * LONGEST_LINE, "{}", lines.text.capacity());
            read
        };
        let part = "x".repeat(EventChunk::TEXT_BYTES);
        for _ in 0..2 * LONGEST_LINE / part.len() {
            assert_eq!(read(&part), []);
        }
        let event = Record { seq: 1, at: 17, event: Event::Stderr { text: "after".to_owned() } };
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(read(&format!("end\n{line}\n")), [event]);
    }
}
