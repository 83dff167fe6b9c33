//! Tokens and money, in pi's own shape.

use std::iter::Sum;
use std::ops::AddAssign;

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
    /// The price in US dollars, as far as the agent knows it.
    pub cost: Cost,
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

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        // A child can print any number it likes, so the sums must not overflow.
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
        self.cost.input = add(self.cost.input, other.cost.input);
        self.cost.output = add(self.cost.output, other.cost.output);
        self.cost.cache_read = add(self.cost.cache_read, other.cost.cache_read);
        self.cost.cache_write = add(self.cost.cache_write, other.cost.cache_write);
        self.cost.total = add(self.cost.total, other.cost.total);
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Usage>>(usages: I) -> Usage {
        let mut sum = Usage::default();
        usages.for_each(|usage| sum += usage);
        sum
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
        let huge = Usage { input: u64::MAX, cost, ..Usage::default() };
        let mut sum = huge;
        sum += huge;
        let text = serde_json::to_string(&sum).unwrap();
        assert_eq!(serde_json::from_str::<Usage>(&text).unwrap(), sum);
    }
}
