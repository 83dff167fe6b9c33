//! One attempt to carry out a task.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use async_nats::jetstream::Message;
use async_nats::jetstream::message::AckKind;
use model::{Outcome as RunOutcome, Record};
use runner::now_ms;
use store::RunDir;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::Instant;

use super::plan::{Planned, plan_task};
use super::running::{Changes, Running};
use super::{Worker, aside, forget_run, snapshots};
use crate::message::Unrun;
use crate::tasks::SeenState;
use crate::{
    Attempt, AttemptEnd, CallerPing, EventChunk, FleetError, Format, TaskAddress, TaskMessage,
    TaskResult, TaskState,
};

/// What becomes of a task that was delivered.
pub(super) enum Outcome {
    /// It has a result.
    Done,
    /// Another worker may be at it.
    Later(Duration),
    /// This worker ends.
    HandedBack,
    /// This worker cannot carry it out, for this reason.
    NotHere(String),
}

/// For so long a caller may be silent before its task is not wanted any more. A caller whose node has stopped notices that
/// after some seconds, and connects to another one.
pub(super) const CALLER_PATIENCE: Duration = Duration::from_secs(15);

/// After so many deliveries no worker is expected to unpack the files of a task.
const UNPACKINGS: i64 = 8;
/// When a task is offered again whose last attempt must wait for that of another one.
const ALONE: Duration = Duration::from_secs(1);

/// What the state of a task says about a new attempt.
enum Admission {
    Begin(u32),
    Cancelled(u32),
    Lost(u32),
    Leased(Duration),
}

/// A task in its last attempt runs on this worker.
struct LastAttempt<'a>(&'a Worker);

impl Drop for LastAttempt<'_> {
    fn drop(&mut self) {
        self.0.has_last_attempt.set(false);
    }
}

/// An attempt of this worker at a task.
struct Attempted<'a>(&'a Worker, &'a TaskAddress);

impl Drop for Attempted<'_> {
    fn drop(&mut self) {
        self.0.attempted.borrow_mut().remove(self.1);
    }
}

impl Worker {
    pub(super) async fn attempt(
        &self,
        task: &TaskMessage,
        message: &Message,
        number: u64,
    ) -> Result<Outcome, FleetError> {
        let address = &task.address;
        // The server forgets what this worker has said when one of its nodes dies, and offers the task once more. As the state
        // of the task has the name of this worker, it would begin a second time beside itself.
        if !self.attempted.borrow_mut().insert(address.clone()) {
            return Ok(Outcome::Later(self.options.lease));
        }
        let _attempted = Attempted(self, address);
        let is_first = message.info().is_ok_and(|info| info.delivered <= 1);
        // What is delivered for the first time has no result, unless it was cancelled; then its state says so.
        if !is_first && let Some(result) = self.tasks.result(address).await? {
            self.publish_end(address, &result).await?;
            return Ok(Outcome::Done);
        }
        if task.is_attended && !self.with_progress(message, self.is_caller_there(task)).await {
            self.cancel_unattended(address).await?;
        }
        // What cannot run here is left alone before it counts as an attempt.
        let unsound = task.snapshot.as_ref().and_then(|snapshot| snapshots::check(snapshot).err());
        let snapshot = match task.snapshot.as_ref().filter(|_| unsound.is_none()) {
            Some(snapshot) => {
                Some(self.with_progress(message, self.snapshots.of(&self.fleet, snapshot)).await)
            }
            None => None,
        };
        let delivered = message.info().map_or(1, |info| info.delivered);
        let (snapshot, unpacked) = match snapshot.transpose() {
            Ok(snapshot) => (snapshot, unsound),
            // The disk of another worker may have room for it.
            Err(error) if delivered < UNPACKINGS => return Ok(Outcome::NotHere(error.to_string())),
            Err(error) => (None, Some(error.to_string())),
        };
        let directory = match &snapshot {
            Some(snapshot) => snapshot.directory.clone(),
            None => match self.empty_directory(number) {
                Ok(directory) => directory,
                Err(error) => {
                    return Ok(Outcome::NotHere(format!(
                        "no directory can be made for it: {error}"
                    )));
                }
            },
        };
        let planned = match unpacked {
            Some(problem) => Planned::Refused(problem),
            None => {
                let (options, task) = (self.options.clone(), task.clone());
                let plan = move || plan_task(&options, &task, &directory);
                let planned = aside(plan).await;
                planned.unwrap_or_else(|error| Planned::Refused(error.to_string()))
            }
        };
        if let Planned::NotHere(reason) = planned {
            return Ok(Outcome::NotHere(reason));
        }
        // Of a task that is delivered for the first time there is no state.
        let mut seen = SeenState::default();
        if !is_first {
            seen = self.tasks.see(address).await?;
        }
        let attempt = match self.admit(address, &mut seen).await? {
            Admission::Begin(attempt) => attempt,
            Admission::Leased(left) => return Ok(Outcome::Later(left)),
            Admission::Cancelled(attempt) => {
                let words = "Cancelled before it had begun";
                return self.end_unrun(task, attempt, RunOutcome::Cancelled, words).await;
            }
            Admission::Lost(attempt) => {
                let words = format!(
                    "Lost: the workers of {} attempts died while they ran it",
                    TaskState::ATTEMPTS
                );
                return self.end_unrun(task, attempt, RunOutcome::Lost, &words).await;
            }
        };
        let _last = self.note_last_attempt(&seen);
        let plan = match planned {
            Planned::Ready(plan) => plan,
            Planned::Refused(problem) | Planned::NotHere(problem) => {
                return self.end_unrun(task, attempt, RunOutcome::SpawnFailure, &problem).await;
            }
        };
        let meta = plan.meta.clone();
        let (sender, changes) = unbounded_channel();
        let mut running = Running {
            worker: self,
            task,
            message,
            number,
            attempt,
            chunks: 0,
            run_dir: None,
            stopped: None,
            silent_since: None,
            told: Rc::default(),
            seen,
        };
        let commands = running.listen().await?;
        let waiting = self.runner.start_task(number, plan, sender);
        let mut changes = Changes { received: changes, waiting };
        let followed = running.follow(&mut changes, commands).await;
        let (ended, run_dir) = match followed {
            Ok((report, end)) => {
                let ended = running.end(&report, end, &meta).await;
                (ended, report.run_dir)
            }
            // The slot is free when nothing of the agent is left.
            Err(error) => {
                self.stop(number);
                (Err(error), changes.end().await)
            }
        };
        if let Some(dir) = run_dir
            && let Ok(dir) = RunDir::open(&dir)
        {
            forget_run(&dir);
        }
        drop(snapshot);
        ended
    }

    /// Does something that may take long while the server knows that the task is not forgotten.
    pub(super) async fn with_progress<T>(
        &self,
        message: &Message,
        work: impl Future<Output = T>,
    ) -> T {
        let mut pulse = tokio::time::interval(self.options.lease / 4);
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                _ = pulse.tick() => drop(message.ack_with(AckKind::Progress).await),
            }
        }
    }

    fn empty_directory(&self, number: u64) -> io::Result<PathBuf> {
        let directory = self.options.directory.join("empty").join(number.to_string());
        fs::create_dir_all(&directory)?;
        Ok(directory)
    }

    /// Begins an attempt, if the state of the task permits one.
    async fn admit(
        &self,
        address: &TaskAddress,
        seen: &mut SeenState,
    ) -> Result<Admission, FleetError> {
        let admitted = self.tasks.change_seen(address, seen, |state, changed_at| {
            let next = state.attempts.last().map_or(1, |attempt| attempt.number.saturating_add(1));
            if let Some(running) = state.attempts.last_mut().filter(|attempt| attempt.end.is_none())
            {
                if running.worker == self.id {
                    // The answer of the server to this very change was lost.
                    return Ok(Admission::Begin(running.number));
                }
                let left = self.lease_left(changed_at, running.lease);
                if left > 0 && !state.is_cancelled {
                    return Err(Admission::Leased(Duration::from_millis(left.saturating_add(100))));
                }
                running.end = Some(AttemptEnd::Lost);
            }
            if state.is_cancelled {
                return Ok(Admission::Cancelled(next));
            }
            if state.lost() >= TaskState::ATTEMPTS {
                return Ok(Admission::Lost(next));
            }
            let is_last = state.lost() + 1 == TaskState::ATTEMPTS;
            if is_last && self.has_last_attempt.get() {
                // If one of them kills its worker, the other one must not be lost with it.
                return Err(Admission::Leased(ALONE));
            }
            state.attempts.push(Attempt {
                number: next,
                worker: self.id.clone(),
                started_at: now_ms(),
                lease: millis(self.options.lease),
                end: None,
            });
            Ok(Admission::Begin(next))
        });
        Ok(admitted.await?.unwrap_or_else(|leased| leased))
    }

    /// How many milliseconds are left of a lease that was renewed at this time of the server.
    fn lease_left(&self, renewed_at: Option<u64>, lease: u64) -> u64 {
        match (renewed_at, self.server_clock.get()) {
            (Some(renewed_at), Some(clock)) => {
                renewed_at.saturating_add(lease).saturating_sub(clock.now())
            }
            // The time of the server is not known yet.
            _ => lease,
        }
    }

    /// Notes whether a task that has begun is in its last attempt, until the note is dropped.
    fn note_last_attempt(&self, seen: &SeenState) -> Option<LastAttempt<'_>> {
        let is_last = seen.state.lost() + 1 == TaskState::ATTEMPTS;
        is_last.then(|| {
            self.has_last_attempt.set(true);
            LastAttempt(self)
        })
    }

    pub(super) async fn cancel_unattended(&self, address: &TaskAddress) -> Result<(), FleetError> {
        let marked = self.tasks.change(address, |state| {
            state.is_cancelled = true;
            Ok::<(), ()>(())
        });
        marked.await.map(drop)
    }

    async fn is_caller_there(&self, task: &TaskMessage) -> bool {
        let started = Instant::now();
        loop {
            if self.ping(task, 0).await {
                return true;
            }
            if started.elapsed() > CALLER_PATIENCE && self.fleet.is_connected() {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }

    pub(super) async fn ping(&self, task: &TaskMessage, attempt: u32) -> bool {
        let ping = CallerPing { format: Format, attempt, worker: self.id.clone(), refusal: None };
        let Ok(value) = serde_json::to_vec(&ping) else { return false };
        let subject = task.address.caller_subject();
        self.fleet.client().request(subject, value.into()).await.is_ok()
    }

    /// Tells a caller that waits why this worker does not carry out its task.
    pub(super) async fn tell_refusal(&self, task: &TaskMessage, reason: &str) {
        let (worker, refusal) = (self.id.clone(), Some(reason.to_owned()));
        let told = CallerPing { format: Format, attempt: 0, worker, refusal };
        if let Ok(value) = serde_json::to_vec(&told) {
            // Each worker that refuses it again says so again.
            let _ = self.fleet.client().publish(task.address.caller_subject(), value.into()).await;
        }
    }

    /// Ends a task without running it.
    async fn end_unrun(
        &self,
        task: &TaskMessage,
        attempt: u32,
        outcome: RunOutcome,
        error: &str,
    ) -> Result<Outcome, FleetError> {
        let TaskMessage { run_id, session_id, task: asked, .. } = task;
        let (name, budget) = (&asked.name, asked.limits.budget);
        let unrun = Unrun { run_id, session_id, name, budget, now: now_ms() };
        let worker = self.id.clone();
        let result = TaskResult::unrun(unrun, outcome, error);
        let result = TaskResult { attempt, worker, last_chunk: 1, ..result };
        let result = self.tasks.finish(&task.address, result).await?;
        self.publish_end(&task.address, &result).await?;
        Ok(Outcome::Done)
    }

    /// Publishes the terminal event of a task that has a result. What is there already stays as it is.
    pub(super) async fn publish_end(
        &self,
        address: &TaskAddress,
        result: &TaskResult,
    ) -> Result<(), FleetError> {
        let event = result.end();
        // Its number is that of no other event; what reads it looks for the terminal event.
        let record = Record { seq: u64::from(u32::MAX), at: result.result.ended_at, event };
        let text = serde_json::to_string(&record)? + "\n";
        self.publish(address, result.attempt, result.last_chunk, &text).await
    }

    pub(super) async fn publish(
        &self,
        address: &TaskAddress,
        attempt: u32,
        number: u64,
        text: &str,
    ) -> Result<(), FleetError> {
        let chunk = EventChunk { format: Format, number, text: text.to_owned() };
        let value = serde_json::to_vec(&chunk)?;
        let subject = address.event_subject(attempt);
        let id = format!("{}.{attempt}.{number}", address.key());
        self.fleet.publish("send events", subject, &id, value).await.map(drop)
    }

    pub(super) async fn finish_attempt(
        &self,
        address: &TaskAddress,
        number: u32,
        end: AttemptEnd,
    ) -> Result<(), FleetError> {
        let finished = self.tasks.change(address, |state| {
            let attempt = state.attempts.iter_mut().find(|attempt| attempt.number == number);
            match attempt.filter(|attempt| attempt.end.is_none()) {
                Some(attempt) => {
                    attempt.end = Some(end);
                    Ok(())
                }
                None => Err(()),
            }
        });
        finished.await.map(drop)
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
