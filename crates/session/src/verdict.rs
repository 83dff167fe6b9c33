//! How a run ended, decided from its stream and the child's exit together.

use model::{Limits, Outcome, StopCause, StopReason, Verdict};

use crate::Facts;

/// What is known when no process of the child's tree is left.
#[derive(Clone, Copy, Debug)]
pub struct Ending<'a> {
    /// After all events.
    pub facts: &'a Facts,
    /// The error of a timeout names it.
    pub limits: &'a Limits,
    /// Whether the agent was in the middle of its work.
    pub agent_working: bool,
    /// How another supervisor says that the run ended, where the child only passes its events on.
    pub told: Option<&'a Verdict>,
    /// The child's exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The signal that killed the child, if one did.
    pub signal: Option<i32>,
}

/// Decides how a run ended. It is a success only if the last message has no error, and the child
/// exited with code 0 or was stopped merely because it did not exit after that message.
pub fn decide(ending: Ending<'_>) -> Verdict {
    let facts = ending.facts;
    let failure = |outcome, error: String| Verdict { outcome, error: Some(error) };
    if let Some(verdict) = facts.stopping.and_then(|cause| cause.failure(ending.limits)) {
        return verdict;
    }
    // A child that was stopped after its last word did not choose how to exit.
    let exit_is_its_own = facts.stopping != Some(StopCause::LastWord);
    if exit_is_its_own && let Some(signal) = ending.signal {
        let error = format!("Sub-agent was killed by signal {signal}{}", last_words(facts));
        return failure(Outcome::KilledBySignal, error);
    }
    if let Some(told) = ending.told.filter(|told| told.outcome != Outcome::Completed) {
        return told.clone();
    }
    match (&facts.stop_reason, facts.provider_error.clone()) {
        (Some(StopReason::Aborted), error) => {
            let error = error.unwrap_or_else(|| "Sub-agent says that it was aborted".to_owned());
            return failure(Outcome::Cancelled, error);
        }
        (Some(StopReason::Error), None) => {
            let error = "The provider reported an error".to_owned();
            return failure(Outcome::ProviderError, error);
        }
        // An error counts, whatever stop reason comes with it.
        (_, Some(error)) => return failure(Outcome::ProviderError, error),
        (_, None) => {}
    }
    if exit_is_its_own && let Some(code) = ending.exit_code.filter(|code| *code != 0) {
        let error = format!("Sub-agent exited with code {code}{}", last_words(facts));
        return failure(Outcome::NonZeroExit, error);
    }
    if facts.message_lost {
        let error = "Interrupted: the last message of the sub-agent could not be read".to_owned();
        return failure(Outcome::Interrupted, error);
    }
    if facts.assistant_messages == 0 {
        let error = format!("Sub-agent exited without saying anything{}", last_words(facts));
        return failure(Outcome::NoAssistantMessage, error);
    }
    if ending.agent_working {
        return failure(
            Outcome::Interrupted,
            "Interrupted: sub-agent exited in the middle of its work, without an answer".to_owned(),
        );
    }
    Verdict { outcome: Outcome::Completed, error: None }
}

/// The reason is most often in the last lines of standard error.
fn last_words(facts: &Facts) -> String {
    match facts.last_stderr.join(" ") {
        words if words.is_empty() => words,
        words => format!(": {words}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(change: impl FnOnce(&mut Facts), exit: Result<i32, i32>, working: bool) -> Verdict {
        let mut facts = Facts { assistant_messages: 1, ..Facts::default() };
        change(&mut facts);
        decide(Ending {
            facts: &facts,
            limits: &Limits { timeout_ms: Some(1_500), ..Limits::default() },
            agent_working: working,
            told: None,
            exit_code: exit.ok(),
            signal: exit.err(),
        })
    }

    fn stopped(cause: StopCause) -> impl FnOnce(&mut Facts) {
        move |facts| facts.stopping = Some(cause)
    }

    fn reason(reason: &str) -> impl FnOnce(&mut Facts) {
        let reason = StopReason::from(reason.to_owned());
        move |facts| facts.stop_reason = Some(reason)
    }

    #[test]
    fn stream_and_exit_decide_together() {
        let word = |change: Box<dyn FnOnce(&mut Facts)>, exit, working| {
            verdict(change, exit, working).outcome.word()
        };
        assert_eq!(word(Box::new(reason("stop")), Ok(0), false), "completed");
        assert_eq!(word(Box::new(reason("length")), Ok(0), false), "completed");
        assert_eq!(word(Box::new(|_| ()), Ok(0), false), "completed");
        assert_eq!(word(Box::new(reason("error")), Ok(0), false), "provider_error");
        assert_eq!(word(Box::new(reason("error")), Ok(1), false), "provider_error");
        assert_eq!(word(Box::new(reason("aborted")), Ok(0), false), "cancelled");
        assert_eq!(word(Box::new(reason("stop")), Ok(3), false), "non_zero_exit");
        assert_eq!(word(Box::new(reason("stop")), Err(9), false), "killed_by_signal");
        assert_eq!(
            word(Box::new(|facts| facts.assistant_messages = 0), Ok(0), false),
            "no_assistant_message"
        );
        assert_eq!(word(Box::new(reason("toolUse")), Ok(0), true), "interrupted");
        assert_eq!(word(Box::new(reason("toolUse")), Ok(0), false), "completed");
        let complaint = |facts: &mut Facts| facts.provider_error = Some("boom".to_owned());
        assert_eq!(word(Box::new(complaint), Ok(0), false), "provider_error");
        let lost = |facts: &mut Facts| facts.message_lost = true;
        assert_eq!(word(Box::new(lost), Ok(0), false), "interrupted");
        assert_eq!(word(Box::new(reason("stop")), Ok(0), true), "interrupted");
        assert_eq!(word(Box::new(stopped(StopCause::Timeout)), Err(15), false), "timeout");
        assert_eq!(word(Box::new(stopped(StopCause::Loop)), Ok(0), false), "loop");
        assert_eq!(word(Box::new(stopped(StopCause::Cancelled)), Ok(0), false), "cancelled");
        assert_eq!(word(Box::new(stopped(StopCause::ParentDied)), Err(9), false), "interrupted");
        assert_eq!(word(Box::new(stopped(StopCause::LastWord)), Err(15), false), "completed");
        assert_eq!(word(Box::new(stopped(StopCause::Leftovers)), Ok(0), false), "completed");
        assert_eq!(word(Box::new(stopped(StopCause::Leftovers)), Ok(2), false), "non_zero_exit");
    }

    #[test]
    fn the_words_name_what_people_need() {
        let error = |verdict: Verdict| verdict.error.unwrap();
        assert_eq!(
            error(verdict(stopped(StopCause::Timeout), Err(15), false)),
            "Timed out after 1.5s. Consider resuming with a longer timeout."
        );
        let complaint = |facts: &mut Facts| facts.last_stderr = vec!["no API key".to_owned()];
        assert_eq!(
            error(verdict(complaint, Ok(1), false)),
            "Sub-agent exited with code 1: no API key"
        );
    }
}
