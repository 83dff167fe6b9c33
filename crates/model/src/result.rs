//! The contents of `result.json`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Budget, Changes, Leftovers, Outcome, RunId, SessionId, Status, StopReason, Usage, short_error,
    short_optional_text, short_text,
};

/// What is known of a run when it has ended: the contents of `result.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "where a name says it, it needs no more")]
pub struct RunResult {
    pub format: u32,
    pub run_id: RunId,
    pub session_id: SessionId,
    #[serde(deserialize_with = "short_text")]
    pub name: String,
    pub status: Status,
    pub outcome: Outcome,
    /// What went wrong, in a sentence for people.
    #[serde(default, deserialize_with = "short_error")]
    pub error: Option<String>,
    /// The last text that the agent said.
    pub output: String,
    /// The value in that text, if a schema was given and the value fits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The last check of the agent's work, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Box<CheckResult>>,
    /// The child's exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The signal that killed the child, if one did.
    pub signal: Option<i32>,
    /// The model that answered last.
    #[serde(default, deserialize_with = "short_optional_text")]
    pub model: Option<String>,
    /// Why the model stopped the last time, where the agent says so.
    pub stop_reason: Option<StopReason>,
    /// Everything that the run spent.
    pub usage: Usage,
    /// How much it could spend.
    #[serde(default, skip_serializing_if = "Budget::is_unlimited")]
    pub budget: Budget,
    pub tool_calls: u64,
    /// When the child was started, in milliseconds since 1970; absent if it never was.
    pub started_at: Option<u64>,
    /// When the run had ended and nothing of it was left but its leftovers, in milliseconds since 1970.
    pub ended_at: u64,
    pub duration_ms: u64,
    /// What people should know although it did not decide the outcome.
    pub warnings: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leftovers: Option<Leftovers>,
    /// What the agent changed, if it worked in a worktree of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Box<Changes>>,
    /// What the agent and everything that it started have used; absent if it never ran, or if its supervisor died.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
}

/// What all processes of a run have used together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resources {
    /// Processor time, in milliseconds.
    pub processor_ms: u64,
    /// The most memory at one time, in bytes.
    pub peak_memory: u64,
}

/// How the last check of an agent's work ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct CheckResult {
    pub command: String,
    pub passed: bool,
    /// Why it did not pass, where its exit does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Its exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The signal that killed it, if one did.
    pub signal: Option<i32>,
    /// The end of what it printed. The file `check.log` of the run directory has more.
    pub output: String,
}

impl CheckResult {
    /// Why it did not pass, behind the word *failed*.
    pub fn failure(&self) -> String {
        match (&self.problem, self.exit_code, self.signal) {
            (Some(problem), ..) => problem.clone(),
            (None, Some(code), _) => format!("exit code {code}"),
            (None, None, Some(signal)) => format!("killed by signal {signal}"),
            (None, None, None) => "it did not end".to_owned(),
        }
    }
}

impl RunResult {
    /// The warning of a run that completed, but whose answer could not be written.
    pub const ANSWER_LOST: &str = "The record of this run is not complete: its answer was not kept";
}
