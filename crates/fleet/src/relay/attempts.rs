//! Which attempt of a task is followed, and when it is left for another one. Pure.

use model::Record;

use crate::TaskResult;
use crate::events::EventLines;

/// The attempt whose events are printed. By default none has begun.
#[derive(Debug, Default)]
pub(super) struct FollowedAttempt {
    number: u32,
    /// Whether the result of the task is that of this attempt, so that no other one counts.
    is_final: bool,
    has_seen_result: bool,
    /// How often it had a result and had not said everything that was sent before.
    vain_looks: u32,
    lines: EventLines,
}

/// So often it is looked again for events that were sent and do not arrive. A server that lost a node delivers some late.
const VAIN_LOOKS: u32 = 24;

/// What a result means for the attempt that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnResult {
    /// Nothing more comes.
    Conclude,
    /// Nothing more comes, and something of what was sent is missing.
    ConcludeWithGap,
    /// What was sent before the result may still be on its way.
    LookAgain,
    /// It is the result of another attempt, whose events have to be read.
    Switch,
}

impl FollowedAttempt {
    /// Zero before the first one.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Whether events of this attempt concern the task still: it is the one that is followed, or a later one.
    pub(super) fn accepts(&self, number: u32) -> bool {
        number == self.number || (number > self.number && !self.is_final)
    }

    /// The events that a chunk of this attempt completes.
    pub(super) fn read(&mut self, chunk: &[u8]) -> Vec<Record> {
        self.lines.read(chunk)
    }

    /// Follows another attempt, from its first event on.
    pub(super) fn switch_to(&mut self, number: u32, is_final: bool) {
        let has_seen_result = self.has_seen_result || is_final;
        *self = FollowedAttempt { number, is_final, has_seen_result, ..FollowedAttempt::default() };
    }

    /// The task has this result, and the attempt has said nothing for a while.
    pub(super) fn on_result(&mut self, result: &TaskResult) -> OnResult {
        // No attempt has made a result that is numbered zero.
        if result.attempt != 0 && result.attempt != self.number {
            return OnResult::Switch;
        }
        let is_first_look = !std::mem::replace(&mut self.has_seen_result, true);
        if self.lines.has_all_before(result.last_chunk) {
            return if is_first_look { OnResult::LookAgain } else { OnResult::Conclude };
        }
        self.vain_looks += 1;
        if self.vain_looks > VAIN_LOOKS { OnResult::ConcludeWithGap } else { OnResult::LookAgain }
    }

    /// The attempt has said that it has ended, which is the last that it says.
    pub(super) fn on_end(&mut self, result: &TaskResult) -> OnResult {
        self.has_seen_result = true;
        self.on_result(result)
    }
}

#[cfg(test)]
mod tests {
    use model::{Budget, Outcome, RunId, SessionId};

    use super::*;
    use crate::message::Unrun;

    fn result(attempt: u32) -> TaskResult {
        let task = Unrun {
            run_id: &RunId::parse("01a1e067-9fdf-74f3-92a0-b653fa59fb30").unwrap(),
            session_id: &SessionId::parse("0123456789abcdef").unwrap(),
            name: "scout",
            budget: Budget::default(),
            now: 17,
        };
        TaskResult { attempt, ..TaskResult::unrun(task, Outcome::Completed, "") }
    }

    fn followed(number: u32, is_final: bool) -> FollowedAttempt {
        let mut followed = FollowedAttempt::default();
        followed.switch_to(number, is_final);
        followed
    }

    #[test]
    fn a_result_decides_which_attempt_is_followed_to_its_end() {
        use OnResult::{Conclude, LookAgain, Switch};
        for (what, number, is_final, of, silent, silent_again, ended) in [
            ("its own", 2, false, 2, LookAgain, Conclude, Conclude),
            ("of an earlier attempt", 2, false, 1, Switch, Switch, Switch),
            ("of a later attempt", 2, false, 3, Switch, Switch, Switch),
            ("of no attempt", 2, false, 0, LookAgain, Conclude, Conclude),
            ("before the first event", 0, false, 1, Switch, Switch, Switch),
            ("cancelled before the first event", 0, false, 0, LookAgain, Conclude, Conclude),
            (
                "its own, which was seen before it was chosen",
                1,
                true,
                1,
                Conclude,
                Conclude,
                Conclude,
            ),
        ] {
            let mut silence = followed(number, is_final);
            let seen = [silence.on_result(&result(of)), silence.on_result(&result(of))];
            assert_eq!(seen, [silent, silent_again], "a result {what}");
            assert_eq!(followed(number, is_final).on_end(&result(of)), ended, "a result {what}");
        }
    }

    #[test]
    fn nothing_is_concluded_before_all_that_was_sent_has_arrived() {
        let chunk =
            |number| crate::EventChunk { format: crate::Format, number, text: String::new() };
        let mut attempt = followed(1, false);
        let result = TaskResult { last_chunk: 3, ..result(1) };
        attempt.read(&serde_json::to_vec(&chunk(1)).unwrap());
        for _ in 0..VAIN_LOOKS {
            assert_eq!(attempt.on_result(&result), OnResult::LookAgain);
        }
        assert_eq!(attempt.on_result(&result), OnResult::ConcludeWithGap, "it never arrives");
        attempt.read(&serde_json::to_vec(&chunk(2)).unwrap());
        assert_eq!(attempt.on_result(&result), OnResult::Conclude);
    }

    #[test]
    fn later_attempts_are_accepted_until_one_is_final() {
        for (number, is_final, accepted) in [
            (0, false, [true, true, true, true]),
            (2, false, [false, false, true, true]),
            (2, true, [false, false, true, false]),
            (1, true, [false, true, false, false]),
        ] {
            let attempt = followed(number, is_final);
            let accepts = [0, 1, 2, 3].map(|number| attempt.accepts(number));
            assert_eq!(accepts, accepted, "{attempt:?}");
        }
    }

    #[test]
    fn an_attempt_that_is_followed_again_is_read_from_its_first_event() {
        let event = model::Event::Stderr { text: "a".to_owned() };
        let line = serde_json::to_string(&Record { seq: 1, at: 17, event }).unwrap() + "\n";
        let chunk = crate::EventChunk { format: crate::Format, number: 1, text: line };
        let chunk = serde_json::to_vec(&chunk).unwrap();
        let mut attempt = followed(1, false);
        let counts = [attempt.read(&chunk).len(), attempt.read(&chunk).len()];
        attempt.switch_to(2, false);
        attempt.switch_to(1, true);
        assert_eq!((counts, attempt.read(&chunk).len(), attempt.number()), ([1, 0], 1, 1));
    }
}
