//! The line between a supervisor and its parent.
//!
//! A private Unix socket that carries lines of JSON both ways. Its end is a message too: when the
//! parent dies, however it dies, the supervisor sees end-of-file and takes the tree down.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use model::{Activity, Record, RunResult, Secrets};
use process::{Line, LineBuffer, ReadStatus};
use rustix::event::{PollFd, PollFlags};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::poll::poll_ready;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToParent {
    /// It holds the run's lock; the parent can let go of its own.
    Ready,
    /// It will not carry out the run, and says why.
    Refused(String),
    /// There are too many processes, or too little memory, to start the child; nothing was begun. The
    /// last message.
    NoRoom(String),
    /// Something happened.
    Event(Record),
    /// The child does something else now.
    Activity(Activity),
    /// Nothing of the tree is left. The last message, with the contents of `result.json`, and why
    /// there is no such file, if there is none.
    Result { result: Box<RunResult>, not_kept: Option<String> },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToSupervisor {
    /// Start the child, with variables for it alone, which are written nowhere. The first message.
    Start { secrets: Secrets },
    /// SIGTERM, grace, SIGKILL.
    Stop,
    /// SIGKILL.
    Kill,
    /// The budget of the call is nearly spent: the agent comes to an end.
    NearlySpent,
    /// The budget of the call is spent, as these words say.
    Spent(String),
}

/// One end of a lifeline. Never blocks.
pub(crate) struct Lifeline {
    socket: UnixStream,
    incoming: LineBuffer,
    outgoing: Vec<u8>,
    is_open: bool,
}

impl Lifeline {
    /// With more than this waiting to be read by the other side, nothing more should be said.
    const CONGESTED: usize = 1024 * 1024;

    pub(crate) fn new(socket: UnixStream) -> io::Result<Lifeline> {
        socket.set_nonblocking(true)?;
        let incoming = LineBuffer::unbounded();
        Ok(Lifeline { socket, incoming, outgoing: Vec::new(), is_open: true })
    }

    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    pub(crate) fn wants_to_write(&self) -> bool {
        self.is_open && !self.outgoing.is_empty()
    }

    /// Whether the other side does not keep up.
    pub(crate) fn is_congested(&self) -> bool {
        self.is_open && self.outgoing.len() > Lifeline::CONGESTED
    }

    /// Queues a message. It leaves with the next [`Lifeline::flush`].
    pub(crate) fn send(&mut self, message: &impl Serialize) {
        // Plain data with string keys always serialises.
        if serde_json::to_writer(&mut self.outgoing, message).is_ok() {
            self.outgoing.push(b'\n');
        }
    }

    /// Queues an event that has been serialised already.
    pub(crate) fn send_event(&mut self, record: &[u8]) {
        self.outgoing.extend_from_slice(b"{\"event\":");
        self.outgoing.extend_from_slice(record);
        self.outgoing.extend_from_slice(b"}\n");
    }

    /// Sends as much as the other side takes now.
    pub(crate) fn flush(&mut self) {
        let mut sent = 0;
        while self.is_open && sent < self.outgoing.len() {
            // MSG_NOSIGNAL is not needed: SIGPIPE is ignored in every Rust program.
            match rustix::io::write(&self.socket, &self.outgoing[sent..]) {
                Ok(count) => sent += count,
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => break,
                Err(_) => self.is_open = false,
            }
        }
        self.outgoing.drain(..sent);
        if !self.is_open {
            self.outgoing.clear();
        }
    }

    /// Waits for the parent's first message, and returns its secrets; `None` if the parent is gone.
    pub(crate) fn await_start(&mut self) -> Option<Secrets> {
        loop {
            self.flush();
            // What the parent says after that stays in the buffer for later.
            if let Some(ToSupervisor::Start { secrets }) = self.next_message() {
                return Some(secrets);
            }
            if !self.is_open {
                return None;
            }
            poll_ready(&mut [PollFd::new(&self.socket, PollFlags::IN)], None);
            self.read();
        }
    }

    /// Reads what has arrived. Messages that are not understood are passed over.
    pub(crate) fn receive<Message: DeserializeOwned>(&mut self) -> Vec<Message> {
        self.read();
        std::iter::from_fn(|| self.next_message()).collect()
    }

    fn read(&mut self) {
        match self.incoming.read_from(&self.socket) {
            Ok(ReadStatus::Bytes(_) | ReadStatus::WouldBlock) => {}
            Ok(ReadStatus::EndOfFile) | Err(_) => self.is_open = false,
        }
    }

    fn next_message<Message: DeserializeOwned>(&mut self) -> Option<Message> {
        while let Some(line) = self.incoming.next_line() {
            if let Line::Whole(line) = line
                && let Ok(message) = serde_json::from_slice(line)
            {
                return Some(message);
            }
        }
        None
    }
}

impl AsFd for Lifeline {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
