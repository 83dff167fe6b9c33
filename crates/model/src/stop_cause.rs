//! Why a run is stopped, and what is said about it.

use serde::{Deserialize, Serialize};

use crate::{Limits, Outcome, Verdict};

/// Why the supervisor stops a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// The time was up.
    Timeout,
    /// The same tool calls were repeated.
    Loop,
    /// The budget of the run or of its call was spent.
    Budget,
    /// The user, the caller or another program asked for it.
    Cancelled,
    /// The parent died.
    ParentDied,
    /// The agent said its last word but did not exit.
    LastWord,
    /// The child exited and left processes behind.
    Leftovers,
    /// Memory ran out, and no agent took more of it.
    Evicted,
    /// The directory of a background run was deleted, so that no program can see or stop it.
    DirectoryRemoved,
}

impl StopCause {
    /// Whether the agent had finished, and only what is left of it is stopped.
    pub fn is_cleanup(self) -> bool {
        matches!(self, StopCause::LastWord | StopCause::Leftovers)
    }

    /// What is shown while the run is being stopped.
    pub fn words(self) -> &'static str {
        match self {
            StopCause::Timeout => "Stopping: the time is up",
            StopCause::Loop => "Stopping: the same tool calls are repeated",
            StopCause::Budget => "Stopping: the budget is spent",
            StopCause::Cancelled => "Stopping: cancelled",
            StopCause::ParentDied => "Stopping: the program that started this run died",
            StopCause::LastWord => "Stopping: the agent has finished but does not exit",
            StopCause::Leftovers => "Stopping what the agent left running",
            StopCause::Evicted => "Stopping: memory ran out, and no agent takes more of it",
            StopCause::DirectoryRemoved => "Stopping: the directory of this run was deleted",
        }
    }

    /// How a run ended that was stopped for this cause, and the error in a sentence for people, with
    /// what the rule has seen. Absent where stopping only cleans up, so that the stream and the exit decide.
    pub fn failure(self, limits: &Limits, seen: Option<&str>) -> Option<Verdict> {
        let (outcome, error) = match self {
            StopCause::Timeout => {
                let seconds = limits.timeout_ms.unwrap_or_default() as f64 / 1000.0;
                let error =
                    format!("Timed out after {seconds}s. Consider resuming with a longer timeout.");
                (Outcome::Timeout, error)
            }
            StopCause::Loop => {
                let error = "Loop detected: sub-agent is repeating the same tool calls";
                let error = match seen {
                    Some(seen) => format!("{error}: {seen}"),
                    None => error.to_owned(),
                };
                (Outcome::Loop, error)
            }
            StopCause::Budget => {
                let budget = seen.unwrap_or("its budget");
                let error = format!("Stopped at {budget}. Consider resuming with a larger one.");
                (Outcome::Budget, error)
            }
            StopCause::Cancelled => {
                (Outcome::Cancelled, "Cancelled before it had finished".to_owned())
            }
            StopCause::ParentDied => {
                let error = "Interrupted: the program that started this run died";
                (Outcome::Interrupted, error.to_owned())
            }
            StopCause::Evicted => {
                let seen = seen.map(|seen| format!(" ({seen})")).unwrap_or_default();
                let error = format!(
                    "Evicted: memory ran out, and no agent took more of it{seen}. Run it again when more is \
                     free, or with fewer agents at a time."
                );
                (Outcome::Evicted, error)
            }
            StopCause::DirectoryRemoved => {
                (Outcome::Cancelled, "Stopped: the directory of this run was deleted".to_owned())
            }
            StopCause::LastWord | StopCause::Leftovers => return None,
        };
        Some(Verdict { outcome, error: Some(error) })
    }
}
