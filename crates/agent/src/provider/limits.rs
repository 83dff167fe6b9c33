//! Limits of thinking and answers, in tokens.

use crate::config::Model;
use crate::provider::{Request, ThinkingLevel};
use crate::tokens;

/// Kept free because the size of a conversation is only estimated.
const SAFETY_TOKENS: u64 = 4096;

/// Kept for the answer if thinking shares its limit.
const ANSWER_TOKENS: u64 = 1024;

pub(super) fn thinking_budget(level: ThinkingLevel) -> u64 {
    match level {
        ThinkingLevel::Off => 0,
        ThinkingLevel::Minimal => 1024,
        ThinkingLevel::Low => 2048,
        ThinkingLevel::Medium => 8192,
        ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => 16384,
    }
}

/// A budget that leaves room for an answer under a common limit.
pub(super) fn budget_within(budget: u64, limit: u64) -> u64 {
    budget.min(limit.saturating_sub(ANSWER_TOKENS))
}

/// The longest answer to this request.
pub(super) fn answer_limit(model: &Model, request: &Request) -> u64 {
    let wanted = request.max_tokens.map_or(model.max_tokens, |most| most.min(model.max_tokens));
    answer_tokens(model, request, wanted)
}

/// The longest answer that fits into the context window, or `wanted` if that is less.
pub(super) fn answer_tokens(model: &Model, request: &Request, wanted: u64) -> u64 {
    if model.context_window == 0 {
        return wanted.max(1);
    }
    let used = tokens::in_use(&request.system, &request.tools, &request.messages);
    let used = used.saturating_add(SAFETY_TOKENS);
    wanted.min(model.context_window.saturating_sub(used).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Content, Message};
    use crate::provider::testing::{assistant, model, request, user};

    #[test]
    fn the_answer_fits_into_the_window() {
        let mut model = model();
        (model.context_window, model.max_tokens) = (10_000, 5_000);
        let ask = |messages| answer_tokens(&model, &request(messages), 5_000);
        assert_eq!(ask(vec![user("x".repeat(400))]), 5_000);
        assert_eq!(ask(vec![user("x".repeat(4000))]), 10_000 - 4096 - 1000);
        assert_eq!(ask(vec![user("x".repeat(400_000))]), 1);
        let mut answer = assistant(vec![Content::text("unimportant")]);
        answer.usage.total_tokens = 2000;
        let messages = vec![user("x".repeat(400_000)), Message::Assistant(answer), user("12345")];
        assert_eq!(ask(messages), 10_000 - 4096 - 2002);
    }

    #[test]
    fn without_a_window_nothing_is_taken_away() {
        let mut model = model();
        model.context_window = 0;
        assert_eq!(answer_tokens(&model, &request(vec![user("x")]), 7), 7);
    }
}
