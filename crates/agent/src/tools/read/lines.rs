//! Reads some lines of a file of any size, with little memory.

use std::io::{self, Read};

use crate::cancel::Cancel;
use crate::tools::truncation::Head;
use crate::tools::utf8::Utf8Decoder;

#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    /// The number of lines before them.
    pub(super) start: usize,
    pub(super) limit: Option<usize>,
}

/// The wanted lines, and the number of all lines. What follows the last newline of a file counts as
/// a line, even if it is empty.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) selected: Head,
    /// The length of the first wanted line.
    pub(super) first_line_bytes: usize,
    pub(super) total: usize,
}

/// Reads the file to its end. `None` if it is cancelled.
pub(super) fn read(
    mut file: impl Read,
    range: Range,
    cancel: &Cancel,
) -> io::Result<Option<Lines>> {
    let end = range.limit.map_or(usize::MAX, |limit| range.start.saturating_add(limit));
    let mut lines = Lines::default();
    let mut decoder = Utf8Decoder::default();
    let mut text = String::new();
    let mut line = 0;
    let mut buffer = vec![0; 256 * 1024];
    loop {
        if cancel.is_cancelled() {
            return Ok(None);
        }
        let length = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let mut rest = &buffer[..length];
        while !rest.is_empty() {
            if line >= end {
                line += memchr::memchr_iter(b'\n', rest).count();
                break;
            }
            let newline = memchr::memchr(b'\n', rest);
            let (piece, others) = rest.split_at(newline.map_or(rest.len(), |newline| newline + 1));
            rest = others;
            if line >= range.start {
                // The newline after the last wanted line is left out.
                let is_last = newline.is_some() && line + 1 == end;
                text.clear();
                decoder.decode(&piece[..piece.len() - usize::from(is_last)], &mut text);
                if is_last {
                    decoder.finish(&mut text);
                }
                lines.add(&text, line == range.start);
            }
            line += usize::from(newline.is_some());
        }
    }
    text.clear();
    decoder.finish(&mut text);
    lines.add(&text, line == range.start);
    lines.total = line + 1;
    Ok(Some(lines))
}

impl Lines {
    fn add(&mut self, text: &str, is_in_first_line: bool) {
        self.selected.push(text);
        if is_in_first_line {
            self.first_line_bytes += text.strip_suffix('\n').unwrap_or(text).len();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tools::truncation::MAX_LINES;

    /// Hands out one to three bytes at a time.
    struct Slowly<'a>(&'a [u8]);

    impl Read for Slowly<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = (self.0.len() % 3 + 1).min(self.0.len());
            buffer[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    proptest! {
        #[test]
        fn lines_are_those_of_the_whole_text(
            content in proptest::collection::vec(
                prop_oneof![Just(b'\n'), Just(b'a'), Just(0xe2), Just(0x82), Just(0xac)],
                0..40,
            ),
            start in 0_usize..12,
            limit in proptest::option::of(0_usize..12),
        ) {
            let cancel = Cancel::new().unwrap();
            let range = Range { start, limit };
            let lines = read(Slowly(&content), range, &cancel).unwrap().unwrap();
            let text = String::from_utf8_lossy(&content);
            let all: Vec<&str> = text.split('\n').collect();
            prop_assert_eq!(lines.total, all.len());
            let end = limit.map_or(all.len(), |limit| (start + limit).min(all.len()));
            let expected = all.get(start..end).unwrap_or_default().join("\n");
            prop_assert_eq!(lines.selected.truncate(MAX_LINES).content, expected);
            if start < end {
                prop_assert_eq!(lines.first_line_bytes, all[start].len());
            }
        }
    }
}
