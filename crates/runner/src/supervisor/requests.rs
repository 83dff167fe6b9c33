//! What other programs ask of this run.

use std::os::fd::BorrowedFd;
use std::time::Instant;

use model::Lifetime;
use store::{RunDir, StopForce, Watch};

use crate::durations::REQUEST_INTERVAL;

pub(crate) struct Requests {
    dir: RunDir,
    /// Only for background runs: a parent has its lifeline, and the kernel needs 10 ms to take down
    /// a watch, for which the parent of a foreground run would have to wait.
    watch: Option<Watch>,
    /// When to look although the system has told nothing.
    pub(crate) look_at: Option<Instant>,
    seen: Option<StopForce>,
    /// Whether the directory of a background run was deleted. The parent of a foreground run still
    /// gets its result.
    pub(crate) is_removed: bool,
}

impl Requests {
    pub(crate) fn of(dir: RunDir, lifetime: Lifetime) -> Requests {
        let watch = (lifetime == Lifetime::Background).then(|| {
            let mut watch = Watch::new();
            watch.add(dir.path());
            watch
        });
        // One may have come before the watch was there.
        Requests { dir, watch, look_at: Some(Instant::now()), seen: None, is_removed: false }
    }

    /// Becomes readable when there may be a request.
    pub(crate) fn waker(&self) -> Option<BorrowedFd<'_>> {
        self.watch.as_ref()?.waker()
    }

    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.look_at.is_some_and(|at| now >= at)
    }

    /// A request that is new, or stronger than the one before.
    pub(crate) fn look(&mut self, now: Instant) -> Option<StopForce> {
        let is_told = self.watch.as_ref().is_some_and(|watch| {
            watch.drain();
            watch.is_complete()
        });
        let is_watched = self.watch.is_some();
        let is_being_removed = is_watched && self.dir.is_being_removed();
        self.is_removed = is_being_removed && self.dir.is_removed();
        self.look_at = (!is_told || is_being_removed).then_some(now + REQUEST_INTERVAL);
        let request = self.dir.stop_requested().filter(|request| Some(*request) > self.seen)?;
        self.seen = Some(request);
        Some(request)
    }
}
