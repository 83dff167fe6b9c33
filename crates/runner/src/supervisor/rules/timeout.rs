//! A run has so much time, and more while its tools are at work. While its agent waits for an answer, the
//! clock stands still.

use std::time::{Duration, Instant};

use model::{Event, Limits, StopCause};
use protocol::Reading;

use super::{Rule, Ruling, Situation, Stop};

pub(super) struct TimeoutRule {
    deadline: Option<Instant>,
    debounce: Duration,
    last_tool_activity: Option<Instant>,
    is_extended: bool,
    /// Since when the clock stands still.
    standing_since: Option<Instant>,
}

impl TimeoutRule {
    pub(super) fn new(limits: &Limits, started: Instant) -> TimeoutRule {
        TimeoutRule {
            // A timeout beyond what a clock can hold is none.
            deadline: limits
                .timeout_ms
                .and_then(|timeout| started.checked_add(Duration::from_millis(timeout))),
            debounce: Duration::from_millis(limits.extend_timeout_debounce_ms),
            last_tool_activity: None,
            is_extended: false,
            standing_since: None,
        }
    }

    /// Lets the clock stand still while the agent waits for an answer, and then go on.
    fn keep_clock(&mut self, is_asking: bool, now: Instant) {
        if is_asking {
            self.standing_since.get_or_insert(now);
        } else if let Some(since) = self.standing_since.take() {
            let stood = now.saturating_duration_since(since);
            for at in [&mut self.deadline, &mut self.last_tool_activity].into_iter().flatten() {
                *at += stood;
            }
        }
    }

    /// Gives the child so much more time.
    pub(super) fn grant(&mut self, time: Duration) {
        self.deadline = self.deadline.and_then(|deadline| deadline.checked_add(time));
    }

    fn extended_deadline(&self) -> Option<Instant> {
        let active_until = self.last_tool_activity.map(|last| last + self.debounce);
        self.deadline.map(|deadline| active_until.map_or(deadline, |until| until.max(deadline)))
    }
}

impl Rule for TimeoutRule {
    fn observe(&mut self, reading: &Reading, now: Instant) -> Option<Stop> {
        if reading.is_tool_activity {
            self.last_tool_activity = Some(now);
        }
        None
    }

    fn check(&mut self, situation: &Situation<'_>, now: Instant) -> Option<Ruling> {
        self.keep_clock(situation.is_asking, now);
        if situation.is_asking {
            return None;
        }
        let is_over = self.deadline.is_some_and(|deadline| now >= deadline);
        if !is_over || situation.exited_at.is_some() {
            return None;
        }
        if self.extended_deadline().is_some_and(|deadline| now >= deadline) {
            return Some(Ruling::Stop(Stop { cause: StopCause::Timeout, seen: None }));
        }
        let is_told = std::mem::replace(&mut self.is_extended, true);
        (!is_told).then_some(Ruling::Record(Event::TimeoutExtended))
    }

    fn next_deadline(&self, situation: &Situation<'_>) -> Option<Instant> {
        let deadline = if self.is_extended { self.extended_deadline() } else { self.deadline };
        let is_still = situation.is_asking || self.standing_since.is_some();
        deadline.filter(|_| situation.exited_at.is_none() && !is_still)
    }
}

#[cfg(test)]
mod tests {
    use session::Facts;

    use super::super::testing::{clock, running, tool};
    use super::*;

    fn rule(timeout_ms: Option<u64>, debounce_ms: u64) -> (TimeoutRule, impl Fn(u64) -> Instant) {
        let at = clock();
        let limits =
            Limits { timeout_ms, extend_timeout_debounce_ms: debounce_ms, ..Limits::default() };
        (TimeoutRule::new(&limits, at(0)), at)
    }

    const STOP: Option<Ruling> = Some(Ruling::Stop(Stop { cause: StopCause::Timeout, seen: None }));
    const EXTEND: Option<Ruling> = Some(Ruling::Record(Event::TimeoutExtended));

    #[test]
    fn a_silent_child_is_stopped_at_its_timeout_exactly() {
        let (mut rule, at) = rule(Some(2_000), 30_000);
        let facts = Facts::default();
        assert_eq!(rule.next_deadline(&running(&facts)), Some(at(2_000)));
        assert_eq!(rule.check(&running(&facts), at(1_999)), None);
        assert_eq!(rule.check(&running(&facts), at(2_000)), STOP);
    }

    #[test]
    fn a_tool_extends_the_time_and_each_activity_again() {
        let (mut rule, at) = rule(Some(2_000), 1_000);
        let facts = Facts::default();
        rule.observe(&tool(), at(1_500));
        assert_eq!(rule.check(&running(&facts), at(2_000)), EXTEND);
        assert_eq!(rule.next_deadline(&running(&facts)), Some(at(2_500)));
        rule.observe(&tool(), at(2_400));
        assert_eq!(rule.check(&running(&facts), at(2_500)), None);
        assert_eq!(rule.next_deadline(&running(&facts)), Some(at(3_400)));
        assert_eq!(rule.check(&running(&facts), at(3_400)), STOP);
    }

    #[test]
    fn an_early_tool_does_not_shorten_the_time_and_zero_extends_nothing() {
        let facts = Facts::default();
        let (mut early, at) = rule(Some(2_000), 1_000);
        early.observe(&tool(), at(100));
        assert_eq!(early.check(&running(&facts), at(1_999)), None);
        assert_eq!(early.check(&running(&facts), at(2_000)), STOP);
        let (mut hard, at) = rule(Some(2_000), 0);
        hard.observe(&tool(), at(1_999));
        assert_eq!(hard.check(&running(&facts), at(2_000)), STOP);
    }

    #[test]
    fn the_clock_stands_still_while_a_question_waits() {
        let (mut rule, at) = rule(Some(2_000), 1_000);
        let facts = Facts::default();
        let asking = || Situation { is_asking: true, ..running(&facts) };
        rule.observe(&tool(), at(1_400));
        assert_eq!(rule.check(&asking(), at(1_500)), None);
        assert_eq!(rule.next_deadline(&asking()), None);
        assert_eq!(rule.check(&asking(), at(9_999)), None);
        assert_eq!(rule.check(&running(&facts), at(11_500)), None);
        assert_eq!(rule.next_deadline(&running(&facts)), Some(at(12_000)));
        assert_eq!(rule.check(&running(&facts), at(12_000)), EXTEND);
        assert_eq!(rule.check(&running(&facts), at(12_399)), None);
        assert_eq!(rule.check(&running(&facts), at(12_400)), STOP);
    }

    #[test]
    fn without_a_timeout_there_is_nothing_to_wait_for() {
        let (mut rule, at) = rule(None, 1_000);
        let facts = Facts::default();
        rule.observe(&tool(), at(1));
        assert_eq!(rule.next_deadline(&running(&facts)), None);
        assert_eq!(rule.check(&running(&facts), at(u64::from(u32::MAX))), None);
    }
}
