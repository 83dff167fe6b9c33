//! What all agents of a user have spent today.

use std::path::PathBuf;

use jiff::Zoned;
use jiff::civil::Date;
use model::{Ledger, dollars};
use serde::{Deserialize, Serialize};

use crate::ledger::{change, load};

/// Adds what one run spends to the money of the day, as it spends it.
///
/// Each amount is added once, by the supervisor that sees it, and the file is replaced as a whole. A supervisor that dies
/// has added an amount or not, and no other program adds it again: not the one that ends the run in its place, and not
/// one that reads its record.
#[derive(Debug)]
pub struct Till {
    ledger: Ledger,
    /// What could not be added yet.
    pending: f64,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Today {
    date: String,
    cost_usd: f64,
}

impl Till {
    #[expect(missing_docs, reason = "the type says it")]
    pub fn new(ledger: Ledger) -> Till {
        Till { ledger, pending: 0.0 }
    }

    /// Adds an amount in US dollars.
    pub fn add(&mut self, amount: f64) {
        self.pending += amount;
        if self.pending > 0.0 {
            let pending = self.pending;
            let add = |today: &mut Today| today.add(&date_of(&Zoned::now()), pending);
            if change(&file(&self.ledger), add) {
                self.pending = 0.0;
            }
        }
    }
}

impl Today {
    fn add(&mut self, date: &str, amount: f64) {
        if self.date != date {
            *self = Today { date: date.to_owned(), cost_usd: 0.0 };
        }
        self.cost_usd += amount;
    }

    /// What was spent on this day.
    fn on(&self, date: &str) -> f64 {
        if self.date == date { self.cost_usd } else { 0.0 }
    }
}

/// What all agents of the user have spent today, in US dollars.
pub fn spent_today(ledger: &Ledger) -> f64 {
    load::<Today>(&file(ledger)).on(&date_of(&Zoned::now()))
}

/// Why no agent may start today, if the money of the day is spent.
pub fn day_is_spent(ledger: &Ledger) -> Option<String> {
    let limit = ledger.daily_cost_usd?;
    let now = Zoned::now();
    let spent = load::<Today>(&file(ledger)).on(&date_of(&now));
    (spent >= limit).then(|| refusal(limit, spent, now.date()))
}

fn refusal(limit: f64, spent: f64, today: Date) -> String {
    let tomorrow = today.tomorrow().unwrap_or(today);
    format!(
        "Not started: nothing is left of the budget of the day, {} (spent {}). It begins anew on {tomorrow} at 00:00.",
        dollars(limit),
        dollars(spent)
    )
}

fn date_of(now: &Zoned) -> String {
    now.date().to_string()
}

fn file(ledger: &Ledger) -> PathBuf {
    ledger.directory.join("money.json")
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn ledger(top: &tempfile::TempDir) -> Ledger {
        Ledger { directory: top.path().join("governor"), daily_cost_usd: Some(0.5) }
    }

    #[test]
    fn what_programs_spend_side_by_side_is_added_once_each() {
        let top = tempfile::tempdir().unwrap();
        let spend = || {
            let mut till = Till::new(ledger(&top));
            (0..50).for_each(|_| till.add(0.001));
            till.pending
        };
        let pending: f64 = thread::scope(|scope| {
            let all: Vec<_> = (0..4).map(|_| scope.spawn(spend)).collect();
            all.into_iter().map(|one| one.join().unwrap()).sum()
        });
        let sum = spent_today(&ledger(&top)) + pending;
        assert!((sum - 0.2).abs() < 1e-9, "{sum}");
        assert_eq!(day_is_spent(&ledger(&top)), None);
        Till::new(ledger(&top)).add(0.3);
        let words = day_is_spent(&ledger(&top)).unwrap();
        assert!(words.contains("of the day, $0.50 (spent $0.5"), "{words}");
    }

    #[test]
    fn a_new_day_begins_anew_and_the_message_says_when() {
        let mut today = Today::default();
        today.add("2026-02-28", 0.5);
        today.add("2026-02-28", 0.25);
        assert_eq!((today.on("2026-02-28"), today.on("2026-03-01")), (0.75, 0.0));
        today.add("2026-03-01", 1.0);
        assert_eq!(today.on("2026-03-01"), 1.0);
        let words = refusal(10.0, 10.2, Date::constant(2026, 2, 28));
        let expected = "Not started: nothing is left of the budget of the day, $10.00 (spent $10.20). It begins anew on \
                        2026-03-01 at 00:00.";
        assert_eq!(words, expected);
    }
}
