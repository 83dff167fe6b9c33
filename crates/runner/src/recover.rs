//! The truth about runs that have lost their supervisor.

use model::{AnswerKind, AnsweredBy, Event, Leftovers, Outcome, Record, RunResult};
use session::Facts;
use store::{Journal, Life, RunDir, StoreError};

use crate::leftovers::stop_leftovers;
use crate::now_ms;
use crate::result::{not_kept, result_of};
use crate::stopped::wake_if_stopped;
use crate::worktree::keep_changes;

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
            Recovery::HadEnded(result) | Recovery::Ended { result, .. } => Some(*result),
            Recovery::NotKept { mut result, error } => {
                result.warnings.push(not_kept(&error));
                Some(*result)
            }
        }
    }
}

/// If the run has lost its supervisor: stops what is left of its tree and ends it as interrupted,
/// with what it had said.
///
/// Any number of programs may call this at once; one of them does it.
pub fn recover(dir: &RunDir) -> Result<Recovery, StoreError> {
    recover_because(dir, SUPERVISOR_DIED, false)
}

/// The same for a given reason. `is_all_adopted` says that this process has adopted whatever the
/// supervisor left, and stopped it.
pub(crate) fn recover_because(
    dir: &RunDir,
    reason: &str,
    is_all_adopted: bool,
) -> Result<Recovery, StoreError> {
    let abandoned = match dir.life()? {
        Life::Alive => {
            // Nothing else would wake the supervisor of a background run.
            wake_if_stopped(dir);
            return Ok(Recovery::Alive);
        }
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
    let remaining = stop_leftovers(dir, &meta, is_all_adopted);
    let mut ends = Vec::new();
    // It may have died between its last event and its result.
    if facts.outcome.is_none() {
        ends.extend(remaining.warnings());
        ends.extend(
            facts.open_messages.iter().map(|number| Event::MessageRefused {
                number: *number,
                reason: UNPROVEN.to_owned(),
            }),
        );
        ends.extend(facts.open_questions.iter().map(|open| Event::QuestionAnswered {
            number: open.number,
            answer: AnswerKind::No,
            text: Some(UNANSWERED.to_owned()),
            by: AnsweredBy::End,
            client: None,
        }));
        let (outcome, error) = match dir.stop_requested() {
            // Its supervisor did not get to it.
            Some(_) => (Outcome::Cancelled, "Cancelled before it had finished"),
            None => (Outcome::Interrupted, reason),
        };
        let leftovers = remaining.to_record();
        ends.extend(keep_changes(&meta, leftovers.is_none()));
        ends.push(ended_leaving(outcome, error, leftovers));
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
        is_answer_lost |= record.seq.saturating_sub(last_seq) > 1;
        is_answer_lost &= !matches!(record.event, Event::AssistantMessage { .. });
        last_seq = record.seq;
        facts.apply(&record);
    }
    if facts.outcome == Some(Outcome::Completed) && is_answer_lost {
        facts.output.clear();
        facts.warnings.push(RunResult::ANSWER_LOST.to_owned());
    }
    Ok(facts)
}

const UNANSWERED: &str = "the supervisor died before the question was answered";
const UNPROVEN: &str = "the supervisor died before it was known whether the agent read the message";
pub(crate) const SUPERVISOR_DIED: &str = "Interrupted: the supervisor of this run died";
pub(crate) const PARENT_DIED: &str = "Interrupted: the program that started this run died";

/// The terminal event of a run whose end no exit explains.
pub(crate) fn ended(outcome: Outcome, error: impl Into<String>) -> Event {
    ended_leaving(outcome, error, None)
}

fn ended_leaving(
    outcome: Outcome,
    error: impl Into<String>,
    leftovers: Option<Leftovers>,
) -> Event {
    let error = Some(error.into());
    Event::RunEnded { outcome, error, exit_code: None, signal: None, leftovers }
}

/// How long it ran, by the wall clock: the only one that outlives a process.
pub(crate) fn duration(facts: &Facts) -> u64 {
    match (facts.started_at, facts.ended_at) {
        (Some(started), Some(ended)) => ended.saturating_sub(started),
        _ => 0,
    }
}
