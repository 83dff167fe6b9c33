//! Stops everything at once.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

/// A cancellation, which happens once and can be polled together with other file descriptors.
///
/// It is a pipe of which nothing is ever read: closing its other end wakes every thread that polls
/// it, now and later.
#[derive(Clone, Debug)]
pub struct Cancel(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    has_happened: AtomicBool,
    waiting: PipeReader,
    open: Mutex<Option<PipeWriter>>,
    /// The parts that end with the whole.
    parts: Mutex<Vec<Weak<Inner>>>,
}

impl Cancel {
    /// Not cancelled yet.
    pub fn new() -> io::Result<Cancel> {
        let (waiting, open) = io::pipe()?;
        Ok(Cancel(Arc::new(Inner {
            has_happened: AtomicBool::new(false),
            waiting,
            open: Mutex::new(Some(open)),
            parts: Mutex::default(),
        })))
    }

    /// A part, which can be cancelled alone, and is cancelled with the whole.
    pub fn part(&self) -> io::Result<Cancel> {
        let part = Cancel::new()?;
        let mut parts = self.0.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.retain(|part| part.strong_count() > 0);
        parts.push(Arc::downgrade(&part.0));
        drop(parts);
        // It may have happened meanwhile.
        if self.is_cancelled() {
            part.cancel();
        }
        Ok(part)
    }

    /// Wakes everything that waits.
    pub fn cancel(&self) {
        self.0.has_happened.store(true, Ordering::Release);
        *self.0.open.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let parts = self.0.parts.lock().unwrap_or_else(PoisonError::into_inner);
        for part in parts.iter().filter_map(Weak::upgrade) {
            Cancel(part).cancel();
        }
    }

    /// Whether [`Cancel::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.has_happened.load(Ordering::Acquire)
    }

    /// Waits for the cancellation, at most this long, and returns whether it has happened.
    pub fn wait(&self, at_most: Option<Duration>) -> bool {
        let deadline = at_most.map(|time| Instant::now() + time);
        loop {
            let mut fds = [PollFd::new(&self.0.waiting, PollFlags::IN)];
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let left = left.map(|left| Timespec::try_from(left).unwrap_or_default());
            match rustix::event::poll(&mut fds, left.as_ref()) {
                Ok(ready) => return ready > 0,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }
}

impl AsFd for Cancel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.waiting.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_happens_once_and_for_all_who_hold_it() {
        let cancel = Cancel::new().unwrap();
        let other = cancel.clone();
        assert!(!other.is_cancelled() && !other.wait(Some(Duration::ZERO)));
        cancel.cancel();
        cancel.cancel();
        assert!(other.is_cancelled() && cancel.is_cancelled());
        assert!(other.wait(None) && cancel.wait(Some(Duration::ZERO)));
    }

    #[test]
    fn a_part_can_end_alone_and_ends_with_the_whole() {
        let whole = Cancel::new().unwrap();
        let (first, second) = (whole.part().unwrap(), whole.part().unwrap());
        first.cancel();
        assert!(first.is_cancelled() && !second.is_cancelled() && !whole.is_cancelled());
        whole.cancel();
        assert!(second.is_cancelled() && whole.part().unwrap().is_cancelled());
    }
}
