//! Splits bytes into lines, with a bound on the memory that a line can cost.

use std::io;
use std::os::fd::AsFd;

/// How much of the beginning and of the end is kept of a line that is too long.
const EDGE: usize = 64 * 1024;
/// The longest line that is kept whole.
const LONGEST: usize = 16 * 1024 * 1024;
const CHUNK: usize = 256 * 1024;

/// What to do with a line that turns out to be long, decided from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Keep it whole, up to 16 MiB.
    Whole,
    /// Keep only its two ends.
    Ends,
}

/// One line, without its line feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub enum Line<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// The first and the last 64 KiB of a line that was too long, and how long it was.
    Cut { head: &'a [u8], tail: &'a [u8], bytes: u64 },
}

impl<'a> Line<'a> {
    /// The beginning of the line, which is all of it unless it was cut.
    pub fn head(self) -> &'a [u8] {
        match self {
            Line::Whole(bytes) => bytes,
            Line::Cut { head, .. } => head,
        }
    }

    /// The length of the line, also of what was not kept.
    pub fn bytes(self) -> u64 {
        match self {
            Line::Whole(bytes) => bytes.len() as u64,
            Line::Cut { bytes, .. } => bytes,
        }
    }
}

/// What one read returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadStatus {
    /// There are new bytes.
    Bytes(usize),
    /// Nothing to read now.
    WouldBlock,
    /// Nothing to read ever again.
    EndOfFile,
}

/// Splits a stream of bytes on line feeds. Its memory is bounded whatever the stream holds.
pub struct LineBuffer {
    bytes: Vec<u8>,
    /// Where the current line begins in `bytes`.
    start: usize,
    /// Up to where the current line has been searched for its end.
    scanned: usize,
    keep: fn(&[u8]) -> Keep,
    longest: usize,
    /// The longest current line allowed; decided by `keep` once the line is longer than `EDGE`.
    limit: Option<usize>,
    /// The beginning of the current line and the number of bytes dropped after it.
    cut: Option<(Vec<u8>, u64)>,
    /// Set when the line that `cut` belongs to was returned.
    cut_done: bool,
}

impl LineBuffer {
    /// `keep` is asked once about every line that is longer than 64 KiB.
    pub fn new(keep: fn(&[u8]) -> Keep) -> LineBuffer {
        LineBuffer::with_longest(keep, LONGEST)
    }

    /// Keeps every line whole, of any length. Only for a source that can be trusted.
    pub fn unbounded() -> LineBuffer {
        LineBuffer::with_longest(|_| Keep::Whole, usize::MAX)
    }

    /// As [`LineBuffer::new`], with another length up to which lines are kept whole.
    pub fn with_longest(keep: fn(&[u8]) -> Keep, longest: usize) -> LineBuffer {
        LineBuffer {
            bytes: Vec::new(),
            start: 0,
            scanned: 0,
            keep,
            longest,
            limit: None,
            cut: None,
            cut_done: false,
        }
    }

    /// Reads once. Take all lines out before reading again.
    pub fn read_from(&mut self, source: impl AsFd) -> io::Result<ReadStatus> {
        self.make_room();
        loop {
            let spare = rustix::buffer::spare_capacity(&mut self.bytes);
            match rustix::io::read(source.as_fd(), spare) {
                Ok(0) => return Ok(ReadStatus::EndOfFile),
                Ok(count) => return Ok(ReadStatus::Bytes(count)),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return Ok(ReadStatus::WouldBlock),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Adds bytes that were read elsewhere.
    pub fn push(&mut self, bytes: &[u8]) {
        self.make_room();
        self.bytes.extend_from_slice(bytes);
    }

    /// The next complete line, if there is one.
    pub fn next_line(&mut self) -> Option<Line<'_>> {
        self.forget_cut_line();
        match memchr::memchr(b'\n', &self.bytes[self.scanned..]) {
            Some(offset) => {
                let mut end = self.scanned + offset;
                // The same line must be cut in the same way, however its bytes arrived.
                end -= self.shorten_long_line(end);
                let begin = std::mem::replace(&mut self.start, end + 1);
                self.scanned = end + 1;
                self.limit = None;
                Some(self.line(begin, end))
            }
            None => {
                self.scanned = self.bytes.len();
                self.shorten_long_line(self.bytes.len());
                None
            }
        }
    }

    /// What follows the last line feed when the stream has ended: a torn line.
    pub fn rest(&mut self) -> Option<Line<'_>> {
        self.forget_cut_line();
        let begin = self.start;
        let end = self.bytes.len();
        self.start = end;
        self.scanned = end;
        if begin == end && self.cut.is_none() {
            return None;
        }
        Some(self.line(begin, end))
    }

    fn line(&mut self, begin: usize, end: usize) -> Line<'_> {
        match &self.cut {
            None => Line::Whole(&self.bytes[begin..end]),
            Some((head, dropped)) => {
                self.cut_done = true;
                let tail = &self.bytes[end.saturating_sub(EDGE).max(begin)..end];
                let bytes = (head.len() + (end - begin)) as u64 + dropped;
                Line::Cut { head, tail, bytes }
            }
        }
    }

    fn forget_cut_line(&mut self) {
        if std::mem::take(&mut self.cut_done) {
            self.cut = None;
        }
    }

    /// Drops the middle of the current line, which reaches up to `end`, once it is longer than it
    /// may be. Returns by how much everything after it has moved.
    fn shorten_long_line(&mut self, end: usize) -> usize {
        let length = end - self.start;
        if self.cut.is_none() && length > EDGE {
            let limit = *self.limit.get_or_insert_with(|| {
                match (self.keep)(&self.bytes[self.start..self.start + EDGE]) {
                    Keep::Whole => self.longest,
                    Keep::Ends => EDGE,
                }
            });
            if length > limit {
                let head = self.bytes[self.start..self.start + EDGE].to_vec();
                self.cut = Some((head, 0));
                let moved = self.remove(EDGE);
                return moved + self.shorten_long_line(end - moved);
            }
        }
        match &mut self.cut {
            // Twice the edge, so that the bytes are not moved at every read.
            Some((_, dropped)) if length > 2 * EDGE => {
                *dropped += (length - EDGE) as u64;
                self.remove(length - EDGE)
            }
            _ => 0,
        }
    }

    /// Removes this many bytes from the beginning of the current line, and everything before it.
    fn remove(&mut self, count: usize) -> usize {
        let moved = self.start + count;
        self.bytes.drain(..moved);
        self.start = 0;
        self.scanned = self.scanned.saturating_sub(moved);
        moved
    }

    fn make_room(&mut self) {
        if self.start == self.bytes.len() {
            self.bytes.clear();
            // One long line must not hold its memory for the rest of the run.
            self.bytes.shrink_to(CHUNK + 2 * EDGE);
        } else if self.start > 0 {
            self.bytes.drain(..self.start);
        }
        self.scanned -= self.start;
        self.start = 0;
        self.bytes.reserve(CHUNK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(chunks: &[&[u8]], keep: fn(&[u8]) -> Keep) -> Vec<(Vec<u8>, u64)> {
        let mut buffer = LineBuffer::new(keep);
        let mut lines = Vec::new();
        for chunk in chunks {
            buffer.push(chunk);
            while let Some(line) = buffer.next_line() {
                lines.push((line.head().to_vec(), line.bytes()));
            }
        }
        if let Some(line) = buffer.rest() {
            lines.push((line.head().to_vec(), line.bytes()));
        }
        assert!(buffer.rest().is_none(), "the rest is handed out once");
        lines
    }

    fn whole(_: &[u8]) -> Keep {
        Keep::Whole
    }

    fn texts(lines: &[(Vec<u8>, u64)]) -> Vec<&str> {
        lines.iter().map(|(line, _)| std::str::from_utf8(line).unwrap()).collect()
    }

    #[test]
    fn lines_do_not_depend_on_how_the_bytes_arrive() {
        let text = "one\n\ntwo ż\r\nthree".as_bytes();
        let expected = ["one", "", "two ż\r", "three"];
        assert_eq!(texts(&collect(&[text], whole)), expected);
        let single: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(texts(&collect(&single, whole)), expected);
    }

    #[test]
    fn an_empty_stream_has_no_line() {
        assert!(collect(&[], whole).is_empty());
        assert_eq!(texts(&collect(&[b"a\n"], whole)), ["a"]);
    }

    #[test]
    fn a_line_of_the_longest_length_is_whole_and_a_longer_one_is_cut() {
        for (length, is_cut) in [(LONGEST, false), (LONGEST + 1, true)] {
            let mut buffer = LineBuffer::new(whole);
            let line = vec![b'x'; length];
            for chunk in line.chunks(CHUNK) {
                buffer.push(chunk);
                assert!(buffer.next_line().is_none());
            }
            buffer.push(b"\nnext\n");
            let line = buffer.next_line().unwrap();
            assert_eq!(line.bytes(), length as u64);
            assert_eq!(matches!(line, Line::Cut { .. }), is_cut);
            assert_eq!(buffer.next_line(), Some(Line::Whole(b"next")));
            assert_eq!(buffer.next_line(), None);
        }
    }

    #[test]
    fn the_ends_of_a_long_line_are_kept_and_its_memory_is_bounded() {
        let mut buffer = LineBuffer::new(|head| {
            assert!(head.starts_with(b"begin"));
            Keep::Ends
        });
        buffer.push(b"begin");
        let chunk = vec![b'x'; 100_000];
        for _ in 0..1_000 {
            buffer.push(&chunk);
            assert!(buffer.next_line().is_none());
        }
        assert!(buffer.bytes.capacity() < 1024 * 1024, "{}", buffer.bytes.capacity());
        buffer.push(b"end\nshort\n");
        let Some(Line::Cut { head, tail, bytes }) = buffer.next_line() else {
            panic!("the line should be cut");
        };
        assert_eq!(bytes, 5 + 100_000_000 + 3);
        assert!(head.starts_with(b"beginxxx") && head.len() == EDGE);
        assert!(tail.ends_with(b"xxxend") && tail.len() == EDGE);
        assert_eq!(buffer.next_line(), Some(Line::Whole(b"short")));
    }

    #[test]
    fn what_is_kept_does_not_depend_on_how_the_bytes_arrive() {
        for length in [EDGE, EDGE + 1, 2 * EDGE, 2 * EDGE + 1, 3 * EDGE + 7, 5 * EDGE] {
            let mut stream = vec![b'x'; length];
            stream.extend_from_slice(b"\nshort\n");
            let read = |chunk: usize| {
                let mut buffer = LineBuffer::new(|_| Keep::Ends);
                let mut lines = Vec::new();
                for chunk in stream.chunks(chunk) {
                    buffer.push(chunk);
                    while let Some(line) = buffer.next_line() {
                        let tail = match line {
                            Line::Whole(_) => None,
                            Line::Cut { tail, .. } => Some(tail.len()),
                        };
                        lines.push((line.head().len(), tail, line.bytes()));
                    }
                }
                lines
            };
            let whole = read(stream.len());
            assert_eq!(whole.len(), 2, "{length}");
            assert_eq!(whole[0].1.is_some(), length > EDGE, "{length}");
            for chunk in [1_000, 4_096, EDGE, 100_000] {
                assert_eq!(read(chunk), whole, "{length} bytes in pieces of {chunk}");
            }
        }
    }

    #[test]
    fn a_torn_long_line_is_handed_out_at_the_end() {
        let long = vec![b'x'; 3 * EDGE];
        let lines = collect(&[&long, b"tail"], |_| Keep::Ends);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].1, 3 * EDGE as u64 + 4);
    }
}
