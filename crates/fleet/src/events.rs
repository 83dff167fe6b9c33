//! The events of an attempt as chunks of text, cut and put together.

use model::Record;

use crate::EventChunk;

/// Puts the lines of an attempt together. Chunks that arrive twice count once.
#[derive(Debug, Default)]
pub struct EventLines {
    last: u64,
    text: String,
}

impl EventLines {
    /// The events that a chunk completes. What cannot be read is passed over.
    pub fn read(&mut self, chunk: &[u8]) -> Vec<Record> {
        let Ok(chunk) = serde_json::from_slice::<EventChunk>(chunk) else { return Vec::new() };
        if chunk.number <= self.last {
            return Vec::new();
        }
        self.last = chunk.number;
        self.text.push_str(&chunk.text);
        let Some(end) = self.text.rfind('\n') else { return Vec::new() };
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
}
