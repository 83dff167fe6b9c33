//! What a batch looks like: a fold over its entries, states and results.

use std::collections::HashMap;

use model::{Outcome, Usage};

use super::{BatchEntry, Change};
use crate::{TaskName, TaskResult, TaskState};

/// The tasks of a batch, each as little as its figures need.
#[derive(Clone, Debug, Default)]
pub struct Overview {
    tasks: HashMap<TaskName, Task>,
    reasons: Vec<String>,
}

#[derive(Clone, Debug, Default)]
struct Task {
    /// Zero while its entry is not known.
    number: u64,
    running: Option<Running>,
    attempts: u32,
    ended: Option<Ended>,
}

#[derive(Clone, Debug)]
struct Running {
    worker: String,
    since: u64,
}

#[derive(Clone, Copy, Debug)]
struct Ended {
    outcome: Outcome,
    /// Of [`Overview::reasons`].
    reason: Option<usize>,
    at: u64,
    usage: Usage,
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Phase {
    Queued,
    Running,
    Completed,
    Failed,
    Cancelled,
}

/// A batch in numbers.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Figures {
    pub tasks: usize,
    pub queued: usize,
    pub running: usize,
    pub completed: usize,
    pub failed: usize,
    pub cancelled: usize,
    /// Of all tasks that have ended, if there are any.
    pub usage: Option<Usage>,
    /// Tasks a minute, of late; `None` before one has ended.
    pub rate: Option<f64>,
    /// Milliseconds until all have ended, at this rate; `None` if it is not known.
    pub left_ms: Option<u64>,
    /// The most frequent first.
    pub failures: Vec<FailureReason>,
    /// The tasks that have run for the longest, the longest first.
    pub slowest: Vec<SlowTask>,
    /// Tasks that run, by worker, the busiest first.
    pub workers: Vec<(String, usize)>,
    /// Tasks that began more than once.
    pub restarted: usize,
}

/// Why some tasks failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct FailureReason {
    pub reason: String,
    pub count: usize,
}

/// A task that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct SlowTask {
    pub key: TaskName,
    pub worker: String,
    pub running_ms: u64,
}

/// The rate is that of so many milliseconds.
const RATE_WINDOW: u64 = 60_000;
/// No more reasons and slow tasks than these are told.
const MOST_TOLD: usize = 8;
/// Reasons are compared by so many characters.
const REASON_CHARS: usize = 100;
/// Errors that differ in every task would fill the memory.
const MOST_REASONS: usize = 200;

impl Overview {
    /// Takes what has happened.
    pub fn apply(&mut self, change: Change) {
        match change {
            Change::Entered(entry) => self.enter(entry),
            Change::State(task, state) => self.set_state(&task, state),
            Change::Result(task, result) => self.set_result(&task, result.as_deref()),
        }
    }

    /// Takes the entry of a task. A task that is tried again has a new one.
    pub fn enter(&mut self, entry: BatchEntry) {
        self.tasks.entry(entry.address.task).or_default().number = entry.number;
    }

    /// Takes the state of a task; `None` if it was removed.
    pub fn set_state(&mut self, task: &TaskName, state: Option<TaskState>) {
        let state = state.unwrap_or_default();
        let task = self.tasks.entry(task.clone()).or_default();
        task.attempts = u32::try_from(state.attempts.len()).unwrap_or(u32::MAX);
        task.running = state
            .running()
            .map(|attempt| Running { worker: attempt.worker.clone(), since: attempt.started_at });
    }

    /// Takes the result of a task; `None` if it was removed, because the task is tried again.
    pub fn set_result(&mut self, task: &TaskName, result: Option<&TaskResult>) {
        let ended = result.map(|result| Ended {
            outcome: result.outcome(),
            reason: self.reason(result),
            at: result.result.ended_at,
            usage: result.result.usage,
        });
        self.tasks.entry(task.clone()).or_default().ended = ended;
    }

    /// Whether the batch has tasks.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Whether every task has ended.
    pub fn is_over(&self) -> bool {
        !self.is_empty() && self.tasks.values().all(|task| task.ended.is_some())
    }

    /// The figures at a time, in milliseconds since 1970.
    pub fn figures(&self, now: u64) -> Figures {
        let mut figures = Figures::default();
        let mut usages = Vec::new();
        let mut counts = vec![0; self.reasons.len()];
        let mut workers: HashMap<&str, usize> = HashMap::new();
        let mut ends = Vec::new();
        for (key, task) in &self.tasks {
            figures.tasks += 1;
            figures.restarted += usize::from(task.attempts > 1);
            match task.phase() {
                Phase::Queued => figures.queued += 1,
                Phase::Running => figures.running += 1,
                Phase::Completed => figures.completed += 1,
                Phase::Failed => figures.failed += 1,
                Phase::Cancelled => figures.cancelled += 1,
            }
            match (&task.ended, &task.running) {
                (Some(ended), _) => {
                    usages.push(ended.usage);
                    ends.push(ended.at);
                    if let Some(count) = ended.reason.and_then(|reason| counts.get_mut(reason)) {
                        *count += 1;
                    }
                }
                (None, Some(running)) => {
                    *workers.entry(&running.worker).or_default() += 1;
                    figures.slowest.push(SlowTask {
                        key: key.clone(),
                        worker: running.worker.clone(),
                        running_ms: now.saturating_sub(running.since),
                    });
                }
                (None, None) => {}
            }
        }
        figures.usage = (!usages.is_empty()).then(|| usages.into_iter().sum());
        figures.rate = rate(&ends, now);
        let left = figures.queued + figures.running;
        figures.left_ms = figures
            .rate
            .filter(|rate| *rate > 0.0)
            .map(|rate| (left as f64 / rate * 60_000.0) as u64);
        figures.failures = self
            .reasons
            .iter()
            .zip(counts)
            .filter(|(_, count)| *count > 0)
            .map(|(reason, count)| FailureReason { reason: reason.clone(), count })
            .collect();
        figures
            .failures
            .sort_by(|one, other| (other.count, &one.reason).cmp(&(one.count, &other.reason)));
        figures.failures.truncate(MOST_TOLD);
        figures
            .slowest
            .sort_by(|one, other| (other.running_ms, &one.key).cmp(&(one.running_ms, &other.key)));
        figures.slowest.truncate(MOST_TOLD);
        figures.workers =
            workers.into_iter().map(|(worker, count)| (worker.to_owned(), count)).collect();
        figures.workers.sort_by(|one, other| (other.1, &one.0).cmp(&(one.1, &other.0)));
        figures
    }

    /// The index of the reason why a task failed.
    fn reason(&mut self, result: &TaskResult) -> Option<usize> {
        let outcome = result.outcome();
        if outcome == Outcome::Completed {
            return None;
        }
        let error = result.result.error.as_deref().unwrap_or_default();
        let line: String =
            error.lines().next().unwrap_or_default().chars().take(REASON_CHARS).collect();
        let reason = match line.as_str() {
            "" => outcome.word().to_owned(),
            line => format!("{}: {line}", outcome.word()),
        };
        let found = self.reasons.iter().position(|known| *known == reason);
        found.or_else(|| {
            let is_full = self.reasons.len() >= MOST_REASONS;
            let reason = if is_full { outcome.word().to_owned() } else { reason };
            let found = self.reasons.iter().position(|known| *known == reason);
            found.or_else(|| {
                self.reasons.push(reason);
                Some(self.reasons.len() - 1)
            })
        })
    }
}

impl Task {
    fn phase(&self) -> Phase {
        match (&self.ended, &self.running) {
            (Some(ended), _) => match ended.outcome {
                Outcome::Completed => Phase::Completed,
                Outcome::Cancelled => Phase::Cancelled,
                _ => Phase::Failed,
            },
            (None, Some(_)) => Phase::Running,
            (None, None) => Phase::Queued,
        }
    }
}

/// Tasks a minute, of those that ended of late.
fn rate(ends: &[u64], now: u64) -> Option<f64> {
    let first = ends.iter().min()?;
    let window = now.saturating_sub(*first).clamp(1_000, RATE_WINDOW);
    let from = now.saturating_sub(window);
    let recent = ends.iter().filter(|at| **at >= from && **at <= now).count();
    Some(recent as f64 * 60_000.0 / window as f64)
}

#[cfg(test)]
mod tests {
    use model::{Cost, RunId, SessionId};

    use super::*;
    use crate::batch::change::never_started;
    use crate::{Attempt, Format, Pool, TaskAddress};

    const NOW: u64 = 1_000_000;

    fn entry(key: &str, number: u64) -> BatchEntry {
        let name = |text: &str| TaskName::parse(text).unwrap();
        BatchEntry {
            format: Format,
            address: TaskAddress { pool: Pool::default(), batch: name("b"), task: name(key) },
            run_id: RunId::parse(&format!("run-{number:06}")).unwrap(),
            session_id: SessionId::parse("0123456789abcdef").unwrap(),
            name: key.to_owned(),
            number,
            submitted_at: 1,
            snapshot: None,
        }
    }

    fn ended(key: &str, outcome: Outcome, error: Option<&str>, at: u64) -> Change {
        let mut result = never_started(&entry(key, 1), at);
        result.result.outcome = outcome;
        result.result.error = error.map(str::to_owned);
        let cost = Some(Cost { total: 0.5, ..Cost::default() });
        result.result.usage = Usage { total_tokens: 100, cost, ..Usage::default() };
        Change::Result(TaskName::parse(key).unwrap(), Some(Box::new(result)))
    }

    fn started(key: &str, worker: &str, since: u64) -> Change {
        let attempt = Attempt {
            number: 1,
            worker: worker.to_owned(),
            started_at: since,
            lease: 1,
            end: None,
        };
        let state = TaskState { attempts: vec![attempt], ..TaskState::default() };
        Change::State(TaskName::parse(key).unwrap(), Some(state))
    }

    #[test]
    fn every_task_is_counted_once_whatever_comes_first() {
        let mut overview = Overview::default();
        overview.apply(ended("a", Outcome::Completed, None, NOW - 30_000));
        overview.apply(started("a", "w1", NOW - 40_000));
        for (number, key) in (1..).zip(["a", "b", "c", "d", "e", "f"]) {
            overview.apply(Change::Entered(entry(key, number)));
        }
        overview.apply(ended("b", Outcome::Timeout, Some("Timed out after 5 s"), NOW - 1_000));
        overview.apply(ended("c", Outcome::Timeout, Some("Timed out after 5 s"), NOW));
        overview.apply(ended("d", Outcome::Cancelled, Some("Cancelled"), NOW));
        overview.apply(started("e", "w1", NOW - 7_000));
        let figures = overview.figures(NOW);
        assert_eq!(
            (
                figures.tasks,
                figures.queued,
                figures.running,
                figures.completed,
                figures.failed,
                figures.cancelled
            ),
            (6, 1, 1, 1, 2, 1)
        );
        assert_eq!(figures.usage.unwrap().cost.unwrap().total, 2.0);
        assert_eq!(figures.rate, Some(8.0), "four within half a minute");
        assert_eq!(figures.left_ms, Some(15_000));
        assert_eq!(figures.failures[0].count, 2);
        assert_eq!(figures.failures[0].reason, "timeout: Timed out after 5 s");
        assert_eq!(figures.slowest[0].running_ms, 7_000);
        assert_eq!(figures.workers, [("w1".to_owned(), 1)]);
        assert!(!overview.is_over());
    }

    #[test]
    fn a_task_that_is_tried_again_is_queued_again() {
        let mut overview = Overview::default();
        overview.apply(Change::Entered(entry("a", 1)));
        overview.apply(ended("a", Outcome::Timeout, None, NOW));
        assert!(overview.is_over());
        overview.apply(Change::Result(TaskName::parse("a").unwrap(), None));
        overview.apply(Change::State(TaskName::parse("a").unwrap(), None));
        assert_eq!(overview.figures(NOW).queued, 1);
        assert_eq!(overview.figures(NOW).failures, []);
    }

    #[test]
    fn errors_that_all_differ_do_not_fill_the_memory() {
        let mut overview = Overview::default();
        for number in 0..1_000 {
            let error = format!("problem {number}");
            overview.apply(ended(&format!("k{number}"), Outcome::ProviderError, Some(&error), NOW));
        }
        assert!(overview.reasons.len() <= MOST_REASONS + 1);
        assert_eq!(overview.figures(NOW).failures[0].count, 800);
    }
}
