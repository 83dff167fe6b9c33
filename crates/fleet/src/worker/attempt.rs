//! One attempt to carry out a task.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::jetstream::Message;
use async_nats::jetstream::message::AckKind;
use futures_util::StreamExt;
use model::{Event, Outcome as RunOutcome, Record, RunResult, Usage};
use runner::{Change, Report, TellUntil, now_ms};
use store::RunDir;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, sleep_until};

use super::plan::{Planned, plan_task};
use super::{Worker, forget_run};
use crate::events::cut_into_chunks;
use crate::tasks::send_file;
use crate::{
    Attempt, AttemptEnd, CHANGES, CallerPing, Command, CommandReply, EventChunk, FleetError,
    Format, TaskAddress, TaskMessage, TaskResult, TaskState,
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

/// How often the caller of a task is asked whether it is there.
const PING: Duration = Duration::from_secs(2);
/// How long a caller may be silent: it may be looking for another server.
const CALLER_PATIENCE: Duration = Duration::from_secs(15);
/// How long the server may be silent to a caller that does not exist: nothing listens.
const ABSENT_PATIENCE: Duration = Duration::from_secs(6);

/// What the state of a task says about a new attempt.
enum Admission {
    Begin(u32),
    Cancelled(u32),
    Lost(u32),
    Leased(Duration),
}

/// Why an attempt is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StopReason {
    Cancelled,
    /// A later attempt has begun, because this worker was taken for dead.
    Superseded,
    HandingBack,
}

impl Worker {
    pub(super) async fn attempt(
        &self,
        task: &TaskMessage,
        message: &Message,
        number: u64,
    ) -> Result<Outcome, FleetError> {
        let address = &task.address;
        if let Some(result) = self.tasks.result(address).await? {
            self.publish_end(address, &result).await?;
            return Ok(Outcome::Done);
        }
        if !task.is_attended || self.is_caller_there(task).await {
            // It is waited for.
        } else {
            self.cancel_unattended(address).await?;
        }
        // What cannot run here is left alone before it counts as an attempt.
        let snapshot = match &task.snapshot {
            Some(snapshot) => {
                Some(self.with_progress(message, self.snapshots.of(&self.fleet, snapshot)).await)
            }
            None => None,
        };
        let (snapshot, unpacked) = match snapshot.transpose() {
            Ok(snapshot) => (snapshot, None),
            Err(error) => (None, Some(error.to_string())),
        };
        let directory = match &snapshot {
            Some(snapshot) => snapshot.directory.clone(),
            None => self.empty_directory(number),
        };
        let planned = match unpacked {
            Some(problem) => Planned::Refused(problem),
            None => {
                let (options, task) = (self.options.clone(), task.clone());
                let plan = move || plan_task(&options, &task, &directory);
                let planned = tokio::task::spawn_blocking(plan).await;
                planned.unwrap_or_else(|error| Planned::Refused(error.to_string()))
            }
        };
        if let Planned::NotHere(reason) = planned {
            return Ok(Outcome::NotHere(reason));
        }
        let attempt = match self.admit(address).await? {
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
        };
        let commands = running.listen().await?;
        self.runner.start_task(number, plan, sender);
        let (report, end) = running.follow(changes, commands).await?;
        let ended = running.end(&report, end, &meta).await;
        if let Some(dir) = &report.run_dir
            && let Ok(dir) = RunDir::open(dir)
        {
            forget_run(&dir);
        }
        drop(snapshot);
        ended
    }

    /// Does something that may take long while the server knows that the task is not forgotten.
    async fn with_progress<T>(&self, message: &Message, work: impl Future<Output = T>) -> T {
        let mut pulse = tokio::time::interval(self.options.lease / 4);
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                _ = pulse.tick() => drop(message.ack_with(AckKind::Progress).await),
            }
        }
    }

    fn empty_directory(&self, number: u64) -> PathBuf {
        let directory = self.options.directory.join("empty").join(number.to_string());
        let _ = fs::create_dir_all(&directory);
        directory
    }

    /// Begins an attempt, if the state of the task permits one.
    async fn admit(&self, address: &TaskAddress) -> Result<Admission, FleetError> {
        let lease = millis(self.options.lease);
        let admitted = self.tasks.change(address, |state| {
            let now = now_ms();
            let next = state.attempts.last().map_or(1, |attempt| attempt.number + 1);
            if let Some(running) = state.attempts.last_mut().filter(|attempt| attempt.end.is_none())
            {
                if running.worker == self.id {
                    // The answer of the server to this very change was lost.
                    return Ok(Admission::Begin(running.number));
                }
                let left = running.leased_until.saturating_sub(now);
                if left > 0 && !state.is_cancelled {
                    return Err(Admission::Leased(Duration::from_millis(left + 100)));
                }
                running.end = Some(AttemptEnd::Lost);
            }
            if state.is_cancelled {
                return Ok(Admission::Cancelled(next));
            }
            if state.lost() >= TaskState::ATTEMPTS {
                return Ok(Admission::Lost(next));
            }
            state.attempts.push(Attempt {
                number: next,
                worker: self.id.clone(),
                started_at: now,
                leased_until: now + lease,
                end: None,
            });
            Ok(Admission::Begin(next))
        });
        Ok(admitted.await?.unwrap_or_else(|leased| leased))
    }

    async fn cancel_unattended(&self, address: &TaskAddress) -> Result<(), FleetError> {
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
            if started.elapsed() > ABSENT_PATIENCE && self.fleet.is_connected() {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }

    async fn ping(&self, task: &TaskMessage, attempt: u32) -> bool {
        let ping = CallerPing { format: Format, attempt, worker: self.id.clone() };
        let Ok(value) = serde_json::to_vec(&ping) else { return false };
        let subject = task.address.caller_subject();
        self.fleet.client().request(subject, value.into()).await.is_ok()
    }

    /// Ends a task without running it.
    async fn end_unrun(
        &self,
        task: &TaskMessage,
        attempt: u32,
        outcome: RunOutcome,
        error: &str,
    ) -> Result<Outcome, FleetError> {
        let now = now_ms();
        let result = RunResult {
            format: model::FORMAT,
            run_id: task.run_id.clone(),
            session_id: task.session_id.clone(),
            name: task.task.name.clone(),
            status: outcome.status(),
            outcome,
            error: Some(error.to_owned()),
            output: String::new(),
            value: None,
            check: None,
            exit_code: None,
            signal: None,
            model: None,
            stop_reason: None,
            usage: Usage::default(),
            budget: task.task.limits.budget,
            tool_calls: 0,
            started_at: None,
            ended_at: now,
            duration_ms: 0,
            warnings: Vec::new(),
            leftovers: None,
            changes: None,
            resources: None,
        };
        let result = TaskResult {
            format: Format,
            attempt,
            worker: self.id.clone(),
            last_chunk: 1,
            result: Box::new(result),
            commit: None,
        };
        let result = self.tasks.finish(&task.address, result).await?;
        self.publish_end(&task.address, &result).await?;
        self.finish_attempt(&task.address, attempt, AttemptEnd::Finished).await?;
        Ok(Outcome::Done)
    }

    /// Publishes the terminal event of a task that has a result. What is there already stays as it is.
    async fn publish_end(
        &self,
        address: &TaskAddress,
        result: &TaskResult,
    ) -> Result<(), FleetError> {
        let event = Event::RunEnded {
            outcome: result.result.outcome,
            error: result.result.error.clone(),
            exit_code: result.result.exit_code,
            signal: result.result.signal,
            leftovers: result.result.leftovers.clone(),
        };
        // Its number is that of no other event; what reads it looks for the terminal event.
        let record = Record { seq: u64::from(u32::MAX), at: result.result.ended_at, event };
        let text = serde_json::to_string(&record)? + "\n";
        self.publish(address, result.attempt, result.last_chunk, &text).await
    }

    async fn publish(
        &self,
        address: &TaskAddress,
        attempt: u32,
        number: u64,
        text: &str,
    ) -> Result<(), FleetError> {
        let chunk = EventChunk { format: Format, number, text: text.to_owned() };
        let value = serde_json::to_vec(&chunk)?;
        let subject = address.event_subject(attempt);
        let mut headers = async_nats::HeaderMap::new();
        headers.insert("Nats-Msg-Id", format!("{}.{attempt}.{number}", address.key()));
        self.fleet
            .patiently("send events", async || {
                let jetstream = self.fleet.jetstream();
                let sent = jetstream
                    .publish_with_headers(subject.clone(), headers.clone(), value.clone().into())
                    .await?;
                sent.await.map(drop)
            })
            .await
    }

    async fn finish_attempt(
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

/// An attempt whose agent runs.
struct Running<'a> {
    worker: &'a Worker,
    task: &'a TaskMessage,
    message: &'a Message,
    number: u64,
    attempt: u32,
    chunks: u64,
    run_dir: Option<PathBuf>,
    stopped: Option<StopReason>,
    silent_since: Option<Instant>,
}

impl Running<'_> {
    async fn listen(&self) -> Result<async_nats::Subscriber, FleetError> {
        let fleet = &self.worker.fleet;
        let subject = self.task.address.command_subject();
        fleet
            .patiently("listen to the caller", async || {
                fleet.client().subscribe(subject.clone()).await
            })
            .await
    }

    /// Sends events until the run has ended. Returns its report, and its terminal event, which waits for the result.
    async fn follow(
        &mut self,
        mut changes: UnboundedReceiver<Change>,
        mut commands: async_nats::Subscriber,
    ) -> Result<(Box<Report>, Option<Record>), FleetError> {
        let renewal = self.worker.options.lease / 4;
        let mut renew_at = Instant::now() + renewal;
        let mut ping_at = Instant::now() + PING;
        let mut end = None;
        loop {
            tokio::select! {
                change = changes.recv() => {
                    let Some(change) = change else {
                        let (what, reason) = ("run the task".to_owned(), "its runner is gone".to_owned());
                        return Err(FleetError::Failed { what, reason });
                    };
                    let mut text = String::new();
                    let mut report = self.note(change, &mut text, &mut end)?;
                    // What has happened meanwhile travels in one message.
                    while report.is_none() && text.len() < EventChunk::TEXT_BYTES
                        && let Ok(change) = changes.try_recv()
                    {
                        report = self.note(change, &mut text, &mut end)?;
                    }
                    self.send(&text).await?;
                    if let Some(report) = report {
                        return Ok((report, end));
                    }
                }
                command = commands.next() => {
                    if let Some(command) = command {
                        self.obey(&command);
                    }
                }
                () = self.worker.handing_back(), if self.stopped.is_none() => {
                    self.stop(StopReason::HandingBack);
                }
                () = sleep_until(renew_at) => {
                    renew_at = Instant::now() + renewal;
                    self.renew().await;
                }
                () = sleep_until(ping_at), if self.task.is_attended && self.stopped.is_none() => {
                    self.ask_for_caller().await;
                    ping_at = Instant::now() + PING;
                }
            }
        }
    }

    fn note(
        &mut self,
        change: Change,
        text: &mut String,
        end: &mut Option<Record>,
    ) -> Result<Option<Box<Report>>, FleetError> {
        match change {
            Change::Started { run_dir } => self.run_dir = Some(run_dir),
            Change::Record(record) if matches!(record.event, Event::RunEnded { .. }) => {
                *end = Some(record);
            }
            Change::Record(record) => {
                text.push_str(&serde_json::to_string(&record)?);
                text.push('\n');
            }
            Change::Activity(_) | Change::Waiting(_) => {}
            Change::Ended(report) => return Ok(Some(report)),
        }
        Ok(None)
    }

    async fn send(&mut self, text: &str) -> Result<(), FleetError> {
        for part in cut_into_chunks(text) {
            self.chunks += 1;
            self.worker.publish(&self.task.address, self.attempt, self.chunks, part).await?;
        }
        Ok(())
    }

    fn stop(&mut self, reason: StopReason) {
        if self.stopped.is_none() {
            self.stopped = Some(reason);
            self.worker.stop(self.number);
        }
    }

    /// Tells the server that the task is not forgotten, and learns whether it is still wanted of this worker.
    async fn renew(&mut self) {
        let _ = self.message.ack_with(AckKind::Progress).await;
        let until = now_ms() + millis(self.worker.options.lease);
        let number = self.attempt;
        let renewed = self.worker.tasks.change(&self.task.address, |state| {
            if state.is_cancelled {
                return Err(StopReason::Cancelled);
            }
            match state
                .attempts
                .last_mut()
                .filter(|last| last.number == number && last.end.is_none())
            {
                Some(own) => {
                    own.leased_until = until;
                    Ok(())
                }
                None => Err(StopReason::Superseded),
            }
        });
        // A server that cannot be reached says nothing about the task.
        if let Ok(Err(reason)) = renewed.await {
            self.stop(reason);
        }
    }

    async fn ask_for_caller(&mut self) {
        if self.worker.ping(self.task, self.attempt).await || !self.worker.fleet.is_connected() {
            self.silent_since = None;
            return;
        }
        let since = *self.silent_since.get_or_insert_with(Instant::now);
        if since.elapsed() > CALLER_PATIENCE {
            let _ = self.worker.cancel_unattended(&self.task.address).await;
            self.stop(StopReason::Cancelled);
        }
    }

    fn obey(&mut self, message: &async_nats::Message) {
        let command = serde_json::from_slice::<Command>(&message.payload);
        let (client, reply) = (self.worker.fleet.client().clone(), message.reply.clone());
        let answer = move |problem: Option<String>| async move {
            let value = serde_json::to_vec(&CommandReply { format: Format, problem });
            if let (Some(reply), Ok(value)) = (reply, value) {
                let _ = client.publish(reply, value.into()).await;
            }
        };
        let dir = self.run_dir.as_ref().and_then(|path| RunDir::open(path).ok());
        let not_yet = || "the agent has not started yet".to_owned();
        match (command, dir) {
            (Ok(Command::Cancel { .. }), _) => {
                self.stop(StopReason::Cancelled);
                tokio::task::spawn_local(answer(None));
            }
            (Ok(Command::Tell { message, .. }), Some(dir)) => {
                let tell = move || runner::tell_run(&dir, &message, TellUntil::Accepted);
                tokio::task::spawn_local(async move {
                    let problem = match tokio::task::spawn_blocking(tell).await {
                        Ok(Ok(told)) => match told.fate {
                            runner::Fate::Refused(reason) => Some(reason),
                            runner::Fate::Accepted | runner::Fate::Delivered => None,
                        },
                        Ok(Err(error)) => Some(error.to_string()),
                        Err(error) => Some(error.to_string()),
                    };
                    answer(problem).await;
                });
            }
            (Ok(Command::Answer { number, answer: left, .. }), Some(dir)) => {
                let give = move || runner::answer_run(&dir, Some(number), &left);
                tokio::task::spawn_local(async move {
                    let problem = match tokio::task::spawn_blocking(give).await {
                        Ok(Ok(_)) => None,
                        Ok(Err(error)) => Some(error.to_string()),
                        Err(error) => Some(error.to_string()),
                    };
                    answer(problem).await;
                });
            }
            (Ok(_), None) => drop(tokio::task::spawn_local(answer(Some(not_yet())))),
            (Err(error), _) => {
                drop(tokio::task::spawn_local(answer(Some(format!(
                    "it is not understood: {error}"
                )))));
            }
        }
    }

    /// Stores the result, unless the task is given back or belongs to another attempt by now.
    async fn end(
        &mut self,
        report: &Report,
        end: Option<Record>,
        meta: &model::Meta,
    ) -> Result<Outcome, FleetError> {
        let address = &self.task.address;
        if self.stopped == Some(StopReason::HandingBack)
            && report.result.outcome != RunOutcome::Completed
        {
            self.worker.finish_attempt(address, self.attempt, AttemptEnd::HandedBack).await?;
            return Ok(Outcome::HandedBack);
        }
        self.renew().await;
        if self.stopped == Some(StopReason::Superseded) {
            return Ok(Outcome::Done);
        }
        let commit = self.send_changes(meta).await;
        let mut result = report.result.clone();
        result.warnings.extend(commit.as_ref().err().cloned());
        result.output.truncate(result.output.floor_char_boundary(TaskResult::OUTPUT_BYTES));
        let result = TaskResult {
            format: Format,
            attempt: self.attempt,
            worker: self.worker.id.clone(),
            last_chunk: self.chunks + 1,
            result: Box::new(result),
            commit: commit.unwrap_or_default(),
        };
        let stored = self.worker.tasks.finish(address, result).await?;
        match end.filter(|_| stored.attempt == self.attempt) {
            Some(end) => {
                let text = serde_json::to_string(&end)? + "\n";
                self.worker.publish(address, self.attempt, stored.last_chunk, &text).await?;
            }
            None => self.worker.publish_end(address, &stored).await?,
        }
        self.worker.finish_attempt(address, self.attempt, AttemptEnd::Finished).await?;
        Ok(Outcome::Done)
    }

    /// Sends what the agent changed. Returns the commit, if it changed something.
    async fn send_changes(&self, meta: &model::Meta) -> Result<Option<String>, String> {
        let Some(snapshot) = self.task.snapshot.as_ref().filter(|snapshot| snapshot.wants_changes)
        else {
            return Ok(None);
        };
        let bundle = self.worker.options.directory.join(format!("{}.bundle", meta.run_id));
        let (directory, run) = (meta.cwd.clone(), meta.run_id.to_string());
        let (start, path) = (snapshot.commit.clone(), bundle.clone());
        let pack = move || workspace::pack_result(&directory, &run, &start, &path);
        let packed = tokio::task::spawn_blocking(pack).await.map_err(|error| error.to_string())?;
        let commit =
            packed.map_err(|error| format!("what the agent changed was not packed: {error}"))?;
        let Some(commit) = commit else { return Ok(None) };
        let fleet = &self.worker.fleet;
        let sent = async {
            let store = fleet.objects(CHANGES).await?;
            let name = self.task.address.changes_name(self.attempt);
            send_file(fleet, &store, &name, &bundle).await
        };
        let sent = self.worker.with_progress(self.message, sent).await;
        let _ = fs::remove_file(&bundle);
        sent.map_err(|error| format!("what the agent changed was not sent: {error}"))?;
        Ok(Some(commit))
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
