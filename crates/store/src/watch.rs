//! Notifications of the system about changes in directories.

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Watches directories for files that appear in them or vanish from them.
///
/// The system limits the number of watches of a user, and reports no change without one. So the
/// caller also looks from time to time; see [`Watch::interval`].
#[derive(Debug)]
pub struct Watch {
    #[cfg(target_os = "linux")]
    inotify: Option<std::os::fd::OwnedFd>,
    is_complete: bool,
}

/// How often to look where the system reports no changes.
const INTERVAL_WITHOUT_WATCH: Duration = Duration::from_millis(250);
/// How often to look where it does: it reports neither a lock that is released nor a file that is
/// changed from another machine.
const INTERVAL_WITH_WATCH: Duration = Duration::from_secs(2);

impl Watch {
    /// Watches nothing yet.
    pub fn new() -> Watch {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::inotify;
            let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
            let inotify = inotify::init(flags).ok();
            Watch { is_complete: inotify.is_some(), inotify }
        }
        #[cfg(not(target_os = "linux"))]
        Watch { is_complete: false }
    }

    /// Also watches this directory.
    pub fn add(&mut self, directory: &Path) {
        self.watch(directory, false);
    }

    /// Also watches this directory, and reports when one of its files is written, too.
    pub fn add_with_writes(&mut self, directory: &Path) {
        self.watch(directory, true);
    }

    fn watch(&mut self, directory: &Path, with_writes: bool) {
        #[cfg(target_os = "linux")]
        if let Some(inotify) = &self.inotify {
            use rustix::fs::inotify::WatchFlags;
            let writes = if with_writes { WatchFlags::MODIFY } else { WatchFlags::empty() };
            let flags = writes
                | WatchFlags::CREATE
                | WatchFlags::MOVED_TO
                | WatchFlags::DELETE
                | WatchFlags::DELETE_SELF
                | WatchFlags::MOVE_SELF
                | WatchFlags::ONLYDIR
                | WatchFlags::DONT_FOLLOW;
            if rustix::fs::inotify::add_watch(inotify, directory, flags).is_err() {
                self.is_complete = false;
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (directory, with_writes);
    }

    /// Becomes readable when something has changed.
    pub fn waker(&self) -> Option<BorrowedFd<'_>> {
        #[cfg(target_os = "linux")]
        return self.inotify.as_ref().map(std::os::fd::AsFd::as_fd);
        #[cfg(not(target_os = "linux"))]
        None
    }

    /// Whether the system has reported a change since [`Watch::drain`].
    pub fn is_told(&self) -> bool {
        let Some(waker) = self.waker() else { return false };
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::from_borrowed_fd(waker, PollFlags::IN)], Some(&at_once))
            .is_ok_and(|ready| ready > 0)
    }

    /// Forgets the reported changes. Call it before looking, so that no later change is missed.
    pub fn drain(&self) {
        #[cfg(target_os = "linux")]
        if let Some(inotify) = &self.inotify {
            let mut buffer = [0; 4096];
            while rustix::io::read(inotify, &mut buffer).is_ok_and(|length| length > 0) {}
        }
    }

    /// Whether the system reports the changes of every directory that was added.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// After which time to look although no change was reported.
    pub fn interval(&self) -> Duration {
        if self.is_complete { INTERVAL_WITH_WATCH } else { INTERVAL_WITHOUT_WATCH }
    }
}

impl Default for Watch {
    fn default() -> Watch {
        Watch::new()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn is_told(watch: &Watch, seconds: i64) -> bool {
        let waker = watch.waker().into_iter();
        let mut fds: Vec<_> = waker.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        poll(&mut fds, Some(&Timespec { tv_sec: seconds, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
    }

    #[test]
    fn what_appears_is_told_and_forgotten() {
        let top = tempfile::tempdir().unwrap();
        let mut watch = Watch::new();
        watch.add(top.path());
        assert!(!is_told(&watch, 0));
        std::fs::write(top.path().join("result.json"), "{}").unwrap();
        assert!(is_told(&watch, 5));
        watch.drain();
        std::fs::write(top.path().join("result.json"), "{ }").unwrap();
        assert!(!is_told(&watch, 0), "only what appears");
        watch.add_with_writes(top.path());
        std::fs::write(top.path().join("result.json"), "{  }").unwrap();
        assert!(is_told(&watch, 5), "what is written, too");
        watch.drain();
        assert_eq!(watch.interval(), INTERVAL_WITH_WATCH);
        watch.add(&top.path().join("missing"));
        assert_eq!(watch.interval(), INTERVAL_WITHOUT_WATCH);
    }
}
