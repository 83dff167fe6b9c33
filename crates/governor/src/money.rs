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
pub struct SpendingRecorder {
    ledger: Ledger,
    /// What could not be added yet.
    pending: f64,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DailySpending {
    date: String,
    cost_usd: f64,
}

impl SpendingRecorder {
    #[expect(missing_docs, reason = "the type says it")]
    pub fn new(ledger: Ledger) -> SpendingRecorder {
        SpendingRecorder { ledger, pending: 0.0 }
    }

    /// Adds an amount in US dollars, and what could not be added before.
    pub fn add(&mut self, amount: f64) {
        self.pending += amount;
        if self.pending > 0.0 {
            let pending = self.pending;
            let add = |today: &mut DailySpending| today.add(&date_of(&Zoned::now()), pending);
            if change(&file(&self.ledger), add) {
                self.pending = 0.0;
            }
        }
    }
}

impl DailySpending {
    fn add(&mut self, date: &str, amount: f64) {
        if self.date != date {
            *self = DailySpending { date: date.to_owned(), cost_usd: 0.0 };
        }
        self.cost_usd += amount;
    }

    /// What was spent on this day.
    fn on(&self, date: &str) -> f64 {
        if self.date == date { self.cost_usd } else { 0.0 }
    }
}

/// What all agents of the user have spent today, in US dollars: here, and on other machines as far as that was told.
pub fn spent_today(ledger: &Ledger) -> f64 {
    spent_on(ledger, &date_of(&Zoned::now()))
}

fn spent_on(ledger: &Ledger, date: &str) -> f64 {
    [file(ledger), elsewhere(ledger)].map(|path| load::<DailySpending>(&path).on(date)).iter().sum()
}

/// What the agents of one machine have spent on a day, as it travels to others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpentHere {
    /// By the clock of that machine.
    pub date: String,
    /// In US dollars.
    pub cost_usd: f64,
}

/// What tells this machine, with this user and agent directory, from others: the candidate, if there is nothing yet.
pub fn machine_id(ledger: &Ledger, candidate: &str) -> String {
    let path = ledger.directory.join("machine.json");
    change(&path, |id: &mut String| {
        if id.is_empty() {
            candidate.clone_into(id);
        }
    });
    let id: String = load(&path);
    // It becomes a part of a key.
    let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'-';
    let is_usable = (1..=64).contains(&id.len()) && id.bytes().all(is_plain);
    if is_usable { id } else { candidate.to_owned() }
}

/// What the agents of this machine have spent on the day of the last amount.
pub fn spent_here(ledger: &Ledger) -> SpentHere {
    let DailySpending { date, cost_usd } = load(&file(ledger));
    SpentHere { date, cost_usd }
}

/// Takes note of what all other machines have spent. What was spent on another day counts there no more than here.
pub fn note_spent_elsewhere<'a>(ledger: &Ledger, machines: impl Iterator<Item = &'a SpentHere>) {
    let date = date_of(&Zoned::now());
    let of_today = machines.filter(|machine| machine.date == date);
    let cost_usd = of_today.map(|machine| machine.cost_usd).filter(|cost| *cost > 0.0).sum();
    let told = DailySpending { date, cost_usd };
    if load::<DailySpending>(&elsewhere(ledger)) != told {
        change(&elsewhere(ledger), |today| *today = told);
    }
}

/// Why no agent may start today, if the money of the day is spent.
pub fn day_is_spent(ledger: &Ledger) -> Option<String> {
    let limit = ledger.daily_cost_usd?;
    let now = Zoned::now();
    let spent = spent_on(ledger, &date_of(&now));
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

fn elsewhere(ledger: &Ledger) -> PathBuf {
    ledger.directory.join("money-elsewhere.json")
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
            let mut recorder = SpendingRecorder::new(ledger(&top));
            (0..50).for_each(|_| recorder.add(0.001));
            recorder.pending
        };
        let pending: f64 = thread::scope(|scope| {
            let all: Vec<_> = (0..4).map(|_| scope.spawn(spend)).collect();
            all.into_iter().map(|one| one.join().unwrap()).sum()
        });
        let sum = spent_today(&ledger(&top)) + pending;
        assert!((sum - 0.2).abs() < 1e-9, "{sum}");
        assert_eq!(day_is_spent(&ledger(&top)), None);
        SpendingRecorder::new(ledger(&top)).add(0.3);
        let words = day_is_spent(&ledger(&top)).unwrap();
        assert!(words.contains("of the day, $0.50 (spent $0.5"), "{words}");
    }

    #[test]
    fn what_other_machines_have_spent_today_counts_and_is_not_told_on() {
        let top = tempfile::tempdir().unwrap();
        let ledger = ledger(&top);
        SpendingRecorder::new(ledger.clone()).add(0.2);
        let here = spent_here(&ledger);
        let yesterday = SpentHere { date: "2001-01-01".to_owned(), cost_usd: 9.0 };
        let odd = SpentHere { cost_usd: -5.0, ..here.clone() };
        note_spent_elsewhere(&ledger, [&here, &here, &yesterday, &odd].into_iter());
        assert!((spent_today(&ledger) - 0.6).abs() < 1e-9);
        assert_eq!(spent_here(&ledger), here);
        let words = day_is_spent(&ledger).unwrap();
        assert!(words.contains("of the day, $0.50 (spent $0.60)"), "{words}");
        note_spent_elsewhere(&ledger, [].into_iter());
        assert!((spent_today(&ledger) - 0.2).abs() < 1e-9);
    }

    #[test]
    fn a_new_day_begins_anew_and_the_message_says_when() {
        let mut today = DailySpending::default();
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
