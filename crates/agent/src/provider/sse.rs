//! Parses server-sent events from bytes in pieces.

use std::mem;

/// The longest line, and the longest data of an event. A provider that sends more is broken, and must
/// not fill our memory.
pub(super) const MAXIMAL_BYTES: usize = 16 * 1024 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// Empty if the event has none.
    pub(super) name: String,
    pub(super) data: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// Reads events. Nothing is malformed for it, only too long: bytes that are not UTF-8 are replaced,
/// and lines that are not fields are skipped.
#[derive(Debug, Default)]
pub(super) struct Parser {
    line: Vec<u8>,
    /// Whether the last byte was a carriage return, which also ends a line without a newline.
    after_return: bool,
    after_first_line: bool,
    event: Event,
    has_data: bool,
}

impl Parser {
    /// Returns the next event in the bytes, and removes it from their front.
    pub(super) fn next(&mut self, bytes: &mut &[u8]) -> Result<Option<Event>, TooLong> {
        while !bytes.is_empty() {
            if mem::take(&mut self.after_return) && bytes[0] == b'\n' {
                *bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + piece.len() > MAXIMAL_BYTES {
                return Err(TooLong);
            }
            self.line.extend_from_slice(piece);
            let Some(end) = end else {
                *bytes = &[];
                break;
            };
            self.after_return = bytes[end] == b'\r';
            *bytes = &bytes[end + 1..];
            if let Some(event) = self.end_line()? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// The last event, if no empty line ended it: not every provider sends one.
    pub(super) fn finish(mut self) -> Result<Option<Event>, TooLong> {
        if !self.line.is_empty()
            && let Some(event) = self.end_line()?
        {
            return Ok(Some(event));
        }
        Ok(self.end_event())
    }

    fn end_line(&mut self) -> Result<Option<Event>, TooLong> {
        let bytes = mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&bytes);
        let mut line: &str = &line;
        if !mem::replace(&mut self.after_first_line, true) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(self.end_event());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if self.event.data.len() + value.len() > MAXIMAL_BYTES {
                    return Err(TooLong);
                }
                if mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            // Comments, which keep a connection alive, and fields without use here.
            _ => {}
        }
        Ok(None)
    }

    fn end_event(&mut self) -> Option<Event> {
        let event = mem::take(&mut self.event);
        (mem::take(&mut self.has_data) || !event.name.is_empty()).then_some(event)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Event>, TooLong> {
        let mut parser = Parser::default();
        let mut events = Vec::new();
        for mut piece in pieces {
            while let Some(event) = parser.next(&mut piece)? {
                events.push(event);
            }
        }
        events.extend(parser.finish()?);
        Ok(events)
    }

    fn parse_text(text: &str) -> Vec<(String, String)> {
        let events = parse([text.as_bytes()]).unwrap();
        events.into_iter().map(|event| (event.name, event.data)).collect()
    }

    #[test]
    fn events_are_read_as_the_standard_says() {
        let cases: &[(&str, &[(&str, &str)])] = &[
            ("data: one\n\ndata:two\n\n", &[("", "one"), ("", "two")]),
            ("event: ping\ndata: {}\n\n", &[("ping", "{}")]),
            ("data: a\rdata: b\r\n\r\ndata: c\r\r", &[("", "a\nb"), ("", "c")]),
            ("data:  two spaces\n\n", &[("", " two spaces")]),
            ("data\n\n", &[("", "")]),
            (": keep alive\n\n\n\nid: 7\nretry: 1\nnonsense\n\n", &[]),
            ("\u{feff}data: after a mark\n\n", &[("", "after a mark")]),
            ("data: not ended", &[("", "not ended")]),
            ("event: alone", &[("alone", "")]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            let expected: Vec<_> =
                expected.iter().map(|(name, data)| ((*name).into(), (*data).into())).collect();
            assert_eq!(parse_text(text), expected, "{text:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        let events = parse([&b"data: a\xff\xc3b\n\n"[..]]).unwrap();
        assert_eq!(events[0].data, "a\u{fffd}\u{fffd}b");
    }

    #[test]
    fn an_endless_line_is_given_up() {
        let mebibyte = vec![b'x'; 1024 * 1024];
        let mut parser = Parser::default();
        let mut taken = 0;
        let result = loop {
            match parser.next(&mut mebibyte.as_slice()) {
                Ok(None) => taken += mebibyte.len(),
                other => break other,
            }
        };
        assert_eq!(result, Err(TooLong));
        assert_eq!(taken, MAXIMAL_BYTES);
        let lines = format!("data: {}\n", "x".repeat(1024 * 1024)).repeat(17);
        assert_eq!(parse([lines.as_bytes()]), Err(TooLong));
    }

    proptest! {
        #[test]
        fn it_does_not_matter_where_bytes_are_cut(
            text in "(data: ?|event: ?|[a-zé🦀:]|\r|\n|\r\n|\u{feff}){0,60}",
            size in 1usize..7,
        ) {
            let whole = parse([text.as_bytes()]);
            prop_assert_eq!(parse(text.as_bytes().chunks(size)), whole);
        }

        #[test]
        fn no_bytes_do_harm(bytes: Vec<u8>, size in 1usize..9) {
            prop_assert!(parse(bytes.chunks(size)).is_ok());
        }
    }
}
