//! Some lines of a file of any size, in little memory.

use std::io::{self, Read};

use crate::cancel::Cancel;
use crate::tools::lossy::LossyDecoder;
use crate::tools::truncation::Head;

/// Which lines are wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    /// The number of lines before them.
    pub(super) start: usize,
    /// How many there are at most.
    pub(super) limit: Option<usize>,
}

/// The lines that were wanted, and how many there are. What is behind the last newline of a file
/// counts as a line, even if it is nothing.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) selected: Head,
    /// The length of the first one.
    pub(super) first_line_bytes: usize,
    /// The number of lines in the whole file.
    pub(super) total: usize,
}

/// Reads the file to its end, unless it is cancelled, which is `None`.
pub(super) fn read(
    mut file: impl Read,
    range: Range,
    cancel: &Cancel,
) -> io::Result<Option<Lines>> {
    let end = range.limit.map_or(usize::MAX, |limit| range.start.saturating_add(limit));
    let mut lines = Lines::default();
    let mut decoder = LossyDecoder::default();
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
        for piece in buffer[..length].split_inclusive(|byte| *byte == b'\n') {
            let is_selected = (range.start..end).contains(&line);
            let ends_line = piece.ends_with(b"\n");
            // The newline behind the last line that is wanted belongs to nobody.
            let shown =
                if ends_line && line + 1 == end { &piece[..piece.len() - 1] } else { piece };
            if is_selected {
                text.clear();
                decoder.decode(shown, &mut text);
                lines.add(&text, line == range.start);
            }
            line += usize::from(ends_line);
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
