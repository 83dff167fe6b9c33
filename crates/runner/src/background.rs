//! Runs that outlive the program that started them.

use std::io;
use std::time::Instant;

use model::{Lifetime, Meta, Outcome, Plan, Secrets};
use rustix::event::{PollFd, PollFlags};
use store::{NewRun, RunDir, Store, StoreError};

use crate::dispatcher::prune_now_and_then;
use crate::durations::READY_ANSWER;
use crate::launcher::{Launcher, SupervisorHandle};
use crate::leftovers::{cgroup_path, stop_leftovers};
use crate::lifeline::{Lifeline, ToParent, ToSupervisor};
use crate::poll::poll_ready;
use crate::unstarted::{end_unstarted, keep_unstarted};

#[derive(Debug)]
pub(crate) struct Background {
    pub(crate) dir: RunDir,
    pub(crate) meta: Meta,
    /// To be kept as long as this program lives, and reaped by it.
    pub(crate) supervisor: SupervisorHandle,
}

/// A background run was not started, and nothing of it is left but perhaps its record.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum BackgroundError {
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("Failed to spawn sub-agent process: {0}")]
    Launch(io::Error),
    #[error("Failed to spawn sub-agent process: the supervisor refused: {0}")]
    Supervisor(String),
    #[error("Failed to spawn sub-agent process: the supervisor did not answer")]
    NoAnswer,
}

/// Starts a run of its own, and returns when its supervisor has taken it over.
pub(crate) fn start_background(
    store: &Store,
    launcher: &Launcher,
    mut plan: Plan,
) -> Result<Background, BackgroundError> {
    debug_assert_eq!(plan.meta.lifetime, Lifetime::Background);
    if let Some(refusal) = plan.refusal {
        return Err(BackgroundError::Refused(refusal));
    }
    if let Some(words) = plan.meta.ledger.as_deref().and_then(governor::day_is_spent) {
        return Err(BackgroundError::Refused(words));
    }
    plan.meta_mut().cgroup = cgroup_path(&plan.meta.run_id);
    // Not in a temporary directory, where it would not be found.
    let new_run = store.create(&plan)?;
    let launched = match launcher.launch(&new_run.dir, Lifetime::Background) {
        Ok(launched) => launched,
        Err(error) => {
            let error = BackgroundError::Launch(error);
            end(&new_run, &error);
            return Err(error);
        }
    };
    let mut supervisor = launched.supervisor;
    let lifeline = Lifeline::new(launched.lifeline).map_err(BackgroundError::Launch);
    match lifeline.and_then(|lifeline| hand_over(lifeline, plan.secrets)) {
        Ok(()) => {
            // This program may be gone when the run ends.
            prune_now_and_then(store, &new_run.meta.run_id);
            Ok(Background { dir: new_run.dir, meta: new_run.meta, supervisor })
        }
        Err(error) => {
            supervisor.kill();
            stop_leftovers(&new_run.dir, &new_run.meta, false);
            let _ = supervisor.try_wait();
            end(&new_run, &error);
            Err(error)
        }
    }
}

/// Waits until the supervisor has the run's lock, and gives it the word to start.
fn hand_over(mut lifeline: Lifeline, secrets: Secrets) -> Result<(), BackgroundError> {
    let deadline = Instant::now() + READY_ANSWER;
    let mut is_ready = false;
    lifeline.send(&ToSupervisor::Start { secrets });
    while !is_ready || lifeline.wants_to_write() {
        lifeline.flush();
        for message in lifeline.receive() {
            match message {
                ToParent::Ready => is_ready = true,
                ToParent::Refused(reason) => return Err(BackgroundError::Supervisor(reason)),
                _ => {}
            }
        }
        if is_ready && !lifeline.wants_to_write() {
            break;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if !lifeline.is_open() || left.is_zero() {
            return Err(BackgroundError::NoAnswer);
        }
        let mut flags = PollFlags::IN;
        flags.set(PollFlags::OUT, lifeline.wants_to_write());
        poll_ready(&mut [PollFd::new(&lifeline, flags)], Some(left));
    }
    Ok(())
}

/// Ends the record of a run that was not started, as far as it can still be written.
fn end(new_run: &NewRun, error: &BackgroundError) {
    let (record, result) = end_unstarted(&new_run.meta, (Outcome::SpawnFailure, error.to_string()));
    let _ = keep_unstarted(new_run, &record, &result);
}
