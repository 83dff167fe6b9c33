//! A child that has exited must not leave anything running.

use std::time::Instant;

use model::StopCause;

use super::{Rule, Ruling, Situation, Stop};
use crate::durations::LEFTOVER_PATIENCE;

pub(super) struct LeftoversRule;

impl Rule for LeftoversRule {
    fn check(&mut self, situation: &Situation<'_>, now: Instant) -> Option<Ruling> {
        let is_due = self.next_deadline(situation).is_some_and(|due| now >= due);
        is_due.then_some(Ruling::Stop(Stop::from(StopCause::Leftovers)))
    }

    fn next_deadline(&self, situation: &Situation<'_>) -> Option<Instant> {
        situation.exited_at.map(|exited| exited + LEFTOVER_PATIENCE)
    }
}
