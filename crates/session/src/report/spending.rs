//! What all agents had used by when.

use model::Usage;

use super::axis::Axis;
use super::cost::dollars;
use super::timeline::Timeline;
use crate::usage::{price, rounded};

/// The sum over all agents as it grew. Money, or tokens where no price is known.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spending {
    pub(super) is_money: bool,
    /// Places on the axis with the sum there, which grows from point to point.
    pub(super) points: Vec<(f64, f64)>,
}

impl Spending {
    /// Points that are closer cannot be told apart.
    const CLOSEST: f64 = 0.1;

    /// Absent if nothing was used.
    pub(super) fn new<'a>(
        timelines: impl Iterator<Item = &'a Timeline> + Clone,
        axis: &Axis,
    ) -> Option<Spending> {
        let mut spent: Vec<(u64, Usage)> = timelines.flat_map(|line| line.spent.clone()).collect();
        spent.sort_by_key(|(at, _)| *at);
        let is_money = spent.iter().any(|(_, usage)| dollars(usage).is_some_and(|sum| sum > 0.0));
        let amount = |usage: &Usage| {
            if is_money { dollars(usage).unwrap_or_default() } else { usage.all_tokens() as f64 }
        };
        let mut points: Vec<(f64, f64)> = Vec::new();
        let mut sum: f64 = 0.0;
        for (at, usage) in &spent {
            // A child can print any number it likes.
            sum = (sum + amount(usage).max(0.0)).min(f64::MAX);
            let left = axis.position(*at);
            match points.last_mut() {
                Some(last) if left - last.0 < Spending::CLOSEST => last.1 = sum,
                _ => points.push((left, sum)),
            }
        }
        (sum > 0.0).then_some(Spending { is_money, points })
    }

    /// The sum at the end.
    pub(super) fn total(&self) -> f64 {
        self.points.last().map_or(0.0, |(_, sum)| *sum)
    }

    /// The sum at the end in words.
    pub(super) fn words(&self) -> String {
        if self.is_money {
            price(self.total())
        } else {
            format!("{} tokens", rounded(self.total() as u64))
        }
    }

    /// The sums as steps below a line: the points of a path in a box of 100 by 100.
    pub(super) fn path(&self) -> String {
        let total = self.total();
        let mut path = "M0 100".to_owned();
        for (left, sum) in &self.points {
            let top = 100.0 - 100.0 * (sum / total);
            path.push_str(&format!("H{left:.2}V{top:.1}"));
        }
        path.push_str("H100");
        path
    }
}
