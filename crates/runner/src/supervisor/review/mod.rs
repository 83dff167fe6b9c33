//! What is asked of an agent's work after its last word: an answer that fits a schema, a check that passes. Pure;
//! [`step`] has the processes.
//!
//! The schema comes first: it costs little, and an agent that corrects its answer may change more than that. Every
//! new last word is looked at anew, so that what holds at the end holds for what the agent left. Each demand is told
//! to the agent once at most.

pub(crate) mod step;

use model::{CheckResult, ShellCommand};
use serde_json::Value;
use session::Demands;

use super::workplace::Workplace;

/// One thing that is asked of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Demand {
    /// The answer fits the schema.
    Answer,
    /// The check passes.
    Check,
}

#[derive(Default)]
pub(crate) struct Review {
    pub(crate) schema: Option<Value>,
    pub(crate) check: Option<ShellCommand>,
    /// Where the steps are taken.
    pub(crate) workplace: Option<Workplace>,
    /// How many messages the agent had said when the findings were made.
    messages: u64,
    answer: Finding,
    work: Finding,
}

/// What is known of one demand.
#[derive(Clone, Copy, Debug, Default)]
struct Finding {
    /// Whether it is met, if that is known of the last answer.
    is_met: Option<bool>,
    /// Whether the agent was told that it is not.
    is_told: bool,
}

impl Review {
    pub(crate) fn new(
        schema: Option<Value>,
        check: Option<ShellCommand>,
        workplace: Workplace,
    ) -> Review {
        Review { schema, check, workplace: Some(workplace), ..Review::default() }
    }

    pub(crate) fn demands(&self) -> Demands {
        Demands { schema: self.schema.is_some(), check: self.check.is_some() }
    }

    /// What is to be looked at next, of an agent that has said so many messages and has finished.
    pub(crate) fn next(&mut self, messages: u64) -> Option<Demand> {
        if messages != self.messages {
            self.messages = messages;
            (self.answer.is_met, self.work.is_met) = (None, None);
        }
        let Demands { schema, check } = self.demands();
        match (schema.then_some(self.answer.is_met), check.then_some(self.work.is_met)) {
            (Some(None), _) => Some(Demand::Answer),
            // Nothing can save the run.
            (Some(Some(false)), _) => None,
            (_, Some(None)) => Some(Demand::Check),
            _ => None,
        }
    }

    /// Takes note of what was found. Returns whether the agent is to be told, if it can be.
    pub(crate) fn found(&mut self, demand: Demand, is_met: bool, can_be_told: bool) -> bool {
        let finding = match demand {
            Demand::Answer => &mut self.answer,
            Demand::Check => &mut self.work,
        };
        finding.is_met = Some(is_met);
        let is_due = !is_met && can_be_told && !finding.is_told;
        finding.is_told |= is_due;
        is_due
    }
}

/// What an agent is told whose answer does not fit.
pub(crate) fn unfit_words(problem: &str) -> String {
    format!(
        "Your last message must be one JSON value that fits the JSON Schema of this task, alone or in one fenced \
         block. It does not: {problem}\n\nSend your whole answer again, corrected."
    )
}

/// What an agent is told whose work has not passed the check.
pub(crate) fn failed_words(check: &CheckResult) -> String {
    let CheckResult { command, output, .. } = check;
    let output = if output.trim().is_empty() {
        "It printed nothing.".to_owned()
    } else {
        format!("The end of its output:\n\n{}", output.trim_end())
    };
    format!(
        "Your work was checked with this command, which failed ({}):\n\n{command}\n\nCorrect your work so that the \
         command succeeds; it will be run once more. Then send your whole answer again.\n\n{output}",
        check.failure()
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn review(schema: bool, check: bool) -> Review {
        let check = check.then(|| ShellCommand { command: "true".to_owned(), timeout_ms: 1 });
        Review { schema: schema.then(|| json!({})), check, ..Review::default() }
    }

    #[test]
    fn nothing_is_looked_at_that_was_not_asked_for() {
        assert_eq!(review(false, false).next(1), None);
        assert_eq!(review(true, false).next(1), Some(Demand::Answer));
        assert_eq!(review(false, true).next(1), Some(Demand::Check));
    }

    #[test]
    fn the_answer_comes_first_and_each_demand_is_told_once() {
        let mut review = review(true, true);
        assert_eq!(review.next(1), Some(Demand::Answer));
        assert!(review.found(Demand::Answer, false, true), "it is told");
        assert_eq!(review.next(2), Some(Demand::Answer));
        assert!(!review.found(Demand::Answer, true, true));
        assert_eq!(review.next(2), Some(Demand::Check));
        assert!(review.found(Demand::Check, false, true), "this is told, too");
        assert_eq!(review.next(4), Some(Demand::Answer), "there is another answer");
        assert!(!review.found(Demand::Answer, true, true));
        assert_eq!(review.next(4), Some(Demand::Check));
        assert!(!review.found(Demand::Check, false, true), "it was told before");
        assert_eq!(review.next(4), None);
    }

    #[test]
    fn an_answer_that_does_not_fit_is_not_checked() {
        let mut review = review(true, true);
        assert_eq!(review.next(1), Some(Demand::Answer));
        assert!(!review.found(Demand::Answer, false, false), "the agent is gone");
        assert_eq!(review.next(1), None);
    }
}
