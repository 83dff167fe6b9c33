//! Why a run is stopped, and how it ended.

use serde::{Deserialize, Serialize};

use crate::{Limits, RunId, SessionId, StopReason, Usage};

/// How a run ended: a closed set, of which only [`Outcome::Completed`] is a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The agent said its last word and nothing contradicts it.
    Completed,
    /// The model's provider refused or failed, whatever the exit code says.
    ProviderError,
    /// The child exited with a code other than zero.
    NonZeroExit,
    /// The child was killed by a signal that was not ours.
    KilledBySignal,
    /// The child exited with zero, but never said anything.
    NoAssistantMessage,
    /// The time was up.
    Timeout,
    /// The agent repeated the same tool call.
    Loop,
    /// The user, the caller or another program asked for the run to be stopped.
    Cancelled,
    /// The child could not be started.
    SpawnFailure,
    /// The run was cut off: its parent or its supervisor died, or the agent left in mid-work.
    Interrupted,
}

impl Outcome {
    /// Whether the run succeeded, in the words that sessions use.
    pub fn status(self) -> Status {
        match self {
            Outcome::Completed => Status::Completed,
            _ => Status::Error,
        }
    }

    /// The word for the outcome, the same in JSON and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Completed => "completed",
            Outcome::ProviderError => "provider_error",
            Outcome::NonZeroExit => "non_zero_exit",
            Outcome::KilledBySignal => "killed_by_signal",
            Outcome::NoAssistantMessage => "no_assistant_message",
            Outcome::Timeout => "timeout",
            Outcome::Loop => "loop",
            Outcome::Cancelled => "cancelled",
            Outcome::SpawnFailure => "spawn_failure",
            Outcome::Interrupted => "interrupted",
        }
    }
}

/// Why the supervisor stops a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// The time was up.
    Timeout,
    /// The same tool call was repeated.
    Loop,
    /// The user, the caller or another program asked for it.
    Cancelled,
    /// The parent died.
    ParentDied,
    /// The agent said its last word but did not exit.
    LastWord,
    /// The child exited and left processes behind.
    Leftovers,
    /// The directory of a background run was deleted, so that no program can see or stop it.
    DirectoryRemoved,
}

impl StopCause {
    /// What is shown while the run is being stopped.
    pub fn words(self) -> &'static str {
        match self {
            StopCause::Timeout => "Stopping: the time is up",
            StopCause::Loop => "Stopping: the same tool call is repeated",
            StopCause::Cancelled => "Stopping: cancelled",
            StopCause::ParentDied => "Stopping: the program that started this run died",
            StopCause::LastWord => "Stopping: the agent has finished but does not exit",
            StopCause::Leftovers => "Stopping what the agent left running",
            StopCause::DirectoryRemoved => "Stopping: the directory of this run was deleted",
        }
    }

    /// How a run ended that was stopped for this cause, and the error in a sentence for people.
    /// Absent where stopping only cleans up, so that the stream and the exit decide.
    pub fn failure(self, limits: &Limits) -> Option<Verdict> {
        let (outcome, error) = match self {
            StopCause::Timeout => {
                let seconds = limits.timeout_ms.unwrap_or_default() as f64 / 1000.0;
                let error =
                    format!("Timed out after {seconds}s. Consider resuming with a longer timeout.");
                (Outcome::Timeout, error)
            }
            StopCause::Loop => {
                let error = "Loop detected: sub-agent is repeating the same tool calls";
                (Outcome::Loop, error.to_owned())
            }
            StopCause::Cancelled => {
                (Outcome::Cancelled, "Cancelled before it had finished".to_owned())
            }
            StopCause::ParentDied => {
                let error = "Interrupted: the program that started this run died";
                (Outcome::Interrupted, error.to_owned())
            }
            StopCause::DirectoryRemoved => {
                (Outcome::Cancelled, "Stopped: the directory of this run was deleted".to_owned())
            }
            StopCause::LastWord | StopCause::Leftovers => return None,
        };
        Some(Verdict { outcome, error: Some(error) })
    }
}

/// How a run ended, and what went wrong in a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Verdict {
    pub outcome: Outcome,
    /// Absent only if nothing went wrong.
    pub error: Option<String>,
}

/// Where a run or session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say the rest")]
pub enum Status {
    Running,
    Completed,
    /// It ended in any other way.
    Error,
}

impl Status {
    /// The word for the status, the same in JSON and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Completed => "completed",
            Status::Error => "error",
        }
    }
}

/// What is known of a run when it has ended: the contents of `result.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct RunResult {
    pub format: u32,
    pub run_id: RunId,
    pub session_id: SessionId,
    pub name: String,
    pub status: Status,
    pub outcome: Outcome,
    /// What went wrong, in a sentence for people.
    pub error: Option<String>,
    /// The last text that the agent said.
    pub output: String,
    /// The child's exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The signal that killed the child, if one did.
    pub signal: Option<i32>,
    /// The model that answered last.
    pub model: Option<String>,
    /// Why the model stopped the last time, where the agent says so.
    pub stop_reason: Option<StopReason>,
    pub usage: Usage,
    pub tool_calls: u64,
    /// When the child was started, in milliseconds since 1970; absent if it never was.
    pub started_at: Option<u64>,
    /// When the run had ended and nothing of it was left, in milliseconds since 1970.
    pub ended_at: u64,
    /// The time between the two.
    pub duration_ms: u64,
    /// What people should know although it did not decide the outcome.
    pub warnings: Vec<String>,
}
