//! The child's standard streams.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use process::{Keep, Line, LineBuffer, ReadStatus};
use protocol::Opening;

/// The child's standard input: the prompt, and the replies of the protocol.
pub(crate) struct Input {
    pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
    written: usize,
    /// Whether the pipe is kept when everything is written.
    stays_open: bool,
    /// Whether it was kept for the child's sake, and was closed because the child had said all.
    is_dismissed: bool,
}

/// More than this is not kept for a child that asks and does not read the replies: as much as the longest line.
const UNREAD_BYTES: usize = 16 * 1024 * 1024;

impl Input {
    pub(crate) fn new(pipe: OwnedFd, opening: Opening) -> Input {
        let Opening { bytes, stays_open } = opening;
        Input { pipe: Some(pipe), bytes, written: 0, stays_open, is_dismissed: false }
    }

    /// Where to wait until more can be written, if there is more.
    pub(crate) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().filter(|_| self.written < self.bytes.len()).map(AsFd::as_fd)
    }

    /// Adds a reply. A child whose input is closed gets none.
    pub(crate) fn push(&mut self, reply: &[u8]) {
        if self.pipe.is_some() {
            self.bytes.extend_from_slice(reply);
            self.write();
        }
    }

    pub(crate) fn close_when_written(&mut self) {
        self.is_dismissed |= std::mem::take(&mut self.stays_open);
        self.write();
    }

    /// Whether the child was told by the end of its input that it is not needed any more.
    pub(crate) fn is_dismissed(&self) -> bool {
        self.is_dismissed
    }

    /// Whether the child leaves too much unread.
    pub(crate) fn is_congested(&self) -> bool {
        self.bytes.len() - self.written > UNREAD_BYTES
    }

    pub(crate) fn write(&mut self) {
        while let Some(pipe) = &self.pipe {
            if self.written == self.bytes.len() {
                self.bytes.clear();
                self.written = 0;
                if !self.stays_open {
                    self.pipe = None;
                }
                return;
            }
            match rustix::io::write(pipe, &self.bytes[self.written..]) {
                Ok(count) => self.written += count,
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return,
                // The child does not want to know; that is its own decision.
                Err(_) => self.close(),
            }
        }
    }

    pub(crate) fn close(&mut self) {
        self.pipe = None;
        self.bytes = Vec::new();
        self.written = 0;
    }
}

/// A pipe holds a mebibyte, and every reading takes out at least a page of what is there.
const READS_OF_A_FULL_PIPE: usize = 256;

/// An output of the child, as lines. Every line is handed out, also a torn one at the end.
pub(crate) struct Source {
    pipe: Option<OwnedFd>,
    lines: LineBuffer,
}

impl Source {
    pub(crate) fn new(pipe: OwnedFd, keep: fn(&[u8]) -> Keep) -> Source {
        Source { pipe: Some(pipe), lines: LineBuffer::new(keep) }
    }

    /// Where to wait for more, unless the stream has ended.
    pub(crate) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Reads once. False when there is nothing to read now.
    pub(crate) fn read(&mut self, mut take: impl FnMut(Line<'_>)) -> bool {
        let Some(pipe) = &self.pipe else { return false };
        let has_bytes = match self.lines.read_from(pipe) {
            Ok(ReadStatus::Bytes(_)) => true,
            Ok(ReadStatus::WouldBlock) => false,
            Ok(ReadStatus::EndOfFile) | Err(_) => {
                self.pipe = None;
                false
            }
        };
        while let Some(line) = self.lines.next_line() {
            take(line);
        }
        if self.pipe.is_none()
            && let Some(line) = self.lines.rest()
        {
            take(line);
        }
        has_bytes
    }

    /// Reads what is there, and closes. For when no process of the tree is left that could write; a
    /// stranger that has got hold of the pipe must not hold the supervisor up.
    pub(crate) fn finish(&mut self, mut take: impl FnMut(Line<'_>)) {
        (0..READS_OF_A_FULL_PIPE).all(|_| self.read(&mut take));
        if self.pipe.take().is_some()
            && let Some(line) = self.lines.rest()
        {
            take(line);
        }
    }
}
