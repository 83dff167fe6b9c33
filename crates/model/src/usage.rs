//! Tokens and money, in pi's own shape.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

/// Tokens spent, and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Usage {
    /// Tokens read by the model that were not cached.
    pub input: u64,
    /// Tokens written by the model.
    pub output: u64,
    /// Tokens read from the provider's cache.
    pub cache_read: u64,
    /// Tokens written to the provider's cache.
    pub cache_write: u64,
    pub total_tokens: u64,
    /// The price in US dollars; absent where the agent does not tell it.
    pub cost: Option<Cost>,
}

/// The price of a [`Usage`], in US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "the fields are those of `Usage`, priced")]
pub struct Cost {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
    pub total: f64,
}

impl Usage {
    /// All tokens. Not every agent adds them up.
    pub fn all_tokens(&self) -> u64 {
        let parts = [self.input, self.output, self.cache_read, self.cache_write];
        match self.total_tokens {
            0 => parts.into_iter().fold(0, u64::saturating_add),
            total => total,
        }
    }

    fn is_nothing(&self) -> bool {
        [self.input, self.output, self.cache_read, self.cache_write, self.total_tokens] == [0; 5]
    }

    fn add_tokens(&mut self, other: Usage) {
        // A child can print any number it likes, so the sums must not overflow.
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
    }
}

/// Adds what the agent of the same run reports next. An agent may tell its tokens with every message,
/// and what they cost only at the end.
impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.add_tokens(other);
        self.cost = match (self.cost, other.cost) {
            (None, cost) | (cost, None) => cost,
            (Some(one), Some(other)) => Some(one + other),
        };
    }
}

/// Adds what several runs have used. The price of all is unknown if that of one is.
impl Sum for Usage {
    fn sum<I: Iterator<Item = Usage>>(usages: I) -> Usage {
        let (mut sum, mut is_known) = (Usage::default(), true);
        for usage in usages {
            is_known &= usage.cost.is_some() || usage.is_nothing();
            sum += usage;
        }
        Usage { cost: sum.cost.filter(|_| is_known), ..sum }
    }
}

impl Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost {
            input: add(self.input, other.input),
            output: add(self.output, other.output),
            cache_read: add(self.cache_read, other.cache_read),
            cache_write: add(self.cache_write, other.cache_write),
            total: add(self.total, other.total),
        }
    }
}

/// JSON has no word for infinity, so that a sum must not become it.
fn add(one: f64, other: f64) -> f64 {
    (one + other).clamp(f64::MIN, f64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_numbers_add_up_to_something_that_json_can_say() {
        let cost = Cost { total: f64::MAX, ..Cost::default() };
        let huge = Usage { input: u64::MAX, cost: Some(cost), ..Usage::default() };
        let mut sum = huge;
        sum += huge;
        let text = serde_json::to_string(&sum).unwrap();
        assert_eq!(serde_json::from_str::<Usage>(&text).unwrap(), sum);
    }

    #[test]
    fn an_unknown_price_is_told_once_within_a_run_and_never_guessed_over_several() {
        let tokens = Usage { output: 5, ..Usage::default() };
        let dollar = Cost { total: 1.0, ..Cost::default() };
        let priced = Usage { cost: Some(dollar), ..tokens };
        let mut run = tokens;
        run += Usage { cost: Some(dollar), ..Usage::default() };
        assert_eq!(run, priced, "the price came last");
        let total =
            |runs: &[Usage]| runs.iter().copied().sum::<Usage>().cost.map(|cost| cost.total);
        assert_eq!(total(&[priced, priced]), Some(2.0));
        assert_eq!(total(&[priced, tokens]), None);
        assert_eq!(total(&[tokens, priced]), None);
        assert_eq!(total(&[priced, Usage::default()]), Some(1.0), "a run that used nothing");
        assert_eq!(serde_json::to_value(tokens).unwrap()["cost"], serde_json::Value::Null);
    }
}
