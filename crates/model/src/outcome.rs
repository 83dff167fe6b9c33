//! How a run ended.

use serde::{Deserialize, Serialize};

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
    /// The agent repeated the same tool calls.
    Loop,
    /// The user, the caller or another program asked for the run to be stopped.
    Cancelled,
    /// Memory ran out, and the agent took more of it than any other.
    Evicted,
    /// The child could not be started.
    SpawnFailure,
    /// The run was cut off: its parent or its supervisor died, or the agent left in mid-work.
    Interrupted,
    /// The budget of the run, of its call or of the day was spent.
    Budget,
    /// The provider gives nothing more until a time, which the error names.
    Quota,
    /// The agent finished, but the check of its work did not pass.
    CheckFailed,
    /// The agent finished, but its answer does not fit the schema.
    InvalidOutput,
    /// The workers of the fleet that had the task died, one after another.
    Lost,
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
            Outcome::Evicted => "evicted",
            Outcome::SpawnFailure => "spawn_failure",
            Outcome::Interrupted => "interrupted",
            Outcome::Budget => "budget",
            Outcome::Quota => "quota",
            Outcome::CheckFailed => "check_failed",
            Outcome::InvalidOutput => "invalid_output",
            Outcome::Lost => "lost",
        }
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
