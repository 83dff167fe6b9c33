//! The truth about runs that have lost their supervisor.

use model::{Event, Meta, Outcome, Record, RunResult, variables};
use process::{KillTarget, Marker};
use session::Facts;
use store::{Journal, Life, RunDir, StoreError};

use crate::durations::STOP_GRACE;
use crate::now_ms;
use crate::result::result_of;

/// What became of a run that may have lost its supervisor.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say the rest")]
pub enum Recovery {
    /// Its supervisor is at work.
    Alive,
    /// It had ended before.
    HadEnded(Box<RunResult>),
    /// It was ended just now. `record` is its terminal event, unless it had one already.
    Ended { record: Option<Record>, result: Box<RunResult> },
    /// It was ended just now, but the disk is full or cannot be written. The result is what its
    /// record tells.
    NotKept { result: Box<RunResult>, error: StoreError },
}

impl Recovery {
    /// The result, unless the run is alive.
    pub fn result(self) -> Option<RunResult> {
        match self {
            Recovery::Alive => None,
            Recovery::HadEnded(result)
            | Recovery::Ended { result, .. }
            | Recovery::NotKept { result, .. } => Some(*result),
        }
    }
}

/// If the run has lost its supervisor: stops what is left of its tree and ends it as interrupted,
/// with what it had said.
///
/// Any number of programs may call this at once; one of them does it.
pub fn recover(dir: &RunDir) -> Result<Recovery, StoreError> {
    recover_because(dir, SUPERVISOR_DIED)
}

pub(crate) fn recover_because(dir: &RunDir, reason: &str) -> Result<Recovery, StoreError> {
    let abandoned = match dir.life()? {
        Life::Alive => return Ok(Recovery::Alive),
        Life::Ended(result) => return Ok(Recovery::HadEnded(result)),
        Life::Abandoned(abandoned) => abandoned,
    };
    dir.check_writable()?;
    let meta = dir.meta()?;
    let mut facts = replay(dir)?;
    if !dir.is_original(&meta) {
        // A copy was never run, so there is nothing of it to be stopped, and nothing is written
        // into a directory that another program has made.
        if facts.outcome.is_none() {
            let record =
                Record { seq: 0, at: now_ms(), event: ended(Outcome::Interrupted, reason) };
            facts.apply(&record);
        }
        let result = Box::new(result_of(&meta, &facts, duration(&facts)));
        return Ok(Recovery::HadEnded(result));
    }
    let survivors = stop_leftovers(&meta);
    let mut ends = Vec::new();
    // It may have died between its last event and its result.
    if facts.outcome.is_none() {
        ends.extend((survivors > 0).then(|| survivors_warning(survivors)));
        ends.push(match dir.stop_requested() {
            // Its supervisor did not get to it.
            Some(_) => ended(Outcome::Cancelled, "Cancelled before it had finished"),
            None => ended(Outcome::Interrupted, reason),
        });
    }
    let mut journal = match Journal::resume(abandoned, &meta.limits) {
        Ok(journal) => journal,
        Err(error @ StoreError::Io { .. }) => {
            for event in ends {
                facts.apply(&Record { seq: 0, at: now_ms(), event });
            }
            let result = Box::new(result_of(&meta, &facts, duration(&facts)));
            return Ok(Recovery::NotKept { result, error });
        }
        Err(error) => return Err(error),
    };
    let mut last = None;
    for event in ends {
        for (record, _) in journal.record(now_ms(), event) {
            facts.apply(&record);
            last = Some(record);
        }
    }
    let result = Box::new(result_of(&meta, &facts, duration(&facts)));
    match journal.finish(&result) {
        Ok(()) => Ok(Recovery::Ended { record: last, result }),
        Err(error @ StoreError::Io { .. }) => Ok(Recovery::NotKept { result, error }),
        Err(error) => Err(error),
    }
}

/// What is recorded of a run.
///
/// Events are numbered without a gap. What is missing could not be written, and if that may have been the
/// answer of a run that completed, no earlier word of it must be taken for one.
fn replay(dir: &RunDir) -> Result<Facts, StoreError> {
    let mut facts = Facts::default();
    let mut last_seq = 0;
    let mut is_answer_lost = false;
    for record in dir.events()? {
        is_answer_lost |= record.seq > last_seq + 1;
        is_answer_lost &= !matches!(record.event, Event::AssistantMessage { .. });
        last_seq = record.seq;
        facts.apply(&record);
    }
    if facts.outcome == Some(Outcome::Completed) && is_answer_lost {
        facts.output.clear();
        facts.warnings.push(ANSWER_LOST.to_owned());
    }
    Ok(facts)
}

const ANSWER_LOST: &str = "The record of this run is not complete: its answer was not kept";

pub(crate) const SUPERVISOR_DIED: &str = "Interrupted: the supervisor of this run died";
pub(crate) const PARENT_DIED: &str = "Interrupted: the program that started this run died";

/// Stops every process that carries the run's marker. Returns how many could not be stopped.
pub(crate) fn stop_leftovers(meta: &Meta) -> usize {
    process::stop_marked(&marker(meta), STOP_GRACE)
}

/// How many processes carry the run's marker.
pub(crate) fn count_leftovers(meta: &Meta) -> usize {
    KillTarget::Marked(marker(meta)).count()
}

fn marker(meta: &Meta) -> Marker {
    let run_dir = meta.environment.get(variables::RUN_DIR).cloned().flatten().unwrap_or_default();
    // The directory too: a copy of a project has copies of its runs, which must not end the originals.
    Marker::new(&[(variables::RUN, meta.run_id.as_str()), (variables::RUN_DIR, &run_dir)])
}

/// What to say about processes that do not go away.
pub(crate) fn survivors_warning(count: usize) -> Event {
    Event::Warning { message: format!("{count} processes of the run could not be killed") }
}

/// The terminal event of a run whose end no exit explains.
pub(crate) fn ended(outcome: Outcome, error: impl Into<String>) -> Event {
    Event::RunEnded { outcome, error: Some(error.into()), exit_code: None, signal: None }
}

/// How long it ran, by the wall clock: the only one that outlives a process.
pub(crate) fn duration(facts: &Facts) -> u64 {
    match (facts.started_at, facts.ended_at) {
        (Some(started), Some(ended)) => ended.saturating_sub(started),
        _ => 0,
    }
}
