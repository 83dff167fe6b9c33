//! What the tasks of one call have spent together.

use model::{Budget, Event, Spent};

use crate::lifeline::ToSupervisor;

#[derive(Debug, Default)]
pub(crate) struct Spending {
    budget: Budget,
    spent: Spent,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    #[default]
    Enough,
    NearlySpent,
    Spent,
}

impl Spending {
    pub(crate) fn of(budget: Budget) -> Spending {
        Spending { budget, ..Spending::default() }
    }

    /// Adds what a task has told. Returns what all running tasks are told because of it, each thing once.
    pub(crate) fn add(&mut self, event: &Event) -> Option<ToSupervisor> {
        if self.budget.is_unlimited() {
            return None;
        }
        self.spent.add(event);
        let words = self.spent_words();
        let stage = match &words {
            Some(_) => Stage::Spent,
            None if self.budget.is_nearly_spent(&self.spent) => Stage::NearlySpent,
            None => Stage::Enough,
        };
        if stage <= self.stage {
            return None;
        }
        self.stage = stage;
        Some(words.map_or(ToSupervisor::NearlySpent, |words| {
            ToSupervisor::Spent(format!("the budget of its call, {words}"))
        }))
    }

    /// The words for the budget, if it is spent.
    pub(crate) fn spent_words(&self) -> Option<String> {
        self.budget.spent_words(&self.spent)
    }
}

/// What is said of a task whose call has nothing left.
pub(crate) fn not_started(words: &str) -> String {
    format!("Not started: nothing is left of the budget of its call, {words}")
}

#[cfg(test)]
mod tests {
    use model::Usage;

    use super::*;

    #[test]
    fn all_tasks_are_told_once_when_little_is_left_and_once_when_nothing_is() {
        let budget = Budget { tokens: Some(10), ..Budget::default() };
        let mut spending = Spending::of(budget);
        let mut spend = |total_tokens| {
            let usage = Usage { total_tokens, ..Usage::default() };
            spending.add(&Event::UsageReported { usage })
        };
        assert_eq!(spend(7), None);
        assert_eq!(spend(1), Some(ToSupervisor::NearlySpent));
        assert_eq!(spend(1), None);
        let words = "the budget of its call, 10 tokens (spent 12)".to_owned();
        assert_eq!(spend(3), Some(ToSupervisor::Spent(words)));
        assert_eq!(spend(3), None);
        assert_eq!(spending.spent_words().unwrap(), "10 tokens (spent 15)");
        assert_eq!(Spending::default().add(&Event::TimeoutExtended), None);
    }
}
