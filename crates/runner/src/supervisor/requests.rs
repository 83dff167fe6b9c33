//! What other programs ask of this run.

use std::os::fd::BorrowedFd;
use std::time::Instant;

use model::{LeftAnswer, Lifetime, Message};
use store::{RunDir, StopForce, StoreError, Watch};

use crate::durations::REQUEST_INTERVAL;

pub(crate) struct Requests {
    dir: RunDir,
    /// Only for background runs: a parent has its lifeline, and the kernel needs 10 ms to take down
    /// a watch, for which the parent of a foreground run would have to wait.
    watch: Option<Watch>,
    /// When to look although the system has told nothing.
    pub(crate) look_at: Option<Instant>,
    seen: Option<StopForce>,
    /// The number of the message that was looked for last, and was not there.
    next_message: u64,
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
        let look_at = Some(Instant::now());
        Requests { dir, watch, look_at, seen: None, next_message: 1, is_removed: false }
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

    /// The answer to a question of the agent, if one has come.
    pub(crate) fn answer(&self, question: u64) -> Option<Result<LeftAnswer, StoreError>> {
        self.dir.answer(question).transpose()
    }

    /// The next message to the agent, if there is one, with its number. Each is returned once, in the
    /// order of the numbers.
    pub(crate) fn next_message(&mut self) -> Option<(u64, Result<Message, StoreError>)> {
        let number = self.next_message;
        let message = self.dir.message(number).transpose()?;
        self.next_message += 1;
        Some((number, message))
    }
}
