//! Writing to a pipe that nobody may be reading, without becoming deaf.

use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, poll};

/// Whether a descriptor can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writable {
    /// At least [`Writable::PIECE`] bytes can be written without blocking.
    Yes,
    /// Something else wants attention first.
    Interrupted,
}

impl Writable {
    /// What every pipe takes in one piece once it can be written at all.
    pub const PIECE: usize = 4096;
}

/// Waits until `output` can be written or `interruption` can be read.
pub fn wait_until_writable(output: BorrowedFd<'_>, interruption: BorrowedFd<'_>) -> Writable {
    let mut fds = [
        PollFd::from_borrowed_fd(output, PollFlags::OUT),
        PollFd::from_borrowed_fd(interruption, PollFlags::IN),
    ];
    while let Err(rustix::io::Errno::INTR) = poll(&mut fds, None) {}
    if fds[1].revents().is_empty() { Writable::Yes } else { Writable::Interrupted }
}
