//! The pane that shows what happens, where there is one.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::event::PollFlags;
use rustix::io::Errno;

/// The way to a pane. Nothing waits for it: what a stuck terminal does not take is not shown.
pub(crate) struct Screen {
    socket: UnixStream,
    pending: Vec<u8>,
    /// How many lines were not shown since the last one that was.
    skipped: usize,
}

/// What the user does in the pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScreenRequest {
    /// Ctrl-C, or its like.
    Interrupt,
    /// The pane is gone. The last request.
    Closed,
}

impl Screen {
    /// With more than this waiting to be shown, lines are skipped.
    const FULL: usize = 64 * 1024;

    pub(crate) fn new(socket: UnixStream) -> io::Result<Screen> {
        socket.set_nonblocking(true)?;
        Ok(Screen { socket, pending: Vec::new(), skipped: 0 })
    }

    /// Shows lines that have been cleaned of everything that a terminal would obey.
    pub(crate) fn show(&mut self, text: &str) {
        if self.pending.len() + text.len() > Screen::FULL {
            self.skipped += text.lines().count().max(1);
            return;
        }
        self.note_skipped();
        self.pending.extend_from_slice(text.as_bytes());
        self.pending.push(b'\n');
    }

    /// Hands over as much as the pane takes now. Its end is seen in [`Screen::receive`].
    pub(crate) fn flush(&mut self) {
        self.write();
        if self.pending.is_empty() && self.skipped > 0 {
            self.note_skipped();
            self.write();
        }
    }

    fn note_skipped(&mut self) {
        if self.skipped > 0 {
            let note = format!("[{} lines are not shown here]\n", self.skipped);
            self.pending.extend_from_slice(note.as_bytes());
            self.skipped = 0;
        }
    }

    fn write(&mut self) {
        let mut shown = 0;
        while shown < self.pending.len() {
            match rustix::io::write(&self.socket, &self.pending[shown..]) {
                Ok(count) => shown += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => shown = self.pending.len(),
            }
        }
        self.pending.drain(..shown);
    }

    pub(crate) fn flags(&self) -> PollFlags {
        let mut flags = PollFlags::IN;
        flags.set(PollFlags::OUT, !self.pending.is_empty());
        flags
    }

    /// What the user has done, a request for every byte.
    pub(crate) fn receive(&mut self) -> Vec<ScreenRequest> {
        let mut requests = Vec::new();
        let mut bytes = [0; 64];
        loop {
            match rustix::io::read(&self.socket, &mut bytes) {
                Ok(0) => requests.push(ScreenRequest::Closed),
                Ok(count) => {
                    requests.extend(std::iter::repeat_n(ScreenRequest::Interrupt, count));
                    continue;
                }
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => {}
                Err(_) => requests.push(ScreenRequest::Closed),
            }
            return requests;
        }
    }
}

impl AsFd for Screen {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_stuck_terminal_costs_lines_and_nothing_else() {
        let (socket, mut pane) = UnixStream::pair().unwrap();
        let mut screen = Screen::new(socket).unwrap();
        let line = "x".repeat(999);
        for _ in 0..10_000 {
            screen.show(&line);
            screen.flush();
        }
        assert!(screen.pending.len() <= Screen::FULL && screen.skipped > 1_000);
        let skipped = screen.skipped;
        pane.set_nonblocking(true).unwrap();
        let mut shown = Vec::new();
        while !screen.pending.is_empty() {
            let _ = pane.read_to_end(&mut shown);
            screen.flush();
        }
        screen.show("the end");
        screen.flush();
        let _ = pane.read_to_end(&mut shown);
        let shown = String::from_utf8(shown).unwrap();
        let lines: Vec<&str> = shown.lines().collect();
        let (last, rest) = lines.split_last().unwrap();
        let (note, whole) = rest.split_last().unwrap();
        assert_eq!(*last, "the end");
        assert_eq!(*note, format!("[{skipped} lines are not shown here]"));
        assert!(whole.iter().all(|shown| *shown == line), "every line is whole or absent");
        assert_eq!(whole.len() + skipped, 10_000);
    }

    #[test]
    fn requests_are_received_up_to_the_end() {
        let (socket, mut pane) = UnixStream::pair().unwrap();
        let mut screen = Screen::new(socket).unwrap();
        assert_eq!(screen.receive(), []);
        pane.write_all(b"..").unwrap();
        assert_eq!(screen.receive(), [ScreenRequest::Interrupt, ScreenRequest::Interrupt]);
        drop(pane);
        assert_eq!(screen.receive(), [ScreenRequest::Closed]);
        screen.show("it is not seen");
        screen.flush();
        assert!(screen.pending.is_empty());
    }
}
