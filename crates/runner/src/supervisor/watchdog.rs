//! When a run is stopped: time, and the last word. Pure; the time comes from outside.

use std::time::{Duration, Instant};

use model::{Event, Limits};

use crate::dialect::{LastWord, Reading};

/// A child that has settled and still runs after this time is stopped.
const AFTER_SETTLED: Duration = Duration::from_millis(250);
/// A child that seems to have finished, and is silent for this time, is stopped.
const AFTER_SILENCE: Duration = Duration::from_secs(5);

/// Watches the time of one run.
#[derive(Debug)]
pub(crate) struct Watchdog {
    deadline: Option<Instant>,
    debounce: Duration,
    last_tool_activity: Option<Instant>,
    is_extended: bool,
    end: End,
    /// Whether the agent has gone on working after its last message.
    is_working: bool,
    /// Whether the child's output is not being read, so that its silence means nothing.
    is_deaf: bool,
}

/// What the watchdog has noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// The time is up.
    Timeout,
    /// The time would be up, but a tool was active shortly before. Raised once.
    TimeoutExtended,
    /// The agent has said its last word but does not exit.
    LastWord,
}

/// How far the agent's work has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Working,
    /// It may have been the last message; silence will tell.
    Expected {
        silent_since: Instant,
    },
    Settled {
        at: Instant,
    },
}

impl Watchdog {
    pub(crate) fn new(limits: &Limits, started: Instant) -> Watchdog {
        Watchdog {
            // A timeout beyond what a clock can hold is none.
            deadline: limits
                .timeout_ms
                .and_then(|timeout| started.checked_add(Duration::from_millis(timeout))),
            debounce: Duration::from_millis(limits.extend_timeout_debounce_ms),
            last_tool_activity: None,
            is_extended: false,
            end: End::Working,
            is_working: false,
            is_deaf: false,
        }
    }

    /// Notes whether the child's output is read at all.
    pub(crate) fn set_deaf(&mut self, is_deaf: bool, now: Instant) {
        if self.is_deaf
            && let End::Expected { silent_since } = &mut self.end
        {
            *silent_since = now;
        }
        self.is_deaf = is_deaf;
    }

    /// Takes note of a line that the child has printed.
    pub(crate) fn observe(&mut self, reading: &Reading, now: Instant) {
        if reading.is_tool_activity {
            self.last_tool_activity = Some(now);
        }
        if matches!(self.end, End::Settled { .. }) {
            return;
        }
        let is_message = matches!(reading.event, Some(Event::AssistantMessage { .. }));
        self.is_working = match reading.last_word {
            LastWord::NotYet => true,
            LastWord::Unchanged => self.is_working && !is_message,
            LastWord::MessageEnded | LastWord::AgentEnded | LastWord::Said => false,
        };
        self.end = match (reading.last_word, self.end) {
            (LastWord::Said, _) => End::Settled { at: now },
            (LastWord::NotYet, _) => End::Working,
            (LastWord::MessageEnded | LastWord::AgentEnded, _)
            | (LastWord::Unchanged, End::Expected { .. }) => End::Expected { silent_since: now },
            (LastWord::Unchanged, end) => end,
        };
    }

    /// Whether the agent was in the middle of something: it called a tool, or went on after its
    /// last message, and did not say that it had finished.
    pub(crate) fn is_working(&self) -> bool {
        self.is_working
    }

    /// Whether the agent has said its last word, after which nothing can change the result.
    pub(crate) fn has_settled(&self) -> bool {
        matches!(self.end, End::Settled { .. })
    }

    /// When to look again.
    pub(crate) fn next(&self) -> Option<Instant> {
        let time = if self.is_extended { self.extended_deadline() } else { self.deadline };
        let end = match self.end {
            End::Working => None,
            End::Expected { .. } if self.is_deaf => None,
            End::Expected { silent_since } => Some(silent_since + AFTER_SILENCE),
            End::Settled { at } => Some(at + AFTER_SETTLED),
        };
        time.into_iter().chain(end).min()
    }

    /// What is to be done now, if anything.
    pub(crate) fn check(&mut self, now: Instant) -> Option<Alarm> {
        match self.end {
            End::Settled { at } if now >= at + AFTER_SETTLED => return Some(Alarm::LastWord),
            End::Expected { silent_since }
                if !self.is_deaf && now >= silent_since + AFTER_SILENCE =>
            {
                return Some(Alarm::LastWord);
            }
            _ => {}
        }
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return None;
        }
        if self.extended_deadline().is_some_and(|deadline| now >= deadline) {
            Some(Alarm::Timeout)
        } else if self.is_extended {
            None
        } else {
            self.is_extended = true;
            Some(Alarm::TimeoutExtended)
        }
    }

    fn extended_deadline(&self) -> Option<Instant> {
        let active_until = self.last_tool_activity.map(|last| last + self.debounce);
        self.deadline.map(|deadline| active_until.map_or(deadline, |until| until.max(deadline)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watchdog(timeout_ms: Option<u64>, debounce_ms: u64) -> (Watchdog, impl Fn(u64) -> Instant) {
        let start = Instant::now();
        let limits =
            Limits { timeout_ms, extend_timeout_debounce_ms: debounce_ms, ..Limits::default() };
        (Watchdog::new(&limits, start), move |at| start + Duration::from_millis(at))
    }

    fn tool() -> Reading {
        Reading { is_tool_activity: true, last_word: LastWord::NotYet, ..Reading::default() }
    }

    fn says(last_word: LastWord) -> Reading {
        Reading { last_word, ..Reading::default() }
    }

    #[test]
    fn a_silent_child_is_stopped_at_its_timeout_exactly() {
        let (mut watchdog, at) = watchdog(Some(2_000), 30_000);
        assert_eq!(watchdog.next(), Some(at(2_000)));
        assert_eq!(watchdog.check(at(1_999)), None);
        assert_eq!(watchdog.check(at(2_000)), Some(Alarm::Timeout));
    }

    #[test]
    fn a_tool_extends_the_time_and_each_activity_again() {
        let (mut watchdog, at) = watchdog(Some(2_000), 1_000);
        watchdog.observe(&tool(), at(1_500));
        assert_eq!(watchdog.check(at(2_000)), Some(Alarm::TimeoutExtended));
        assert_eq!(watchdog.next(), Some(at(2_500)));
        watchdog.observe(&tool(), at(2_400));
        assert_eq!(watchdog.check(at(2_500)), None);
        assert_eq!(watchdog.next(), Some(at(3_400)));
        assert_eq!(watchdog.check(at(3_400)), Some(Alarm::Timeout));
    }

    #[test]
    fn an_early_tool_does_not_shorten_the_time_and_zero_extends_nothing() {
        let (mut early, at) = watchdog(Some(2_000), 1_000);
        early.observe(&tool(), at(100));
        assert_eq!(early.check(at(1_999)), None);
        assert_eq!(early.check(at(2_000)), Some(Alarm::Timeout));
        let (mut hard, at) = watchdog(Some(2_000), 0);
        hard.observe(&tool(), at(1_999));
        assert_eq!(hard.check(at(2_000)), Some(Alarm::Timeout));
    }

    #[test]
    fn without_a_timeout_there_is_nothing_to_wait_for() {
        let (mut watchdog, at) = watchdog(None, 1_000);
        watchdog.observe(&tool(), at(1));
        assert_eq!((watchdog.next(), watchdog.check(at(u64::from(u32::MAX)))), (None, None));
    }

    #[test]
    fn a_settled_agent_gets_a_quarter_of_a_second() {
        let (mut watchdog, at) = watchdog(None, 0);
        watchdog.observe(&says(LastWord::Said), at(100));
        watchdog.observe(&says(LastWord::NotYet), at(200));
        assert!(watchdog.has_settled() && !watchdog.is_working());
        assert_eq!(watchdog.next(), Some(at(350)));
        assert_eq!(watchdog.check(at(349)), None);
        assert_eq!(watchdog.check(at(350)), Some(Alarm::LastWord));
    }

    #[test]
    fn a_last_message_without_a_last_word_gets_five_seconds_of_silence() {
        let (mut watchdog, at) = watchdog(None, 0);
        watchdog.observe(&says(LastWord::MessageEnded), at(0));
        watchdog.observe(&says(LastWord::AgentEnded), at(100));
        watchdog.observe(&says(LastWord::Unchanged), at(1_000));
        assert!(!watchdog.is_working() && !watchdog.has_settled());
        assert_eq!(watchdog.next(), Some(at(6_000)));
        assert_eq!(watchdog.check(at(6_000)), Some(Alarm::LastWord));
    }

    #[test]
    fn silence_counts_only_while_somebody_listens() {
        let (mut watchdog, at) = watchdog(None, 0);
        watchdog.observe(&says(LastWord::MessageEnded), at(0));
        watchdog.set_deaf(true, at(1_000));
        assert_eq!((watchdog.next(), watchdog.check(at(60_000))), (None, None));
        watchdog.set_deaf(false, at(60_000));
        assert_eq!(watchdog.next(), Some(at(65_000)));
        assert_eq!(watchdog.check(at(65_000)), Some(Alarm::LastWord));
    }

    #[test]
    fn an_agent_that_goes_on_has_not_finished() {
        let (mut watchdog, at) = watchdog(None, 0);
        watchdog.observe(&says(LastWord::AgentEnded), at(0));
        watchdog.observe(&says(LastWord::NotYet), at(10));
        assert_eq!((watchdog.next(), watchdog.is_working()), (None, true));
    }
}
