//! Every reason to stop a child, asked in one place. Pure: the time comes from outside.
//!
//! A rule is a file here, a [`StopCause`] with its words, and an outcome.

mod budget;
mod last_word;
mod leftovers;
mod looping;
mod timeout;

use std::time::{Duration, Instant};

use model::{Event, Limits, StopCause};
use protocol::Reading;
use session::Facts;

use budget::BudgetRule;
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
    /// Whether the work of an agent that has finished is being reviewed, so that only a request stops the run.
    pub(crate) is_reviewing: bool,
    /// Whether the agent waits for an answer to a question.
    pub(crate) is_asking: bool,
}

/// A run must be stopped.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stop {
    pub(crate) cause: StopCause,
    /// What the rule saw, where the cause alone does not say it.
    pub(crate) seen: Option<String>,
}

impl Stop {
    pub(crate) fn seen(cause: StopCause, seen: String) -> Stop {
        Stop { cause, seen: Some(seen) }
    }
}

impl From<StopCause> for Stop {
    fn from(cause: StopCause) -> Stop {
        Stop { cause, seen: None }
    }
}

impl From<Stop> for Event {
    fn from(Stop { cause, seen }: Stop) -> Event {
        Event::Stopping { cause, seen }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ruling {
    Stop(Stop),
    /// The run goes on, but this belongs into its record.
    Record(Event),
}

/// One reason to stop a child.
trait Rule {
    /// Takes note of what the agent has printed. A cause stops the run there and then, and nothing
    /// that the agent prints later counts.
    fn observe(&mut self, _reading: &Reading, _now: Instant) -> Option<Stop> {
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
    requested: Option<Stop>,
    leftovers: LeftoversRule,
    last_word: LastWordRule,
    timeout: TimeoutRule,
    looping: LoopRule,
    budget: BudgetRule,
}

impl Rules {
    pub(crate) fn new(limits: &Limits, started: Instant) -> Rules {
        Rules {
            requested: None,
            leftovers: LeftoversRule,
            last_word: LastWordRule::default(),
            timeout: TimeoutRule::new(limits, started),
            looping: LoopRule::new(limits),
            budget: BudgetRule::new(limits),
        }
    }

    fn all(&mut self) -> [&mut dyn Rule; 5] {
        let Rules { leftovers, last_word, timeout, looping, budget, .. } = self;
        [leftovers, last_word, timeout, looping, budget]
    }

    /// Takes note of what the agent has printed, and says why the run must stop there and then.
    pub(crate) fn observe(&mut self, reading: &Reading, now: Instant) -> Option<Stop> {
        // Every rule takes note, also behind one that has decided.
        let causes = self.all().map(|rule| rule.observe(reading, now));
        causes.into_iter().flatten().next()
    }

    /// The run is to be stopped, for a reason from outside. The first one counts.
    pub(crate) fn request(&mut self, stop: impl Into<Stop>) {
        self.requested.get_or_insert_with(|| stop.into());
    }

    /// Whether the run is to be stopped, for a reason from outside.
    pub(crate) fn is_stop_requested(&self) -> bool {
        self.requested.is_some()
    }

    /// The agent was started once more: it has said nothing yet. Its time goes on.
    pub(crate) fn restart(&mut self) {
        self.last_word = LastWordRule::default();
    }

    /// The agent waits for a word, and gets none: its last one was the last.
    pub(crate) fn dismiss(&mut self, now: Instant) {
        self.last_word.dismiss(now);
    }

    /// The time that a review has taken is not the agent's.
    pub(crate) fn grant(&mut self, time: Duration) {
        self.timeout.grant(time);
    }

    /// The budget of the call is spent, as these words say. Stops an agent that works; one that has finished, and then goes on
    /// after all, is stopped when it does.
    pub(crate) fn spend_call(&mut self, seen: String, has_said_something: bool) -> Option<Stop> {
        self.budget.spend_call(seen.clone());
        let is_working = self.last_word.is_working || !has_said_something;
        is_working.then_some(Stop { cause: StopCause::Budget, seen: Some(seen) })
    }

    /// Whether the agent is to be told that little is left of its budget. It is told once.
    pub(crate) fn take_budget_due(&mut self) -> bool {
        self.budget.take_due()
    }

    /// What is to be done now, if anything. A run is stopped once.
    pub(crate) fn check(&mut self, situation: &Situation<'_>, now: Instant) -> Option<Ruling> {
        // An agent that has finished may have been stopped already, but its review can be stopped once more.
        let is_reviewing = situation.is_reviewing;
        let stopped = situation.facts.stopping;
        if stopped.is_some_and(|cause| !is_reviewing || !cause.is_cleanup()) {
            return None;
        }
        if is_reviewing {
            return self.requested.clone().map(Ruling::Stop);
        }
        let requested = self.requested.clone().map(|stop| {
            // What has already been decided is not changed by a later request.
            Ruling::Stop(if situation.exited_at.is_some() {
                StopCause::Leftovers.into()
            } else if self.last_word.has_settled() {
                StopCause::LastWord.into()
            } else {
                stop
            })
        });
        requested.or_else(|| self.all().into_iter().find_map(|rule| rule.check(situation, now)))
    }

    pub(crate) fn next_deadline(&self, situation: &Situation<'_>) -> Option<Instant> {
        if situation.facts.stopping.is_some() || situation.is_reviewing {
            return None;
        }
        let Rules { leftovers, last_word, timeout, looping, budget, .. } = self;
        let rules: [&dyn Rule; 5] = [leftovers, last_word, timeout, looping, budget];
        rules.into_iter().filter_map(|rule| rule.next_deadline(situation)).min()
    }

    /// Whether the agent is in the middle of something: it called a tool, or went on after its
    /// last message, and did not say that it had finished.
    pub(crate) fn agent_is_working(&self) -> bool {
        self.last_word.is_working
    }

    /// Whether the agent has said its last word, after which nothing can change the result.
    pub(crate) fn has_settled(&self) -> bool {
        self.last_word.has_settled()
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
        Situation {
            facts,
            exited_at: None,
            is_unread: false,
            is_reviewing: false,
            is_asking: false,
        }
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
        assert_eq!(ruling, Some(Ruling::Stop(Stop::from(StopCause::ParentDied))));
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
        assert_eq!(ruling, Some(Ruling::Stop(Stop::from(StopCause::LastWord))));
        let mut exited = rules(2_000, at(0));
        exited.request(StopCause::Cancelled);
        let situation = Situation { exited_at: Some(at(1)), ..running(&facts) };
        assert_eq!(
            exited.check(&situation, at(2)),
            Some(Ruling::Stop(Stop::from(StopCause::Leftovers)))
        );
    }

    #[test]
    fn a_review_ends_by_a_request_alone_and_costs_the_agent_no_time() {
        let at = clock();
        let mut rules = rules(2_000, at(0));
        let stopping = Some(StopCause::LastWord);
        for facts in [Facts::default(), Facts { stopping, ..Facts::default() }] {
            let situation =
                Situation { exited_at: Some(at(1)), is_reviewing: true, ..running(&facts) };
            assert_eq!(rules.check(&situation, at(9_000)), None);
            assert_eq!(rules.next_deadline(&situation), None);
            let mut rules = super::tests::rules(2_000, at(0));
            rules.request(StopCause::Cancelled);
            let ruling = rules.check(&situation, at(9_000));
            assert_eq!(ruling, Some(Ruling::Stop(StopCause::Cancelled.into())));
        }
        rules.grant(Duration::from_secs(7));
        let facts = Facts::default();
        assert_eq!(rules.next_deadline(&running(&facts)), Some(at(9_000)));
        let cancelled = Facts { stopping: Some(StopCause::Cancelled), ..Facts::default() };
        rules.request(StopCause::ParentDied);
        let situation = Situation { is_reviewing: true, ..running(&cancelled) };
        assert_eq!(rules.check(&situation, at(3)), None);
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
        assert_eq!(
            rules.check(&situation, at(102)),
            Some(Ruling::Stop(Stop::from(StopCause::Leftovers)))
        );
    }
}
