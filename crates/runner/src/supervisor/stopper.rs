//! Stopping a tree: asking, waiting, killing, and knowing when to give up. Pure.

use std::time::Instant;

use process::KILL_PATIENCE;

use crate::durations::{KILL_INTERVAL, STOP_GRACE};

/// How far the stopping of a tree has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stopper {
    /// The run goes on.
    #[default]
    Idle,
    /// SIGTERM was sent.
    Asked { at: Instant },
    /// SIGKILL is being sent.
    Killing { since: Instant, next: Instant },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopStep {
    /// Send SIGKILL to the whole tree.
    Kill,
    /// Nothing helps.
    GiveUp,
}

impl Stopper {
    pub(crate) fn is_idle(self) -> bool {
        self == Stopper::Idle
    }

    /// SIGTERM has just been sent.
    pub(crate) fn asked(&mut self, now: Instant) {
        *self = Stopper::Asked { at: now };
    }

    /// Skips the rest of the grace.
    pub(crate) fn hasten(&mut self, now: Instant) {
        if !matches!(self, Stopper::Killing { .. }) {
            *self = Stopper::Killing { since: now, next: now };
        }
    }

    pub(crate) fn next(self) -> Option<Instant> {
        match self {
            Stopper::Idle => None,
            Stopper::Asked { at } => Some(at + STOP_GRACE),
            Stopper::Killing { next, .. } => Some(next),
        }
    }

    pub(crate) fn check(&mut self, now: Instant) -> Option<StopStep> {
        if self.next().is_none_or(|next| now < next) {
            return None;
        }
        self.hasten(now);
        match self {
            Stopper::Killing { since, .. } if now >= *since + KILL_PATIENCE => {
                Some(StopStep::GiveUp)
            }
            Stopper::Killing { next, .. } => {
                *next = now + KILL_INTERVAL;
                Some(StopStep::Kill)
            }
            Stopper::Idle | Stopper::Asked { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn it_asks_waits_kills_repeats_and_gives_up() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut stopper = Stopper::default();
        assert_eq!((stopper.next(), stopper.check(at(9_999_999))), (None, None));
        stopper.asked(at(0));
        assert_eq!(stopper.check(at(4_999)), None);
        assert_eq!(stopper.next(), Some(at(5_000)));
        assert_eq!(stopper.check(at(5_000)), Some(StopStep::Kill));
        assert_eq!(stopper.check(at(5_019)), None);
        assert_eq!(stopper.check(at(5_020)), Some(StopStep::Kill));
        assert_eq!(stopper.check(at(15_000)), Some(StopStep::GiveUp));
    }

    #[test]
    fn hastening_kills_at_once() {
        let start = Instant::now();
        let mut stopper = Stopper::default();
        stopper.asked(start);
        stopper.hasten(start);
        assert_eq!(stopper.check(start), Some(StopStep::Kill));
    }
}
