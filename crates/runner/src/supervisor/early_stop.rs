//! What asks a run to stop before its agent was started.

use std::os::fd::{AsFd, BorrowedFd};

use model::{Lifetime, StopCause, Verdict};
use process::{Notice, SignalPipe};
use rustix::event::PollFlags;
use store::{RunDir, StopForce};

use super::event_sink::EventSink;
use super::screen::ScreenRequest;
use crate::lifeline::ToSupervisor;

pub(super) struct EarlyStop<'a> {
    signals: &'a mut SignalPipe,
    pub(super) sink: &'a mut EventSink,
    dir: &'a RunDir,
    /// The first one decides.
    pub(super) cause: Option<StopCause>,
    /// What the caller says to it.
    seen: Option<String>,
    /// Whether there is no time for a process to end by itself.
    pub(super) is_urgent: bool,
    /// The signal that has asked this process to end.
    quit: Option<Notice>,
    /// Whether the user has pressed Ctrl-C in the pane.
    is_interrupted: bool,
}

impl<'a> EarlyStop<'a> {
    pub(super) fn new(
        signals: &'a mut SignalPipe,
        sink: &'a mut EventSink,
        dir: &'a RunDir,
    ) -> EarlyStop<'a> {
        let (cause, quit) = (None, None);
        let (seen, is_urgent, is_interrupted) = (None, false, false);
        EarlyStop { signals, sink, dir, cause, seen, is_urgent, quit, is_interrupted }
    }

    /// Becomes ready when there may be something to look at. Requests by files are not told of.
    pub(super) fn wakers(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        let signals = Some((self.signals.as_fd(), PollFlags::IN));
        [signals, self.sink.lifeline(), self.sink.screen()].into_iter().flatten()
    }

    /// Looks everywhere, and returns whether the run is to be stopped.
    pub(super) fn look(&mut self) -> bool {
        // Before the signals: a process that was stopped while its parent died is hung up on by the kernel.
        let (requests, parent_is_gone) = self.sink.parent_requests();
        if parent_is_gone {
            self.stop(StopCause::ParentDied, false);
        }
        for request in requests {
            match request {
                // It has spent nothing.
                ToSupervisor::Start { .. } | ToSupervisor::NearlySpent => {}
                ToSupervisor::Stop => self.stop(StopCause::Cancelled, false),
                ToSupervisor::Kill => self.stop(StopCause::Cancelled, true),
                ToSupervisor::Spent(seen) => {
                    self.seen = Some(seen);
                    self.stop(StopCause::Budget, false);
                }
            }
        }
        for notice in self.signals.drain() {
            if !matches!(notice, Notice::ChildEnded | Notice::Continued) {
                let is_again = self.quit == Some(notice);
                self.quit.get_or_insert(notice);
                self.stop(StopCause::Cancelled, is_again);
            }
        }
        for request in self.sink.screen_requests() {
            let is_again = self.is_interrupted && request == ScreenRequest::Interrupt;
            self.is_interrupted |= request == ScreenRequest::Interrupt;
            self.stop(StopCause::Cancelled, is_again);
        }
        let is_background = self.sink.meta.lifetime == Lifetime::Background;
        match self.dir.stop_requested() {
            Some(force) => self.stop(StopCause::Cancelled, force == StopForce::AtOnce),
            None if is_background && self.dir.is_removed() => {
                self.stop(StopCause::DirectoryRemoved, false);
            }
            None => {}
        }
        self.cause.is_some()
    }

    /// How the run ends if it was stopped.
    pub(super) fn verdict(&self) -> Option<(StopCause, Verdict)> {
        let cause = self.cause?;
        Some((cause, cause.failure(&self.sink.meta.limits, self.seen.as_deref())?))
    }

    fn stop(&mut self, cause: StopCause, is_urgent: bool) {
        self.cause.get_or_insert(cause);
        self.is_urgent |= is_urgent;
    }
}
