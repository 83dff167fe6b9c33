//! The process at the other end of a socket.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

/// A process that has connected to us, which need not be a child of ours.
///
/// Systems other than Linux do not tell which process it is; there it counts as ended.
#[derive(Debug)]
pub struct Peer {
    process: Option<OwnedFd>,
}

impl Peer {
    /// The process at the other end, which must belong to our own user.
    #[cfg(target_os = "linux")]
    pub fn of(stream: &UnixStream) -> io::Result<Peer> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        use rustix::process::{PidfdFlags, geteuid, pidfd_open};

        let credentials = rustix::net::sockopt::socket_peercred(stream)?;
        if credentials.uid != geteuid() {
            return Err(io::Error::other("a process of another user has connected"));
        }
        let process = pidfd_open(credentials.pid, PidfdFlags::empty()).ok();
        // As long as its end of the socket is open, its id cannot have been reused.
        let mut fds = [PollFd::new(stream, PollFlags::IN)];
        let _ = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        let is_open = !fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR);
        Ok(Peer { process: process.filter(|_| is_open) })
    }

    /// The process at the other end.
    #[cfg(not(target_os = "linux"))]
    pub fn of(_: &UnixStream) -> io::Result<Peer> {
        Ok(Peer { process: None })
    }

    /// Whether it has ended; never blocks.
    pub fn has_ended(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};

        self.process.as_ref().is_none_or(|process| {
            let mut fds = [PollFd::new(process, PollFlags::IN)];
            let _ = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
            !fds[0].revents().is_empty()
        })
    }

    /// Sends SIGKILL to that process and to no other.
    pub fn kill(&self) {
        #[cfg(target_os = "linux")]
        if let Some(process) = &self.process {
            let kill = rustix::process::Signal::KILL;
            // A failure to send means that it is gone.
            let _ = rustix::process::pidfd_send_signal(process, kill);
        }
    }
}
