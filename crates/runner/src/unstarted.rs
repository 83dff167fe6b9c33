//! Runs that end without having been started.

use model::{Meta, Outcome, Record, RunResult};
use session::Facts;
use store::{Journal, NewRun, StoreError};

use crate::now_ms;
use crate::recover::ended;
use crate::result::result_of;

/// How a run ends whose supervisor or child could not be started.
pub(crate) fn spawn_failure(error: &str) -> (Outcome, String) {
    (Outcome::SpawnFailure, format!("Failed to spawn sub-agent process: {error}"))
}

/// The end of a run that was not started.
pub(crate) fn end_unstarted(
    meta: &Meta,
    (outcome, error): (Outcome, String),
) -> (Record, RunResult) {
    let record = Record { seq: 1, at: now_ms(), event: ended(outcome, error) };
    let mut facts = Facts::default();
    facts.apply(&record);
    let result = result_of(meta, &facts, 0);
    (record, result)
}

/// Writes that end into the directory of the run.
pub(crate) fn keep_unstarted(
    new_run: &NewRun,
    record: &Record,
    result: &RunResult,
) -> Result<(), StoreError> {
    let mut journal = Journal::begin(&new_run.dir, &new_run.meta.limits)?;
    journal.record(record.at, record.event.clone());
    journal.finish(result)
}
