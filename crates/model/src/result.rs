//! The contents of `result.json`.

use serde::{Deserialize, Serialize};

use crate::{Outcome, RunId, SessionId, Status, StopReason, Usage};

/// What is known of a run when it has ended: the contents of `result.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "where a name says it, it needs no more")]
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
    /// Everything that the run spent.
    pub usage: Usage,
    pub tool_calls: u64,
    /// When the child was started, in milliseconds since 1970; absent if it never was.
    pub started_at: Option<u64>,
    /// When the run had ended and nothing of it was left, in milliseconds since 1970.
    pub ended_at: u64,
    pub duration_ms: u64,
    /// What people should know although it did not decide the outcome.
    pub warnings: Vec<String>,
}
