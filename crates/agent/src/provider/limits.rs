//! How much a model may think and say.

use crate::config::Model;
use crate::message::{Content, Message, StopReason};
use crate::provider::{Request, Thinking};

/// What is kept free between the estimate of a conversation and the end of the window.
const SAFETY_TOKENS: u64 = 4096;

/// What is left for the answer where thinking shares its limit.
const ANSWER_TOKENS: u64 = 1024;

/// What pictures are estimated at, in characters.
const PICTURE_CHARACTERS: usize = 4800;

impl Thinking {
    /// All levels, in their order.
    pub const ALL: [Thinking; 7] = [
        Thinking::Off,
        Thinking::Minimal,
        Thinking::Low,
        Thinking::Medium,
        Thinking::High,
        Thinking::Xhigh,
        Thinking::Max,
    ];

    /// The name in configuration.
    pub fn name(self) -> &'static str {
        match self {
            Thinking::Off => "off",
            Thinking::Minimal => "minimal",
            Thinking::Low => "low",
            Thinking::Medium => "medium",
            Thinking::High => "high",
            Thinking::Xhigh => "xhigh",
            Thinking::Max => "max",
        }
    }

    /// The nearest level that the model has: first upwards, then downwards.
    #[must_use]
    pub fn within(self, model: &Model) -> Thinking {
        let has = |level: &Thinking| {
            let word = model.thinking_levels.get(level.name());
            match (level, word) {
                (Thinking::Off, _) if !model.reasoning => true,
                // The highest levels are there only where somebody says so.
                (_, Some(None)) | (Thinking::Xhigh | Thinking::Max, None) => false,
                _ => model.reasoning,
            }
        };
        let mut upwards = Thinking::ALL.into_iter().filter(|level| *level >= self);
        let mut downwards = Thinking::ALL.into_iter().rev().filter(|level| *level < self);
        upwards.find(&has).or_else(|| downwards.find(&has)).unwrap_or_default()
    }

    /// How many tokens this much thinking is, where a provider wants a number.
    pub(super) fn budget(self) -> u64 {
        match self {
            Thinking::Off => 0,
            Thinking::Minimal => 1024,
            Thinking::Low => 2048,
            Thinking::Medium => 8192,
            Thinking::High | Thinking::Xhigh | Thinking::Max => 16384,
        }
    }
}

/// A budget that leaves room for an answer under a common limit.
pub(super) fn budget_within(budget: u64, limit: u64) -> u64 {
    budget.min(limit.saturating_sub(ANSWER_TOKENS))
}

/// How much the model may say without leaving its window, or `wanted` if that is less.
pub(super) fn answer_tokens(model: &Model, request: &Request, wanted: u64) -> u64 {
    if model.context_window == 0 {
        return wanted.max(1);
    }
    let used = estimate(request).saturating_add(SAFETY_TOKENS);
    wanted.min(model.context_window.saturating_sub(used).max(1))
}

/// About how many tokens a request is: what the provider said of the last answer, and a fourth of
/// the characters that came after it.
fn estimate(request: &Request) -> u64 {
    let mut counted = None;
    let mut latest = 0;
    for (position, message) in request.messages.iter().enumerate() {
        if let Message::Assistant(answer) = message
            // A message that is newer but stands before it, such as a summary, was not counted.
            && answer.timestamp >= latest
            && !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted)
            && answer.usage.total_tokens > 0
        {
            counted = Some((answer.usage.total_tokens, position + 1));
        }
        latest = latest.max(timestamp(message));
    }
    let (tokens, from) = counted.unwrap_or_else(|| {
        let tools: usize = request
            .tools
            .iter()
            .map(|tool| {
                tool.name.len() + tool.description.len() + tool.parameters.to_string().len()
            })
            .sum();
        (tokens_of(request.system.len()) + tokens_of(tools), 0)
    });
    let since = request.messages[from..].iter().map(|message| tokens_of(characters(message)));
    since.fold(tokens, u64::saturating_add)
}

fn tokens_of(characters: usize) -> u64 {
    characters.div_ceil(4) as u64
}

fn timestamp(message: &Message) -> u64 {
    match message {
        Message::System(message) => message.timestamp,
        Message::User(message) => message.timestamp,
        Message::Assistant(message) => message.timestamp,
        Message::ToolResult(message) => message.timestamp,
        Message::CompactionSummary(message) => message.timestamp,
    }
}

fn characters(message: &Message) -> usize {
    let content = match message {
        Message::System(_) => return 0,
        Message::CompactionSummary(message) => return message.summary.len(),
        Message::User(message) => &message.content,
        Message::Assistant(message) => &message.content,
        Message::ToolResult(message) => &message.content,
    };
    let sizes = content.iter().map(|part| match part {
        Content::Text { text } => text.len(),
        Content::Image { .. } => PICTURE_CHARACTERS,
        Content::Thinking { thinking, .. } => thinking.len(),
        Content::ToolCall { name, arguments, .. } => {
            name.len() + serde_json::to_string(arguments).map_or(0, |text| text.len())
        }
    });
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::fixtures::{assistant, model, request, user};

    #[test]
    fn levels_are_taken_to_what_the_model_has() {
        let mut model = model();
        assert_eq!(Thinking::Max.within(&model), Thinking::Off);
        model.reasoning = true;
        assert_eq!(Thinking::Max.within(&model), Thinking::High);
        assert_eq!(Thinking::Low.within(&model), Thinking::Low);
        model.thinking_levels.insert("max".into(), Some("maximal".into()));
        assert_eq!(Thinking::Xhigh.within(&model), Thinking::Max);
        model.thinking_levels.insert("off".into(), None);
        model.thinking_levels.insert("minimal".into(), None);
        assert_eq!(Thinking::Off.within(&model), Thinking::Low);
    }

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
