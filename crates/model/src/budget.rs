//! How much may be spent, and how much was.

use serde::{Deserialize, Serialize};

use crate::{Event, Usage};

/// The most that may be spent. What is absent has no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Budget {
    /// All tokens, those from the provider's cache included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Messages of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
}

/// What was spent so far, as far as agents have told it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of `Budget`")]
pub struct Spent {
    pub tokens: u64,
    pub cost_usd: f64,
    pub turns: u64,
}

/// At this share of a budget, the agent is told to come to an end.
const NEARLY: f64 = 0.8;

impl Budget {
    /// Whether there is nothing that it limits.
    pub fn is_unlimited(&self) -> bool {
        *self == Budget::default()
    }

    /// What it allows, such as `$0.50, 20 turns`.
    pub fn words(&self) -> Option<String> {
        let words = [
            self.cost_usd.map(dollars),
            self.tokens.map(|tokens| format!("{} tokens", grouped(tokens))),
            self.turns.map(|turns| format!("{} turns", grouped(turns))),
        ];
        let words: Vec<String> = words.into_iter().flatten().collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// This budget, and the other one where this one says nothing.
    #[must_use]
    pub fn or(self, other: Budget) -> Budget {
        Budget {
            tokens: self.tokens.or(other.tokens),
            cost_usd: self.cost_usd.or(other.cost_usd),
            turns: self.turns.or(other.turns),
        }
    }

    /// The least of both.
    #[must_use]
    pub fn lowered(self, other: Budget) -> Budget {
        let least = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
        let costs = self.cost_usd.into_iter().chain(other.cost_usd);
        Budget {
            tokens: least(self.tokens, other.tokens),
            cost_usd: costs.min_by(f64::total_cmp),
            turns: least(self.turns, other.turns),
        }
    }

    /// What the user should know of a budget of money for a model whose prices are not known, after so much was used.
    pub fn unkept_words(&self, usage: &Usage) -> Option<String> {
        let limit = self.cost_usd.filter(|_| usage.cost.is_none() && usage.all_tokens() > 0)?;
        Some(format!(
            "What the model costs is not known, so the budget of {} was not kept. Limit tokens or turns instead",
            dollars(limit)
        ))
    }

    /// What is spent of it, in words such as `$0.50 (spent $0.52)`, if that is all of it.
    pub fn spent_words(&self, spent: &Spent) -> Option<String> {
        let [cost, tokens, turns] =
            self.shares(spent).map(|share| share.is_some_and(|share| share >= 1.0));
        let words = |limit: Option<u64>, count: u64, unit: &str| {
            Some(format!("{} {unit} (spent {})", grouped(limit?), grouped(count)))
        };
        if cost {
            let limit = self.cost_usd?;
            Some(format!("{} (spent {})", dollars(limit), dollars(spent.cost_usd)))
        } else if tokens {
            words(self.tokens, spent.tokens, "tokens")
        } else if turns {
            words(self.turns, spent.turns, "turns")
        } else {
            None
        }
    }

    /// Whether there is not much left of it.
    pub fn is_nearly_spent(&self, spent: &Spent) -> bool {
        self.shares(spent).into_iter().flatten().any(|share| share >= NEARLY)
    }

    /// The shares of the money, the tokens and the turns that are spent, of those that are limited.
    fn shares(&self, spent: &Spent) -> [Option<f64>; 3] {
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 1.0 };
        let counted = |limit: Option<u64>, count: u64| Some(share(count as f64, limit? as f64));
        [
            self.cost_usd.map(|limit| share(spent.cost_usd, limit)),
            counted(self.tokens, spent.tokens),
            counted(self.turns, spent.turns),
        ]
    }
}

impl Spent {
    /// Adds what an event tells.
    pub fn add(&mut self, event: &Event) {
        let usage = match event {
            Event::AssistantMessage { usage, .. } => {
                self.turns = self.turns.saturating_add(1);
                usage
            }
            Event::UsageReported { usage } => usage,
            _ => return,
        };
        self.tokens = self.tokens.saturating_add(usage.all_tokens());
        self.cost_usd += cost(usage);
    }
}

/// What a message has cost. A child can print any number it likes.
pub fn cost(usage: &Usage) -> f64 {
    let total = usage.cost.map_or(0.0, |cost| cost.total);
    if total.is_finite() { total.clamp(0.0, 1e9) } else { 0.0 }
}

/// Money, in cents, and as exactly as needed below one.
pub fn dollars(amount: f64) -> String {
    let cents = format!("${amount:.2}");
    if amount == 0.0 || amount >= 0.1 {
        return cents;
    }
    let exact = format!("${amount:.6}");
    let exact = exact.trim_end_matches('0');
    if exact.len() > cents.len() { exact.to_owned() } else { cents }
}

/// A number with a comma before every three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_of_money_is_not_kept_where_the_price_is_not_known() {
        let budget = Budget { cost_usd: Some(0.01), ..Budget::default() };
        let used = Usage { total_tokens: 5, ..Usage::default() };
        let words = budget.unkept_words(&used).unwrap();
        assert!(words.contains("the budget of $0.01 was not kept"), "{words}");
        let told = Usage { cost: Some(crate::Cost::default()), ..used };
        for (budget, usage) in
            [(budget, &told), (budget, &Usage::default()), (Budget::default(), &used)]
        {
            assert_eq!(budget.unkept_words(usage), None, "{budget:?}, {usage:?}");
        }
    }
    use crate::Cost;

    const NONE: Budget = Budget { tokens: None, cost_usd: None, turns: None };

    #[test]
    fn a_budget_says_what_was_spent_of_it_and_when_little_is_left() {
        let spent = Spent { tokens: 1_204, cost_usd: 0.52, turns: 4 };
        for (budget, words, is_nearly) in [
            (NONE, None, false),
            (Budget { cost_usd: Some(0.5), ..NONE }, Some("$0.50 (spent $0.52)"), true),
            (Budget { cost_usd: Some(0.65), ..NONE }, None, true),
            (Budget { cost_usd: Some(0.66), ..NONE }, None, false),
            (Budget { tokens: Some(1_204), ..NONE }, Some("1,204 tokens (spent 1,204)"), true),
            (Budget { turns: Some(5), ..NONE }, None, true),
            (Budget { turns: Some(4), ..NONE }, Some("4 turns (spent 4)"), true),
            (Budget { turns: Some(0), ..NONE }, Some("0 turns (spent 4)"), true),
        ] {
            assert_eq!(budget.spent_words(&spent).as_deref(), words, "{budget:?}");
            assert_eq!(budget.is_nearly_spent(&spent), is_nearly, "{budget:?}");
        }
    }

    #[test]
    fn one_budget_completes_or_lowers_another() {
        let one = Budget { tokens: Some(5), cost_usd: Some(1.0), turns: None };
        let other = Budget { tokens: Some(9), cost_usd: Some(0.5), turns: Some(3) };
        assert_eq!(one.or(other), Budget { turns: Some(3), ..one });
        let least = Budget { tokens: Some(5), ..other };
        assert_eq!((one.lowered(other), other.lowered(one)), (least, least));
        assert_eq!(one.lowered(NONE), one);
        assert!(NONE.is_unlimited() && !one.is_unlimited());
    }

    #[test]
    fn messages_and_reports_add_up_and_absurd_prices_do_not() {
        let usage = |total| Usage {
            input: 2,
            output: 3,
            cost: Some(Cost { total, ..Cost::default() }),
            ..Usage::default()
        };
        let message = |total| Event::AssistantMessage {
            text: String::new(),
            model: None,
            stop_reason: None,
            error: None,
            usage: usage(total),
        };
        let mut spent = Spent::default();
        spent.add(&message(0.25));
        spent.add(&Event::UsageReported { usage: usage(0.5) });
        spent.add(&message(f64::NAN));
        spent.add(&message(-4.0));
        spent.add(&Event::TimeoutExtended);
        assert_eq!(spent, Spent { tokens: 20, cost_usd: 0.75, turns: 3 });
    }

    #[test]
    fn money_is_told_in_cents_or_as_exactly_as_needed() {
        for (amount, expected) in [
            (0.0, "$0.00"),
            (0.5, "$0.50"),
            (12.345, "$12.35"),
            (0.05, "$0.05"),
            (0.005, "$0.005"),
            (0.000_05, "$0.00005"),
        ] {
            assert_eq!(dollars(amount), expected);
        }
        assert_eq!([7, 1_000, 1_234_567].map(grouped), ["7", "1,000", "1,234,567"]);
    }
}
