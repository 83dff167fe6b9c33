//! Waiting for what can be read or written.

use std::thread::sleep;
use std::time::Duration;

use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;

/// How long to wait where the system cannot tell what is ready: out of memory, most likely, it must not become busy as well.
const PAUSE: Duration = Duration::from_millis(10);

/// Not every system can wait for longer. Its callers look again then.
const LONGEST: Duration = Duration::from_millis(i32::MAX as u64);

/// Waits until one of these is ready or the time is over, without end where none is given. Returns whether any may be ready.
pub(crate) fn poll_ready(fds: &mut [PollFd<'_>], timeout: Option<Duration>) -> bool {
    // The kernel never wakes too early for a deadline, but may be asked too late for one.
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout.min(LONGEST)).ok());
    match poll(fds, timeout.as_ref()) {
        Ok(count) => count > 0,
        Err(Errno::INTR) => false,
        Err(_) => {
            sleep(PAUSE);
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    use rustix::event::PollFlags;
    use rustix::process::{Resource, getrlimit};

    use super::*;

    #[test]
    fn it_says_whether_anything_is_ready_and_takes_a_deadline_of_any_length() {
        let (mut near, far) = UnixStream::pair().unwrap();
        let mut fds = [PollFd::new(&far, PollFlags::IN)];
        assert!(!poll_ready(&mut fds, Some(Duration::from_millis(1))));
        near.write_all(b"x").unwrap();
        for timeout in [None, Some(Duration::ZERO), Some(Duration::MAX)] {
            let mut fds = [PollFd::new(&far, PollFlags::IN)];
            assert!(poll_ready(&mut fds, timeout));
            assert!(fds[0].revents().contains(PollFlags::IN));
        }
    }

    #[test]
    fn a_system_that_cannot_tell_is_not_asked_again_at_once() {
        let (_near, far) = UnixStream::pair().unwrap();
        // No system looks at more than can be open.
        let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let most = usize::try_from(most).unwrap().min(1 << 24);
        let mut fds: Vec<PollFd<'_>> =
            (0..=most).map(|_| PollFd::new(&far, PollFlags::OUT)).collect();
        let began = Instant::now();
        assert!(!poll_ready(&mut fds, None), "all of them could be written");
        assert!(began.elapsed() >= PAUSE);
    }
}
