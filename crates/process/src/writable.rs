//! Writing to a pipe without a reader, perhaps, and still noticing other events.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Whether a descriptor can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writable {
    /// At least [`Writable::PIECE`] bytes can be written without blocking.
    Yes,
    /// The interruption can be read.
    Interrupted,
    /// Nothing was read at the other end within the limit.
    No,
}

impl Writable {
    /// What every pipe takes in one piece once it can be written at all.
    pub const PIECE: usize = 4096;
}

/// Waits until `output` can be written or `interruption`, if there is one, can be read, but no
/// longer than `limit`.
pub fn wait_until_writable(
    output: BorrowedFd<'_>,
    interruption: Option<BorrowedFd<'_>>,
    limit: Option<Duration>,
) -> Writable {
    let mut fds = vec![PollFd::from_borrowed_fd(output, PollFlags::OUT)];
    fds.extend(interruption.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
    let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
    while let Err(rustix::io::Errno::INTR) = poll(&mut fds, limit.as_ref()) {}
    let is_ready = |index: usize| fds.get(index).is_some_and(|fd| !fd.revents().is_empty());
    match (is_ready(1), is_ready(0)) {
        (true, _) => Writable::Interrupted,
        (false, true) => Writable::Yes,
        (false, false) => Writable::No,
    }
}
