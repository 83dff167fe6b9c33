//! An agent spends what it may spend, and no more than one message beyond it.

use std::time::Instant;

use model::{Activity, Budget, Event, Limits, Spent, StopCause, StopReason};
use protocol::{LastWord, Reading};

use super::{Rule, Stop};

pub(super) struct BudgetRule {
    budget: Budget,
    spent: Spent,
    /// Whether the agent was told that little is left, or is to be told.
    is_told: bool,
    /// Whether it is to be told now.
    is_due: bool,
    /// The words for the budget of its call, if that is spent.
    call: Option<String>,
}

impl BudgetRule {
    pub(super) fn new(limits: &Limits) -> BudgetRule {
        BudgetRule {
            budget: limits.budget,
            spent: Spent::default(),
            is_told: false,
            is_due: false,
            call: None,
        }
    }

    /// The budget of the call is spent, as these words say.
    pub(super) fn spend_call(&mut self, seen: String) {
        self.call = Some(seen);
    }

    /// Whether the agent is to be told to come to an end. It is told once.
    pub(super) fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.is_due)
    }
}

impl Rule for BudgetRule {
    /// An agent that has finished with the message that passes the budget needs no stopping, and has an answer. If it
    /// goes on after all, it is stopped then.
    fn observe(&mut self, reading: &Reading, _: Instant) -> Option<Stop> {
        if self.budget.is_unlimited() && self.call.is_none() {
            return None;
        }
        let before = self.spent;
        reading.events.iter().for_each(|event| self.spent.add(event));
        let goes_on = goes_on(reading);
        let own = self.budget.spent_words(&self.spent);
        let seen = own.map(|words| format!("its budget of {words}")).or_else(|| self.call.clone());
        if goes_on && seen.is_some() {
            return Some(Stop { cause: StopCause::Budget, seen });
        }
        let is_news = self.spent != before && !self.is_told;
        if is_news && goes_on && self.budget.is_nearly_spent(&self.spent) {
            (self.is_told, self.is_due) = (true, true);
        }
        None
    }
}

/// Whether the agent does something, or is about to. Behind its last message it may still print records that say nothing.
fn goes_on(reading: &Reading) -> bool {
    let calls = |event: &Event| match event {
        Event::ToolCall { .. } => true,
        Event::AssistantMessage { stop_reason, .. } => *stop_reason == Some(StopReason::ToolUse),
        _ => false,
    };
    let is_busy = matches!(
        reading.activity,
        Some(Activity::Thinking | Activity::Writing | Activity::Calling | Activity::Tool)
    );
    reading.last_word == LastWord::NotYet && (is_busy || reading.events.iter().any(calls))
}

#[cfg(test)]
mod tests {
    use model::Usage;

    use super::*;

    fn message(tokens: u64, stop_reason: StopReason, last_word: LastWord) -> Reading {
        let usage = Usage { total_tokens: tokens, ..Usage::default() };
        let event = Event::AssistantMessage {
            text: String::new(),
            model: None,
            stop_reason: Some(stop_reason),
            error: None,
            usage,
        };
        Reading { events: vec![event], last_word, ..Reading::default() }
    }

    fn calling(tokens: u64) -> Reading {
        message(tokens, StopReason::ToolUse, LastWord::NotYet)
    }

    fn rule(tokens: u64) -> BudgetRule {
        let budget = Budget { tokens: Some(tokens), ..Budget::default() };
        BudgetRule::new(&Limits { budget, ..Limits::default() })
    }

    #[test]
    fn an_agent_is_told_once_when_little_is_left_and_stopped_when_nothing_is() {
        let (mut rule, now) = (rule(100), Instant::now());
        assert_eq!(rule.observe(&calling(79), now), None);
        assert!(!rule.take_due());
        assert_eq!(rule.observe(&calling(1), now), None);
        assert!(rule.take_due() && !rule.take_due());
        assert_eq!(rule.observe(&calling(19), now), None);
        assert!(!rule.take_due(), "once");
        let seen = Some("its budget of 100 tokens (spent 101)".to_owned());
        let stop = Some(Stop { cause: StopCause::Budget, seen });
        assert_eq!(rule.observe(&calling(2), now), stop);
    }

    #[test]
    fn an_agent_that_finishes_with_the_message_keeps_its_answer_unless_it_goes_on() {
        for last_word in [LastWord::NotYet, LastWord::MessageEnded, LastWord::Said] {
            let (mut rule, now) = (rule(100), Instant::now());
            assert_eq!(rule.observe(&message(500, StopReason::Stop, last_word), now), None);
            assert!(!rule.take_due(), "it has finished");
            let quiet = Reading { last_word: LastWord::NotYet, ..Reading::default() };
            assert_eq!(rule.observe(&quiet, now), None);
            let goes_on = Reading { activity: Some(Activity::Thinking), ..quiet };
            assert!(rule.observe(&goes_on, now).is_some());
        }
    }
}
