//! Every reason to stop a child, asked in one place. Pure: the time comes from outside.
//!
//! A rule is a file here, a [`StopCause`] with its words, and an outcome.

mod last_word;
mod leftovers;
mod looping;
mod timeout;

use std::time::Instant;

use model::{Event, Limits, StopCause};
use protocol::Reading;
use session::Facts;

use last_word::LastWordRule;
use leftovers::LeftoversRule;
use looping::LoopRule;
use timeout::TimeoutRule;

/// What the rules know of a run besides what its agent prints.
pub(crate) struct Situation<'a> {
    pub(crate) facts: &'a Facts,
    /// When the child was seen to have exited.
    pub(crate) exited_at: Option<Instant>,
    /// Whether the child's output is not being read, so that its silence means nothing.
    pub(crate) is_unread: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ruling {
    Stop(StopCause),
    /// The run goes on, but this belongs into its record.
    Record(Event),
}

/// One reason to stop a child.
trait Rule {
    /// Takes note of what the agent has printed. A cause stops the run there and then, and nothing
    /// that the agent prints later counts.
    fn observe(&mut self, _reading: &Reading, _now: Instant) -> Option<StopCause> {
        None
    }

    /// Decides, now that time has passed.
    fn check(&mut self, _situation: &Situation<'_>, _now: Instant) -> Option<Ruling> {
        None
    }

    fn next_deadline(&self, _situation: &Situation<'_>) -> Option<Instant> {
        None
    }
}

pub(crate) struct Rules {
    /// Why the user, the caller or another program wants the run stopped.
    requested: Option<StopCause>,
    leftovers: LeftoversRule,
    last_word: LastWordRule,
    timeout: TimeoutRule,
    looping: LoopRule,
}

impl Rules {
    pub(crate) fn new(limits: &Limits, started: Instant) -> Rules {
        Rules {
            requested: None,
            leftovers: LeftoversRule,
            last_word: LastWordRule::default(),
            timeout: TimeoutRule::new(limits, started),
            looping: LoopRule::new(limits),
        }
    }

    fn all(&mut self) -> [&mut dyn Rule; 4] {
        [&mut self.leftovers, &mut self.last_word, &mut self.timeout, &mut self.looping]
    }

    /// Takes note of what the agent has printed, and says why the run must stop there and then.
    pub(crate) fn observe(&mut self, reading: &Reading, now: Instant) -> Option<StopCause> {
        // Every rule takes note, also behind one that has decided.
        let causes = self.all().map(|rule| rule.observe(reading, now));
        causes.into_iter().flatten().next()
    }

    /// The run is to be stopped, for a reason from outside. The first one counts.
    pub(crate) fn request(&mut self, cause: StopCause) {
        self.requested.get_or_insert(cause);
    }

    /// What is to be done now, if anything. A run is stopped once.
    pub(crate) fn check(&mut self, situation: &Situation<'_>, now: Instant) -> Option<Ruling> {
        if situation.facts.stopping.is_some() {
            return None;
        }
        let requested = self.requested.map(|cause| {
            // What has already been decided is not changed by a later request.
            Ruling::Stop(if situation.exited_at.is_some() {
                StopCause::Leftovers
            } else if self.last_word.has_settled() {
                StopCause::LastWord
            } else {
                cause
            })
        });
        requested.or_else(|| self.all().into_iter().find_map(|rule| rule.check(situation, now)))
    }

    pub(crate) fn next_deadline(&self, situation: &Situation<'_>) -> Option<Instant> {
        if situation.facts.stopping.is_some() {
            return None;
        }
        let rules: [&dyn Rule; 4] =
            [&self.leftovers, &self.last_word, &self.timeout, &self.looping];
        rules.into_iter().filter_map(|rule| rule.next_deadline(situation)).min()
    }

    /// Whether the agent is in the middle of something: it called a tool, or went on after its
    /// last message, and did not say that it had finished.
    pub(crate) fn agent_is_working(&self) -> bool {
        self.last_word.is_working
    }
}

#[cfg(test)]
mod testing {
    use std::time::Duration;

    use protocol::LastWord;

    use super::*;

    pub(super) fn tool() -> Reading {
        Reading { is_tool_activity: true, last_word: LastWord::NotYet, ..Reading::default() }
    }

    pub(super) fn says(last_word: LastWord) -> Reading {
        Reading { last_word, ..Reading::default() }
    }

    /// A run that goes on and whose output is read.
    pub(super) fn running(facts: &Facts) -> Situation<'_> {
        Situation { facts, exited_at: None, is_unread: false }
    }

    /// Milliseconds after a beginning.
    pub(super) fn clock() -> impl Fn(u64) -> Instant {
        let start = Instant::now();
        move |at| start + Duration::from_millis(at)
    }
}

#[cfg(test)]
mod tests {
    use protocol::LastWord;

    use super::testing::{clock, running, says};
    use super::*;

    fn rules(timeout_ms: u64, at: Instant) -> Rules {
        Rules::new(&Limits { timeout_ms: Some(timeout_ms), ..Limits::default() }, at)
    }

    #[test]
    fn the_first_request_stops_a_run_once() {
        let at = clock();
        let mut rules = rules(2_000, at(0));
        let mut facts = Facts::default();
        assert_eq!(rules.check(&running(&facts), at(1)), None);
        rules.request(StopCause::ParentDied);
        rules.request(StopCause::Cancelled);
        let ruling = rules.check(&running(&facts), at(1));
        assert_eq!(ruling, Some(Ruling::Stop(StopCause::ParentDied)));
        facts.stopping = Some(StopCause::ParentDied);
        assert_eq!(rules.check(&running(&facts), at(9_999)), None);
        assert_eq!(rules.next_deadline(&running(&facts)), None);
    }

    #[test]
    fn a_request_does_not_change_what_is_decided() {
        let at = clock();
        let facts = Facts::default();
        let mut settled = rules(2_000, at(0));
        settled.observe(&says(LastWord::Said), at(1));
        settled.request(StopCause::Cancelled);
        let ruling = settled.check(&running(&facts), at(2));
        assert_eq!(ruling, Some(Ruling::Stop(StopCause::LastWord)));
        let mut exited = rules(2_000, at(0));
        exited.request(StopCause::Cancelled);
        let situation = Situation { exited_at: Some(at(1)), ..running(&facts) };
        assert_eq!(exited.check(&situation, at(2)), Some(Ruling::Stop(StopCause::Leftovers)));
    }

    #[test]
    fn an_exited_child_has_no_time_and_no_last_word_left() {
        let at = clock();
        let facts = Facts::default();
        let mut rules = rules(50, at(0));
        rules.observe(&says(LastWord::Said), at(1));
        let situation = Situation { exited_at: Some(at(2)), ..running(&facts) };
        assert_eq!(rules.next_deadline(&situation), Some(at(102)));
        assert_eq!(rules.check(&situation, at(101)), None);
        assert_eq!(rules.check(&situation, at(102)), Some(Ruling::Stop(StopCause::Leftovers)));
    }
}
