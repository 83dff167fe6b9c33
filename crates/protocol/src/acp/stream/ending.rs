//! How a turn ended, and what it has used.

use model::{Activity, Cost, Event, Outcome, Usage, Verdict};
use serde_json::Value;

use super::super::notices;
use super::{AcpReader, Asked, Turn};
use crate::json::{count, stop_reason};
use crate::{LastWord, Reading};

impl AcpReader {
    /// The turn has ended, for a reason that is not always the true one.
    pub(super) fn turn_ended(&mut self, result: &Value) -> Reading {
        self.asked = Asked::Idle;
        let turn = std::mem::take(&mut self.turn);
        let word = result["stopReason"].as_str().unwrap_or_default();
        let is_usage_told = !result["usage"].is_null();
        let failure = notices::of_end(self.make, &self.message.text, is_usage_told);
        if failure.is_some() {
            // It is the reason, and no answer.
            self.message.text.clear();
        }
        let failure = failure.or(turn.failure);
        let has_last_words = !self.message.text.trim().is_empty();
        let mut events = self.end_message(Some(stop_reason(word.to_owned())));
        events.extend(if word == "cancelled" { self.calls.leave() } else { self.calls.finish() });
        events.extend(self.used(result));
        let verdict =
            |outcome, error: &str| Some(Verdict { outcome, error: Some(error.to_owned()) });
        let verdict = match word {
            _ if failure.is_some() => {
                Some(Verdict { outcome: Outcome::ProviderError, error: failure })
            }
            "refusal" => verdict(Outcome::ProviderError, "The model refused to answer"),
            "cancelled" => verdict(Outcome::Cancelled, "Sub-agent says that it was aborted"),
            "max_turn_requests" => verdict(
                Outcome::Interrupted,
                "Interrupted: the agent stopped at its own limit of requests in a turn",
            ),
            _ if turn.has_answer || has_last_words => {
                Some(Verdict { outcome: Outcome::Completed, error: None })
            }
            _ if turn.has_calls => verdict(
                Outcome::NoAssistantMessage,
                "The agent ended its turn after a tool call, without an answer",
            ),
            // The answers to earlier prompts are not one to this.
            _ if self.has_ended_turn => verdict(
                Outcome::NoAssistantMessage,
                "The agent ended its last turn without an answer",
            ),
            // It is decided without a word of the agent, from what it complained about.
            _ => None,
        };
        Reading {
            events,
            activity: Some(Activity::Done),
            // It waits for more.
            last_word: LastWord::Idle { is_settled: true },
            verdict,
            withdrawn: self.permissions.withdraw(|_| true),
            ..Reading::default()
        }
    }

    /// The turn has ended with an error, and another prompt can follow.
    pub(super) fn turn_failed(&mut self, error: String) -> Reading {
        let reading = self.failed(error);
        self.turn = Turn::default();
        self.asked = Asked::Idle;
        Reading { last_word: LastWord::Idle { is_settled: true }, ..reading }
    }

    pub(super) fn failed(&mut self, error: String) -> Reading {
        self.asked = Asked::Nothing;
        let mut events = self.end_message(None);
        events.extend(self.calls.finish());
        events.extend(self.used(&Value::Null));
        Reading {
            events,
            activity: Some(Activity::Done),
            last_word: LastWord::Said,
            verdict: Some(Verdict { outcome: Outcome::ProviderError, error: Some(error) }),
            ..Reading::default()
        }
    }

    /// What the turn has used, as far as the agent tells, and tells of all.
    pub(super) fn used(&mut self, result: &Value) -> Option<Event> {
        let (usage, quota) = (&result["usage"], &result["_meta"]["quota"]["token_count"]);
        let mut used = Usage::default();
        if usage.is_null() {
            // Gemini CLI tells it in its own way.
            used.input = count(quota, "input_tokens");
            used.output = count(quota, "output_tokens");
            used.total_tokens = used.input.saturating_add(used.output);
        } else if !self.is_usage_partial {
            used = Usage {
                input: count(usage, "inputTokens"),
                output: count(usage, "outputTokens"),
                cache_read: count(usage, "cachedReadTokens"),
                cache_write: count(usage, "cachedWriteTokens"),
                total_tokens: count(usage, "totalTokens"),
                cost: None,
            };
        }
        if self.make.tells_sum_of_session() && !usage.is_null() {
            let sum = used;
            used = difference(sum, self.told);
            self.told = sum;
        }
        used.cost = self.cost.take().map(|sum| {
            let total = (sum - self.told_cost).max(0.0);
            self.told_cost = sum;
            Cost { total, ..Cost::default() }
        });
        (used != Usage::default()).then_some(Event::UsageReported { usage: used })
    }
}

/// What was used since an earlier sum was told.
fn difference(sum: Usage, told: Usage) -> Usage {
    Usage {
        input: sum.input.saturating_sub(told.input),
        output: sum.output.saturating_sub(told.output),
        cache_read: sum.cache_read.saturating_sub(told.cache_read),
        cache_write: sum.cache_write.saturating_sub(told.cache_write),
        total_tokens: sum.total_tokens.saturating_sub(told.total_tokens),
        cost: None,
    }
}
