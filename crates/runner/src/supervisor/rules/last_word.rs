//! An agent that has said its last word, and does not exit, is stopped.

use std::time::Instant;

use model::{Event, StopCause};
use protocol::{LastWord, Reading};

use super::{Rule, Ruling, Situation, Stop};
use crate::durations::{SETTLED_PATIENCE, SILENCE_PATIENCE};

#[derive(Default)]
pub(super) struct LastWordRule {
    end: End,
    /// Whether the agent, which waits for a word, has said that nothing else is left to do.
    waits_settled: bool,
    /// Whether the agent has gone on working after its last message.
    pub(super) is_working: bool,
    /// Whether the child's output was not being read at the last check.
    was_unread: bool,
}

/// How far the agent's work has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    #[default]
    Working,
    /// It may have been the last message; silence will tell.
    Expected { silent_since: Instant },
    /// It has said its last word.
    Settled { at: Instant },
}

impl LastWordRule {
    /// Whether the agent has said its last word, after which nothing can change the result.
    pub(super) fn has_settled(&self) -> bool {
        matches!(self.end, End::Settled { .. })
    }

    /// The agent waits for a word, and gets none: its input ends.
    pub(super) fn dismiss(&mut self, now: Instant) {
        self.end = if self.waits_settled {
            End::Settled { at: now }
        } else {
            End::Expected { silent_since: now }
        };
    }
}

impl Rule for LastWordRule {
    fn observe(&mut self, reading: &Reading, now: Instant) -> Option<Stop> {
        if self.has_settled() {
            return None;
        }
        let is_message = |event: &Event| matches!(event, Event::AssistantMessage { .. });
        self.is_working = match reading.last_word {
            LastWord::NotYet => true,
            LastWord::Unchanged => self.is_working && !reading.events.iter().any(is_message),
            LastWord::MessageEnded
            | LastWord::AgentEnded
            | LastWord::Idle { .. }
            | LastWord::Said => false,
        };
        if let LastWord::Idle { is_settled } = reading.last_word {
            self.waits_settled = is_settled;
        }
        self.end = match (reading.last_word, self.end) {
            (LastWord::Said, _) => End::Settled { at: now },
            // The conversation decides whether it was the last word.
            (LastWord::NotYet | LastWord::Idle { .. }, _) => End::Working,
            (LastWord::MessageEnded | LastWord::AgentEnded, _)
            | (LastWord::Unchanged, End::Expected { .. }) => End::Expected { silent_since: now },
            (LastWord::Unchanged, end) => end,
        };
        None
    }

    fn check(&mut self, situation: &Situation<'_>, now: Instant) -> Option<Ruling> {
        // Silence counts only while the output is read.
        let is_unread = situation.is_unread || situation.is_asking;
        let was_unread = std::mem::replace(&mut self.was_unread, is_unread);
        if let End::Expected { silent_since } = &mut self.end
            && was_unread
        {
            *silent_since = now;
        }
        let is_due = self.next_deadline(situation).is_some_and(|due| now >= due);
        is_due.then_some(Ruling::Stop(Stop::from(StopCause::LastWord)))
    }

    fn next_deadline(&self, situation: &Situation<'_>) -> Option<Instant> {
        match self.end {
            _ if situation.exited_at.is_some() => None,
            End::Working => None,
            End::Expected { .. } if situation.is_unread || situation.is_asking => None,
            End::Expected { silent_since } => Some(silent_since + SILENCE_PATIENCE),
            End::Settled { at } => Some(at + SETTLED_PATIENCE),
        }
    }
}

#[cfg(test)]
mod tests {
    use session::Facts;

    use super::super::testing::{clock, running, says};
    use super::*;

    const STOP: Option<Ruling> =
        Some(Ruling::Stop(Stop { cause: StopCause::LastWord, seen: None }));

    #[test]
    fn a_settled_agent_gets_a_quarter_of_a_second() {
        let (mut rule, at, facts) = (LastWordRule::default(), clock(), Facts::default());
        rule.observe(&says(LastWord::Said), at(100));
        rule.observe(&says(LastWord::NotYet), at(200));
        assert!(rule.has_settled() && !rule.is_working);
        assert_eq!(rule.next_deadline(&running(&facts)), Some(at(350)));
        assert_eq!(rule.check(&running(&facts), at(349)), None);
        assert_eq!(rule.check(&running(&facts), at(350)), STOP);
    }

    #[test]
    fn a_last_message_without_a_last_word_gets_five_seconds_of_silence() {
        let (mut rule, at, facts) = (LastWordRule::default(), clock(), Facts::default());
        rule.observe(&says(LastWord::MessageEnded), at(0));
        rule.observe(&says(LastWord::AgentEnded), at(100));
        rule.observe(&says(LastWord::Unchanged), at(1_000));
        assert!(!rule.is_working && !rule.has_settled());
        assert_eq!(rule.next_deadline(&running(&facts)), Some(at(6_000)));
        assert_eq!(rule.check(&running(&facts), at(6_000)), STOP);
    }

    #[test]
    fn silence_counts_only_while_the_output_is_read() {
        let (mut rule, at, facts) = (LastWordRule::default(), clock(), Facts::default());
        rule.observe(&says(LastWord::MessageEnded), at(0));
        let unread = Situation { is_unread: true, ..running(&facts) };
        assert_eq!(rule.check(&unread, at(1_000)), None);
        assert_eq!((rule.next_deadline(&unread), rule.check(&unread, at(60_000))), (None, None));
        assert_eq!(rule.check(&running(&facts), at(60_000)), None);
        assert_eq!(rule.next_deadline(&running(&facts)), Some(at(65_000)));
        assert_eq!(rule.check(&running(&facts), at(65_000)), STOP);
    }

    #[test]
    fn an_agent_that_waits_is_left_alone_until_it_is_dismissed() {
        for (is_settled, patience) in [(true, 250), (false, 5_000)] {
            let (mut rule, at, facts) = (LastWordRule::default(), clock(), Facts::default());
            rule.observe(&says(LastWord::Idle { is_settled }), at(0));
            assert_eq!(rule.next_deadline(&running(&facts)), None);
            assert!(!rule.is_working);
            rule.dismiss(at(100));
            assert_eq!(rule.next_deadline(&running(&facts)), Some(at(100 + patience)));
            assert_eq!(rule.has_settled(), is_settled);
        }
    }

    #[test]
    fn an_agent_that_goes_on_has_not_finished() {
        let (mut rule, at, facts) = (LastWordRule::default(), clock(), Facts::default());
        rule.observe(&says(LastWord::AgentEnded), at(0));
        rule.observe(&says(LastWord::NotYet), at(10));
        assert_eq!(rule.next_deadline(&running(&facts)), None);
        assert!(rule.is_working);
    }
}
