//! Signals as something that can be polled.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

/// Why a [`SignalPipe`] woke us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Somebody asks this process to end: SIGINT, SIGTERM or SIGHUP.
    Quit,
    /// A child of this process ended.
    ChildEnded,
}

/// Becomes readable when a signal has arrived.
pub struct SignalPipe(SignalDelivery<UnixStream, SignalOnly>);

impl SignalPipe {
    /// Catches the signals that ask this process to end.
    pub fn for_quitting() -> io::Result<SignalPipe> {
        SignalPipe::open(&[SIGINT, SIGTERM, SIGHUP])
    }

    /// Catches those and the end of children.
    pub fn for_supervising() -> io::Result<SignalPipe> {
        SignalPipe::open(&[SIGINT, SIGTERM, SIGHUP, SIGCHLD])
    }

    fn open(signals: &[i32]) -> io::Result<SignalPipe> {
        let (read, write) = UnixStream::pair()?;
        read.set_nonblocking(true)?;
        write.set_nonblocking(true)?;
        SignalDelivery::with_pipe(read, write, SignalOnly, signals).map(SignalPipe)
    }

    /// What has arrived since the last call. Equal signals may have become one.
    pub fn drain(&mut self) -> impl Iterator<Item = Notice> + use<> {
        self.0.pending().map(|signal| match signal {
            SIGCHLD => Notice::ChildEnded,
            _ => Notice::Quit,
        })
    }
}

impl AsFd for SignalPipe {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.get_read().as_fd()
    }
}
