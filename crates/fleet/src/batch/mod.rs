//! Batches: tasks that no process waits for.
//!
//! A batch is what the server has of it: an entry for each task ([`BatchEntry`]), the tasks in the queue, their states and
//! their results. An entry is created once, before its task is queued, so that a task is known by its key. A task that has an
//! entry, but neither waits in the queue nor has a result, was lost between the two by a caller that died; submitting the
//! batch again queues it.

mod change;
mod line;
mod overview;
mod patch;
mod read;
mod submit;

use model::{RunId, SessionId};
use serde::{Deserialize, Serialize};

pub use change::{Cancelled, cancel_batch, delete_batch, prune_batches};
pub use line::{TaskLineError, read_task_line};
pub use overview::{FailureReason, Figures, Overview, Phase, SlowTask};
pub use patch::Patches;
pub use read::{
    AttemptEvents, BatchCount, Change, Following, batch_entries, count_batches, each_result,
    load_overview, task_events, task_result, task_state, workers,
};
pub use submit::{NewTask, Submission, Submitted};

use crate::{Format, Snapshot, TaskAddress, TaskName};

/// The stream with the entries of all batches.
pub const BATCHES: &str = "SUBAGENTS_BATCHES";

/// What is known of a task of a batch from its submission on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct BatchEntry {
    pub format: Format,
    pub address: TaskAddress,
    pub run_id: RunId,
    pub session_id: SessionId,
    pub name: String,
    /// Its position in the order of submission, from one.
    pub number: u64,
    /// In milliseconds since 1970, by the clock of the caller.
    pub submitted_at: u64,
    /// The files on which it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Snapshot>,
}

impl TaskAddress {
    /// Where the entry of a task of a batch is published, in [`BATCHES`].
    pub fn entry_subject(&self) -> String {
        format!("subagents.batch.{}.{}", self.batch.token(), self.task.token())
    }
}

/// The entries of a batch.
fn entries_of(batch: &TaskName) -> String {
    format!("subagents.batch.{}.*", batch.token())
}

/// The keys of a batch in every pool, behind what a stream puts before them.
fn keys_of(prefix: &str, batch: &TaskName) -> String {
    format!("{prefix}.*.{}.*", batch.token())
}

/// The stream behind a key-value bucket, and what its subjects begin with.
fn bucket_stream(bucket: &str) -> (String, String) {
    (format!("KV_{bucket}"), format!("$KV.{bucket}"))
}
