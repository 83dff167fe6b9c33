//! An attempt whose agent runs: its events go out, and what is asked of it comes in.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_nats::jetstream::Message;
use async_nats::jetstream::message::AckKind;
use futures_util::StreamExt;
use model::{Event, LeftAnswer, Outcome as RunOutcome, Record};
use runner::{Answered, Change, Fate, Report, TellError, TellUntil, Told};
use store::RunDir;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep_until};

use super::attempt::{CALLER_PATIENCE, Outcome};
use super::runner_thread::{is_too_much, weight};
use super::{Worker, aside};
use crate::events::cut_into_chunks;
use crate::tasks::{SeenState, send_file};
use crate::{
    AttemptEnd, CHANGES, Command, CommandReply, EventChunk, FleetError, Format, TaskMessage,
    TaskResult,
};

/// How often the caller of a task is asked whether it is there.
const PING: Duration = Duration::from_secs(2);
/// How long a worker that ends goes on trying to send events.
const LAST_EVENTS: Duration = Duration::from_secs(8);
/// How long an agent goes on while the server cannot be reached.
const OUTAGE: Duration = Duration::from_secs(600);

fn failed(what: &str, reason: &str) -> FleetError {
    FleetError::Failed { what: what.to_owned(), reason: reason.to_owned() }
}

/// Why an attempt is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopReason {
    Cancelled,
    /// A later attempt has begun, because this worker was taken for dead.
    Superseded,
    HandingBack,
}

/// An attempt whose agent runs.
pub(super) struct Running<'a> {
    pub(super) worker: &'a Worker,
    pub(super) task: &'a TaskMessage,
    pub(super) message: &'a Message,
    pub(super) number: u64,
    pub(super) attempt: u32,
    pub(super) chunks: u64,
    pub(super) run_dir: Option<PathBuf>,
    pub(super) stopped: Option<StopReason>,
    pub(super) silent_since: Option<Instant>,
    /// The state of the task that it has stored last.
    pub(super) seen: SeenState,
    /// What became of the caller's messages, by their numbers.
    pub(super) told: Rc<RefCell<BTreeMap<u64, Telling>>>,
}

/// What happens to the run of an attempt, as its runner tells.
pub(super) struct Changes {
    pub(super) received: UnboundedReceiver<Change>,
    /// The size of those that were not received yet.
    pub(super) waiting: Arc<AtomicUsize>,
}

impl Changes {
    async fn next(&mut self) -> Option<Change> {
        let change = self.received.recv().await?;
        Some(self.count(change))
    }

    fn next_at_once(&mut self) -> Option<Change> {
        let change = self.received.try_recv().ok()?;
        Some(self.count(change))
    }

    fn count(&self, change: Change) -> Change {
        self.waiting.fetch_sub(weight(&change), Ordering::Relaxed);
        change
    }

    fn is_too_much(&self) -> bool {
        is_too_much(&self.waiting)
    }

    /// Waits for the end of the run. Returns its directory.
    pub(super) async fn end(&mut self) -> Option<PathBuf> {
        while let Some(change) = self.next().await {
            if let Change::Ended(report) = change {
                return report.run_dir;
            }
        }
        None
    }
}

/// How far the agent was told a message.
pub(super) enum Telling {
    InProgress,
    Told(CommandReply),
}

/// The way back to the caller that has sent a command.
struct Replying {
    client: async_nats::Client,
    subject: Option<async_nats::Subject>,
}

impl Replying {
    fn say(self, reply: &CommandReply) {
        let (Some(subject), Ok(value)) = (self.subject, serde_json::to_vec(reply)) else { return };
        let client = self.client;
        // Without an answer, the caller asks again.
        tokio::task::spawn_local(async move { drop(client.publish(subject, value.into()).await) });
    }
}

fn early() -> CommandReply {
    CommandReply { is_early: true, ..CommandReply::default() }
}

fn refused(reason: String) -> CommandReply {
    CommandReply { problem: Some(reason), ..CommandReply::default() }
}

async fn tell(dir: RunDir, message: model::Message) -> CommandReply {
    match aside(move || runner::tell_run(&dir, &message, TellUntil::Accepted)).await {
        Ok(Ok(Told { number, fate: Fate::Refused(reason) })) => {
            CommandReply { number, ..refused(reason) }
        }
        Ok(Ok(Told { number, fate: Fate::Accepted | Fate::Delivered })) => {
            CommandReply { number, ..CommandReply::default() }
        }
        // It waits in the run directory.
        Ok(Err(TellError::NoAnswer(number))) => {
            CommandReply { number: Some(number), ..CommandReply::default() }
        }
        Ok(Err(error)) => refused(error.to_string()),
        Err(error) => refused(error.to_string()),
    }
}

async fn give(dir: RunDir, number: u64, answer: LeftAnswer) -> CommandReply {
    match aside(move || runner::answer_run(&dir, Some(number), &answer)).await {
        Ok(Ok(Answered::Given { .. })) => CommandReply::default(),
        Ok(Ok(Answered::Refused { reason, .. })) => refused(reason),
        Ok(Err(error)) => refused(error.to_string()),
        Err(error) => refused(error.to_string()),
    }
}

impl Running<'_> {
    pub(super) async fn listen(&self) -> Result<async_nats::Subscriber, FleetError> {
        let fleet = &self.worker.fleet;
        let subject = self.task.address.command_subject();
        fleet
            .patiently("listen to the caller", async || {
                fleet.client().subscribe(subject.clone()).await
            })
            .await
    }

    /// Sends events until the run has ended. Returns its report, and its terminal event, which waits for the result.
    pub(super) async fn follow(
        &mut self,
        changes: &mut Changes,
        mut commands: async_nats::Subscriber,
    ) -> Result<(Box<Report>, Option<Record>), FleetError> {
        let renewal = self.worker.options.lease / 4;
        let mut renew_at = Instant::now() + renewal;
        let mut ping_at = Instant::now() + PING;
        let mut end = None;
        loop {
            tokio::select! {
                change = changes.next() => {
                    let Some(change) = change else {
                        return Err(failed("run the task", "its runner is gone"));
                    };
                    let mut text = String::new();
                    let mut report = self.note(change, &mut text, &mut end)?;
                    // What has happened meanwhile travels in one message.
                    while report.is_none() && text.len() < EventChunk::TEXT_BYTES
                        && let Some(change) = changes.next_at_once()
                    {
                        report = self.note(change, &mut text, &mut end)?;
                    }
                    if changes.is_too_much() {
                        self.stopped.get_or_insert(StopReason::HandingBack);
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

    /// Sends events. While the server is away the agent goes on, for as long as its events find room here.
    async fn send(&mut self, text: &str) -> Result<(), FleetError> {
        for part in cut_into_chunks(text) {
            self.chunks += 1;
            let started = Instant::now();
            let (worker, address) = (self.worker, &self.task.address);
            loop {
                let sent = tokio::select! {
                    sent = worker.publish(address, self.attempt, self.chunks, part) => sent,
                    () = worker.handing_back_for(LAST_EVENTS) => {
                        return Err(failed("send events", "this worker ends"));
                    }
                };
                match sent {
                    Ok(()) => break,
                    Err(error) if started.elapsed() > OUTAGE || worker.fleet.is_connected() => {
                        return Err(error);
                    }
                    Err(_) => {}
                }
            }
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
        let number = self.attempt;
        let tasks = &self.worker.tasks;
        let renewed = tasks.change_seen(&self.task.address, &mut self.seen, |state, _| {
            if state.is_cancelled {
                return Err(StopReason::Cancelled);
            }
            match state.attempts.last().filter(|last| last.number == number && last.end.is_none()) {
                // Storing it is what renews the lease.
                Some(_) => Ok(()),
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
        let reply =
            Replying { client: self.worker.fleet.client().clone(), subject: message.reply.clone() };
        let dir = self.run_dir.as_ref().and_then(|path| RunDir::open(path).ok());
        match (command, dir) {
            (Ok(Command::Cancel { .. }), _) => {
                self.stop(StopReason::Cancelled);
                reply.say(&CommandReply::default());
            }
            (Ok(Command::Tell { number, message, .. }), Some(dir)) => {
                // A caller that got no answer asks again.
                match self.told.borrow_mut().entry(number) {
                    Entry::Occupied(known) => match known.get() {
                        Telling::Told(told) => reply.say(told),
                        Telling::InProgress => reply.say(&early()),
                    },
                    Entry::Vacant(new) => {
                        new.insert(Telling::InProgress);
                        let told = self.told.clone();
                        tokio::task::spawn_local(async move {
                            let done = tell(dir, message).await;
                            told.borrow_mut().insert(number, Telling::Told(done.clone()));
                            reply.say(&done);
                        });
                    }
                }
            }
            (Ok(Command::Answer { number, answer, .. }), Some(dir)) => {
                tokio::task::spawn_local(
                    async move { reply.say(&give(dir, number, answer).await) },
                );
            }
            (Ok(_), None) => reply.say(&early()),
            (Err(error), _) => reply.say(&refused(format!("it is not understood: {error}"))),
        }
    }

    /// Stores the result, unless the task is given back or belongs to another attempt by now.
    pub(super) async fn end(
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
        if self.task.snapshot.is_some() {
            // Sending what the agent changed may take long, and is in vain if another attempt has begun.
            self.renew().await;
        }
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
        let packed = aside(pack).await.map_err(|error| error.to_string())?;
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
