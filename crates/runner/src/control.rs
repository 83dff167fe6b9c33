//! Waiting for runs and stopping them, whichever program started them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use model::{Meta, RunId, RunResult, variables};
use process::{KillTarget, Marker, ProcessStamp, Signal, Traces};
use rustix::event::{PollFd, PollFlags};
use store::{RunDir, StopForce, StoreError, Watch};

use crate::durations::{EXIT_ANSWER, RECOVERY_ANSWER, SUPERVISOR_LOOK, answer_time};
use crate::leftovers::{Remaining, look_for_leftovers, number, stop_leftovers};
use crate::poll::poll_ready;
use crate::recover::{SUPERVISOR_DIED, recover, recover_because};
use crate::stopped::{
    Remedy, SUPERVISE, SUPERVISOR_STOPPED, StopCount, stopped_supervisors, supervisor_of,
};

/// Runs whose end is waited for. Any number of programs can wait for the same run.
#[derive(Debug)]
pub struct Waiting {
    runs: Vec<RunDir>,
    watch: Watch,
    look_at: Instant,
    /// How often in a row the supervisors of runs were found stopped.
    stops: BTreeMap<RunId, StopCount>,
    killed: BTreeSet<RunId>,
}

/// A run that has ended, or about which nothing can be known.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct EndedRun {
    pub dir: RunDir,
    /// An error if its record cannot be read.
    pub result: Result<RunResult, StoreError>,
}

impl Waiting {
    /// Returns at once; [`Waiting::wait`] waits.
    pub fn new(runs: Vec<RunDir>) -> Waiting {
        let mut watch = Watch::new();
        for dir in &runs {
            watch.add(dir.path());
        }
        let (stops, killed) = (BTreeMap::new(), BTreeSet::new());
        Waiting { runs, watch, look_at: Instant::now(), stops, killed }
    }

    /// Those that have not ended.
    pub fn pending(&self) -> &[RunDir] {
        &self.runs
    }

    /// The runs that have ended since the last call. A run that has lost its supervisor is ended
    /// here and now.
    pub fn ended(&mut self) -> Vec<EndedRun> {
        // First, so that whatever happens after this look wakes us again.
        self.watch.drain();
        self.look_for_stopped(Instant::now());
        let mut ended = Vec::new();
        self.runs.retain(|dir| {
            let is_killed = self.killed.contains(dir.run_id());
            let reason = if is_killed { SUPERVISOR_STOPPED } else { SUPERVISOR_DIED };
            let result = match recover_because(dir, reason, false).map(crate::Recovery::result) {
                Ok(None) => return true,
                Ok(Some(result)) => Ok(result),
                Err(error) => Err(error),
            };
            ended.push(EndedRun { dir: dir.clone(), result });
            false
        });
        ended
    }

    /// Wakes the supervisors that another program has stopped. No parent does it for a background run.
    fn look_for_stopped(&mut self, now: Instant) {
        if now < self.look_at {
            return;
        }
        self.look_at = now + SUPERVISOR_LOOK;
        let stopped = stopped_supervisors();
        if stopped.is_empty() {
            self.stops.clear();
            return;
        }
        for dir in &self.runs {
            let supervisor = supervisor_of(dir, &stopped);
            let count = self.stops.entry(dir.run_id().clone()).or_default();
            match (count.see(supervisor.is_some()), supervisor) {
                (Some(Remedy::Wake), Some(supervisor)) => supervisor.wake(),
                (Some(Remedy::Kill), Some(supervisor)) => {
                    self.killed.insert(dir.run_id().clone());
                    supervisor.kill();
                }
                _ => {}
            }
        }
    }

    /// Waits until a run has ended, one of the wakers can be read, or the deadline is there.
    /// Returns what has ended, perhaps nothing.
    pub fn wait(&mut self, wakers: &[BorrowedFd<'_>], deadline: Option<Instant>) -> Vec<EndedRun> {
        let ended = self.ended();
        if !ended.is_empty() || self.runs.is_empty() {
            return ended;
        }
        let limit = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let limit = limit.unwrap_or(Duration::MAX).min(self.watch.interval());
        await_change(&self.watch, wakers, limit);
        self.ended()
    }
}

/// Waits until the watch tells of a change, one of the wakers can be read, or it is time to look
/// anyway.
pub fn wait_for_change(watch: &Watch, wakers: &[BorrowedFd<'_>]) {
    await_change(watch, wakers, watch.interval());
}

fn await_change(watch: &Watch, wakers: &[BorrowedFd<'_>], limit: Duration) {
    let fds = wakers.iter().copied().chain(watch.waker());
    let mut fds: Vec<PollFd<'_>> =
        fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    poll_ready(&mut fds, Some(limit));
}

/// A run that was asked to stop.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Stopped {
    pub result: RunResult,
    /// Whether it had ended before it was asked.
    pub had_ended: bool,
    /// The processes of it that are still there, which are none unless the kernel holds one or
    /// another user's could not be stopped.
    pub left: Vec<u32>,
    /// Processes that may be of it, and were not touched.
    pub unsure: Vec<u32>,
    /// Why there may be others; nothing if it is proven that there are none.
    pub doubt: Option<&'static str>,
}

impl Stopped {
    /// Whether it is proven that nothing of the run is left.
    pub fn is_proven(&self) -> bool {
        self.left.is_empty() && self.doubt.is_none()
    }

    /// What is left, in words.
    pub fn words(&self) -> String {
        let ids = |pids: &[u32]| pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let mut words = match (self.left.len(), self.doubt) {
            (0, Some(_)) => "no process was found".to_owned(),
            (0, None) => "0 processes left".to_owned(),
            (1, _) => format!("1 process left: {}", ids(&self.left)),
            (count, _) => format!("{count} processes left: {}", ids(&self.left)),
        };
        if let Some(doubt) = self.doubt {
            let _ = write!(words, ", but others may be left, because {doubt}");
        }
        if !self.unsure.is_empty() {
            let _ = write!(words, "; these may be of this run: {}", ids(&self.unsure));
        }
        words
    }
}

/// A run could not be stopped.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum StopError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("its supervisor does not answer and cannot be found; is it on another machine?")]
    NoAnswer,
    #[error("its supervisor does not answer here; it was started in {0}")]
    Elsewhere(String),
}

/// Stops a run, whichever program started it, and returns when nothing of it is left.
pub fn stop_run(dir: &RunDir, force: StopForce) -> Result<Stopped, StopError> {
    if let Some(result) = recover(dir)?.result() {
        return proven(dir, result, true);
    }
    let meta = dir.meta()?;
    // A copy made of hard links shares the lock of its original, and must not end it.
    let supervisor = dir.is_original(&meta).then(|| supervisor_marker(&meta));
    let mut forces = vec![StopForce::AtOnce];
    if force == StopForce::Gracefully {
        forces.insert(0, StopForce::Gracefully);
    }
    for force in forces {
        let request = dir.request_stop(force);
        if let (Err(StoreError::Io { .. }), Some(supervisor)) = (&request, &supervisor) {
            // The disk cannot be written. A signal says the same, and a second one: at once.
            KillTarget::Marked(supervisor.clone()).signal(Signal::Terminate);
        } else {
            request?;
        }
        // It cannot read the request while another program has stopped it.
        if let Some(supervisor) = &supervisor {
            KillTarget::Marked(supervisor.clone()).signal(Signal::Continue);
        }
        if let Some(result) = await_end(dir, answer_time(force))? {
            return proven(dir, result, false);
        }
    }
    let Some(supervisor) = supervisor else {
        return Err(StopError::Elsewhere(recorded_path(&meta).to_owned()));
    };
    // It hangs, or another program stops it again and again. Without it, the run is one that has
    // lost its supervisor.
    process::stop_marked(&supervisor, Duration::ZERO);
    match await_end(dir, RECOVERY_ANSWER)? {
        Some(result) => proven(dir, result, false),
        None => Err(StopError::NoAnswer),
    }
}

fn await_end(dir: &RunDir, patience: Duration) -> Result<Option<RunResult>, StopError> {
    let deadline = Instant::now() + patience;
    let mut waiting = Waiting::new(vec![dir.clone()]);
    while Instant::now() < deadline {
        if let Some(ended) = waiting.wait(&[], Some(deadline)).pop() {
            return Ok(Some(ended.result?));
        }
    }
    Ok(None)
}

/// The result is written when nothing of the tree is left; here that is looked at once more, and
/// the supervisor itself must be gone, too.
fn proven(dir: &RunDir, result: RunResult, had_ended: bool) -> Result<Stopped, StopError> {
    let meta = dir.meta()?;
    // What is left of the run that this one is a copy of is not its own.
    let remaining = if dir.is_original(&meta) {
        let supervisor = await_exit(&supervisor_marker(&meta));
        if had_ended && result.leftovers.is_some() {
            // Perhaps they can be stopped by now, or by this user.
            stop_leftovers(dir, &meta, false);
        }
        let mut remaining = look_for_leftovers(dir, &meta, result.leftovers.as_ref());
        remaining.certain.extend(supervisor);
        remaining
    } else {
        Remaining::default()
    };
    let [left, unsure] =
        [&remaining.certain, &remaining.unsure].map(|stamps| stamps.iter().map(number).collect());
    Ok(Stopped { result, had_ended, left, unsure, doubt: remaining.doubt })
}

/// A supervisor that has written its result exits by itself, after some milliseconds that the
/// kernel needs for it. Returns those that are left, which are none.
fn await_exit(supervisor: &Marker) -> Vec<ProcessStamp> {
    let target = KillTarget::Marked(supervisor.clone());
    let deadline = Instant::now() + EXIT_ANSWER;
    while target.count() > 0 {
        if Instant::now() >= deadline {
            let traces =
                Traces { marker: supervisor.clone(), leader: None, other_supervisors: None };
            return traces.stop(Duration::ZERO).certain;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Vec::new()
}

/// By the path that the run was started with: it may have been found through a link. By its arguments,
/// because it hides its environment from other processes of the user.
pub(crate) fn supervisor_marker(meta: &Meta) -> Marker {
    Marker::of_arguments(&[SUPERVISE[0], SUPERVISE[1], recorded_path(meta)])
}

/// Where the run was started, which is elsewhere if its directory was moved or copied.
fn recorded_path(meta: &Meta) -> &str {
    meta.environment.get(variables::RUN_DIR).and_then(Option::as_deref).unwrap_or_default()
}
