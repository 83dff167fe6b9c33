//! What other programs ask of this run.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use store::{RunDir, StopRequest, Watch};

/// How long after it was made a request is noticed where the system does not tell of it.
const LOOKING: Duration = Duration::from_millis(250);

/// Notices the requests in the run's directory, without ever looking in vain where the system
/// tells of new files.
pub(crate) struct Requests {
    dir: RunDir,
    watch: Watch,
    /// When to look next, if nobody tells.
    look_at: Option<Instant>,
    heard: Option<StopRequest>,
}

impl Requests {
    pub(crate) fn of(dir: RunDir) -> Requests {
        let mut watch = Watch::new();
        watch.add(dir.path());
        let look_at = (!watch.is_complete()).then(Instant::now);
        // One that came before the watch was there.
        let look_at = look_at.or_else(|| dir.stop_requested().map(|_| Instant::now()));
        Requests { dir, watch, look_at, heard: None }
    }

    /// Becomes readable when there may be a request.
    pub(crate) fn waker(&self) -> Option<BorrowedFd<'_>> {
        self.watch.waker()
    }

    /// When to look although nobody has told.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.look_at
    }

    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.look_at.is_some_and(|at| now >= at)
    }

    /// A request that is new, or stronger than the one before.
    pub(crate) fn look(&mut self, now: Instant) -> Option<StopRequest> {
        self.watch.drain();
        self.look_at = (!self.watch.is_complete()).then_some(now + LOOKING);
        let request = self.dir.stop_requested().filter(|request| Some(*request) > self.heard)?;
        self.heard = Some(request);
        Some(request)
    }
}
