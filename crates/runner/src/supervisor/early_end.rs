//! Runs that end before their agent has started.

use model::{Event, Leftovers, Outcome, StopCause, Verdict};

use super::access::Bounds;
use super::confined_start::NotStarted;
use super::early_stop::EarlyStop;
use super::event_sink::EventSink;
use crate::recover::ended;
use crate::unstarted::spawn_failure;
use crate::worktree::{Worktree, keep_changes};

/// Why a run has no agent.
pub(super) enum EarlyEnd {
    /// It was stopped, or its worktree could not be made or prepared.
    Unprepared(Unprepared),
    /// A process could not be started.
    NotStarted(NotStarted),
    /// It could not be kept within its access, for this reason.
    NoBounds(String),
}

/// What has failed before the agent, or stopped the run.
pub(super) struct Unprepared {
    pub(super) cause: Option<StopCause>,
    pub(super) verdict: Verdict,
    /// What did not go away.
    pub(super) leftovers: Option<Leftovers>,
}

impl Unprepared {
    /// Something failed, unless the run was stopped: then that is why.
    pub(super) fn new(stop: &EarlyStop<'_>, error: String) -> Unprepared {
        let (cause, verdict) = match stop.verdict() {
            Some((cause, verdict)) => (Some(cause), verdict),
            None => (None, Verdict { outcome: Outcome::SpawnFailure, error: Some(error) }),
        };
        Unprepared { cause, verdict, leftovers: None }
    }
}

impl From<Unprepared> for EarlyEnd {
    fn from(unprepared: Unprepared) -> EarlyEnd {
        EarlyEnd::Unprepared(unprepared)
    }
}

impl From<NotStarted> for EarlyEnd {
    fn from(not_started: NotStarted) -> EarlyEnd {
        EarlyEnd::NotStarted(not_started)
    }
}

/// Ends a run, and gives up what was made for its agent.
pub(super) fn end_early(
    mut sink: EventSink,
    early_end: EarlyEnd,
    bounds: Option<Bounds>,
    worktree: Option<Worktree>,
) {
    release(&mut sink, bounds);
    let (reason, is_shortage) = match early_end {
        EarlyEnd::Unprepared(unprepared) => return end_unprepared(sink, unprepared, worktree),
        EarlyEnd::NotStarted(NotStarted { reason, is_shortage }) => (reason, is_shortage),
        EarlyEnd::NoBounds(reason) => (reason, false),
    };
    worktree.into_iter().for_each(Worktree::discard);
    // The parent may have other runs, after which there is room.
    if is_shortage && sink.lifeline().is_some() {
        sink.hand_back(reason);
    } else {
        let (outcome, error) = spawn_failure(&reason);
        sink.end(ended(outcome, error));
    }
}

fn end_unprepared(mut sink: EventSink, unprepared: Unprepared, worktree: Option<Worktree>) {
    let Unprepared { cause, verdict: Verdict { outcome, error }, leftovers } = unprepared;
    if let Some(cause) = cause {
        sink.record(Event::Stopping { cause, seen: None });
    }
    if leftovers.is_none() {
        worktree.into_iter().for_each(Worktree::discard);
    } else if let Some(kept) = keep_changes(&sink.meta, false) {
        // What could not be stopped may still write there.
        sink.record(kept);
    }
    sink.end(Event::RunEnded { outcome, error, exit_code: None, signal: None, leftovers });
}

/// Gives up the bounds of a run that has no agent, and says what is wrong with them: what prepares a worktree can have
/// changed what git reads.
fn release(sink: &mut EventSink, bounds: Option<Bounds>) {
    let Some(mut bounds) = bounds else { return };
    let warnings = std::mem::take(&mut bounds.warnings).into_iter().chain(bounds.release());
    warnings.for_each(|message| sink.record(Event::Warning { message }));
}
