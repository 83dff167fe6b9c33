//! The truth about runs that have lost their supervisor.

use model::{Event, Meta, Outcome, RunResult, variables};
use process::Marker;
use session::Facts;
use store::{Journal, Life, RunDir, StoreError};

use crate::result::result_of;
use crate::{STOP_GRACE, now_ms};

/// If the run has lost its supervisor: stops what is left of its tree and ends it as interrupted,
/// with what it had said. Returns its result, or nothing if it is alive.
///
/// Any number of programs may call this at once; one of them does it.
pub fn recover(dir: &RunDir) -> Result<Option<RunResult>, StoreError> {
    let abandoned = match dir.life()? {
        Life::Alive => return Ok(None),
        Life::Ended(result) => return Ok(Some(*result)),
        Life::Abandoned(abandoned) => abandoned,
    };
    dir.check_writable()?;
    let meta = dir.meta()?;
    stop_leftovers(&meta);
    let mut facts = Facts::replay(dir.events()?);
    let mut journal = Journal::resume(abandoned, &meta.limits)?;
    // It may have died between its last event and its result.
    if facts.outcome.is_none() {
        let (record, _) = journal.record(now_ms(), interrupted(SUPERVISOR_DIED));
        facts.apply(&record);
    }
    let result = result_of(&meta, &facts, duration(&facts));
    journal.finish(&result)?;
    Ok(Some(result))
}

/// Why a run without a supervisor was interrupted.
pub(crate) const SUPERVISOR_DIED: &str = "Interrupted: the supervisor of this run died";

/// Stops every process that carries the run's marker.
pub(crate) fn stop_leftovers(meta: &Meta) {
    let marker = Marker::new(variables::RUN, meta.run_id.as_str());
    process::stop_marked(&marker, STOP_GRACE);
}

/// The terminal event of a run that was cut off.
pub(crate) fn interrupted(error: &str) -> Event {
    Event::RunEnded {
        outcome: Outcome::Interrupted,
        error: Some(error.to_owned()),
        exit_code: None,
        signal: None,
    }
}

/// How long it ran, by the wall clock: the only one that outlives a process.
pub(crate) fn duration(facts: &Facts) -> u64 {
    match (facts.started_at, facts.ended_at) {
        (Some(started), Some(ended)) => ended.saturating_sub(started),
        _ => 0,
    }
}
