//! Putting the tasks of a batch into the queue, a few hundred at a time.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream;
use futures_util::future::try_join_all;
use model::{RemoteTask, RunId, SessionId};

use super::read::{keys_in, read_last};
use super::{BATCHES, BatchEntry, batch_entries, bucket_stream, keys_of};
use crate::{
    EVENTS, Fleet, FleetError, Format, Pool, RESULTS, STATES, Snapshot, TASKS, TaskAddress,
    TaskMessage, TaskName, TaskResult,
};

/// How many tasks are on their way to the server at a time.
const AT_ONCE: usize = 200;
/// For how long the entries of a batch are kept.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A task as a caller submits it.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct NewTask {
    pub key: TaskName,
    pub pool: Pool,
    pub run_id: RunId,
    pub session_id: SessionId,
    /// In milliseconds since 1970.
    pub submitted_at: u64,
    pub snapshot: Option<Snapshot>,
    pub task: RemoteTask,
}

/// What became of the tasks that were submitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Submitted {
    /// Tasks that the batch did not have.
    pub added: usize,
    /// Tasks that had failed, and are tried again.
    pub retried: usize,
    /// Tasks that the batch has already.
    pub present: usize,
}

/// A batch to which tasks are added.
#[derive(Debug)]
pub struct Submission<'a> {
    fleet: &'a Fleet,
    batch: TaskName,
    entries: HashMap<TaskName, BatchEntry>,
    /// The tasks that wait or run.
    queued: HashSet<TaskName>,
    /// The tasks that have a result.
    ended: HashSet<TaskName>,
    /// Of those, the ones that are tried again.
    failed: HashSet<TaskName>,
    next_number: u64,
    waiting: Vec<Planned>,
    submitted: Submitted,
}

#[derive(Debug)]
struct Planned {
    entry: BatchEntry,
    is_new: bool,
    message: TaskMessage,
}

impl<'a> Submission<'a> {
    /// Looks at what the server has of the batch. With `retries_failed`, tasks that failed are tried again.
    pub async fn open(
        fleet: &'a Fleet,
        batch: TaskName,
        retries_failed: bool,
    ) -> Result<Submission<'a>, FleetError> {
        fleet.set_up().await?;
        set_up(fleet).await?;
        let entries = batch_entries(fleet, &batch).await?;
        // The queue first: a task that ends meanwhile has its result before it leaves the queue.
        let of_queue = keys_in(fleet, TASKS, &keys_of("subagents.task", &batch)).await?;
        let (results, prefix) = bucket_stream(RESULTS);
        let (mut ended, mut failed) = (HashSet::new(), HashSet::new());
        read_last(fleet, &results, keys_of(&prefix, &batch), |address, payload| {
            let Some(payload) = payload else { return Ok(()) };
            if retries_failed {
                let result: TaskResult = serde_json::from_slice(payload)?;
                if result.outcome() != model::Outcome::Completed {
                    failed.insert(address.task.clone());
                }
            }
            ended.insert(address.task);
            Ok(())
        })
        .await?;
        let next_number = entries.iter().map(|entry| entry.number).max().unwrap_or(0) + 1;
        let entries = entries.into_iter().map(|entry| (entry.address.task.clone(), entry));
        Ok(Submission {
            fleet,
            batch,
            entries: entries.collect(),
            queued: of_queue.into_iter().map(|address| address.task).collect(),
            ended,
            failed,
            next_number,
            waiting: Vec::new(),
            submitted: Submitted::default(),
        })
    }

    /// Whether a task with this key would be queued.
    pub fn wants(&self, key: &TaskName) -> bool {
        self.failed.contains(key) || !(self.queued.contains(key) || self.ended.contains(key))
    }

    /// Counts a task that the batch has already.
    pub fn skip(&mut self) {
        self.submitted.present += 1;
    }

    /// Adds a task. It is on the server when [`Submission::finish`] returns, or earlier.
    pub async fn add(&mut self, new: NewTask) -> Result<(), FleetError> {
        let NewTask { key, pool, run_id, session_id, submitted_at, snapshot, task } = new;
        let earlier = self.entries.get(&key);
        let number = earlier.map_or(self.next_number, |entry| entry.number);
        self.next_number = self.next_number.max(number + 1);
        // A pool that changed would leave the old address with a task of its own.
        let pool = earlier.map_or(pool, |entry| entry.address.pool.clone());
        let address = TaskAddress { pool, batch: self.batch.clone(), task: key };
        let entry = BatchEntry {
            format: Format,
            address: address.clone(),
            run_id: run_id.clone(),
            session_id: session_id.clone(),
            name: task.name.clone(),
            number,
            submitted_at,
            snapshot: snapshot.clone(),
        };
        let message = TaskMessage {
            format: Format,
            address,
            run_id,
            session_id,
            is_attended: false,
            snapshot,
            task,
        };
        self.waiting.push(Planned { entry, is_new: earlier.is_none(), message });
        if self.waiting.len() >= AT_ONCE {
            self.send().await?;
        }
        Ok(())
    }

    /// Sends what is not on the server yet, and says what became of all.
    pub async fn finish(mut self) -> Result<Submitted, FleetError> {
        self.send().await?;
        Ok(self.submitted)
    }

    async fn send(&mut self) -> Result<(), FleetError> {
        let planned = std::mem::take(&mut self.waiting);
        let entered = try_join_all(planned.iter().map(|planned| self.enter(planned))).await?;
        let entered = planned.into_iter().zip(entered);
        let ours: Vec<Planned> =
            entered.filter(|(_, is_ours)| *is_ours).map(|(planned, _)| planned).collect();
        try_join_all(ours.iter().map(|planned| self.queue(planned))).await?;
        for Planned { entry, .. } in ours {
            let key = entry.address.task.clone();
            let is_retry = self.failed.remove(&key);
            self.submitted.added += usize::from(!is_retry);
            self.submitted.retried += usize::from(is_retry);
            self.queued.insert(key.clone());
            self.entries.insert(key, entry);
        }
        Ok(())
    }

    /// Creates the entry of a task, or renews that of one that is tried again. False if another caller was faster.
    async fn enter(&self, planned: &Planned) -> Result<bool, FleetError> {
        let subject = planned.entry.address.entry_subject();
        let payload = serde_json::to_vec(&planned.entry)?;
        self.fleet
            .patiently("enter a task into its batch", async || {
                let mut message = PublishMessage::build().payload(payload.clone().into());
                if planned.is_new {
                    message = message.expected_last_subject_sequence(0);
                }
                let jetstream = self.fleet.jetstream();
                let sent = jetstream.send_publish(subject.clone(), message).await;
                let acknowledged = match sent {
                    Ok(sent) => sent.await,
                    Err(error) => Err(error),
                };
                match acknowledged {
                    Ok(_) => Ok(true),
                    // It is ours all the same if only the acknowledgement was lost.
                    Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => {
                        let stream = jetstream.get_stream_no_info(BATCHES).await;
                        let stream = stream.map_err(|error| error.to_string())?;
                        let there = stream.direct_get_last_for_subject(subject.clone()).await;
                        let there = there.map_err(|error| error.to_string())?;
                        let there = serde_json::from_slice::<BatchEntry>(&there.payload);
                        Ok(there.is_ok_and(|there| there.run_id == planned.entry.run_id))
                    }
                    Err(error) => Err(error.to_string()),
                }
            })
            .await
    }

    async fn queue(&self, planned: &Planned) -> Result<(), FleetError> {
        let address = &planned.message.address;
        if self.failed.contains(&address.task) {
            self.forget(address).await?;
        }
        let payload = serde_json::to_vec(&planned.message)?;
        // The server knows a message again that is sent once more.
        let id = format!("{}.{}", address.key(), planned.entry.run_id);
        let subject = address.task_subject();
        self.fleet.publish("queue a task", subject, &id, payload).await.map(drop)
    }

    /// Removes what an earlier try has left. Its result goes last: without it, the task counts as missing.
    async fn forget(&self, address: &TaskAddress) -> Result<(), FleetError> {
        let key = address.key();
        for (stream, filter) in [
            (EVENTS.to_owned(), address.event_subjects()),
            (bucket_stream(STATES).0, format!("$KV.{STATES}.{key}")),
            (bucket_stream(RESULTS).0, format!("$KV.{RESULTS}.{key}")),
        ] {
            purge(self.fleet, &stream, &filter).await?;
        }
        Ok(())
    }
}

/// Removes all messages with these subjects from a stream.
pub(super) async fn purge(fleet: &Fleet, stream: &str, filter: &str) -> Result<(), FleetError> {
    fleet
        .patiently(&format!("remove what {stream} has of a batch"), async || {
            let found =
                fleet.jetstream().get_stream(stream).await.map_err(|error| error.to_string())?;
            found.purge().filter(filter).await.map(drop).map_err(|error| error.to_string())
        })
        .await
}

/// Makes the stream of the entries if it is missing.
async fn set_up(fleet: &Fleet) -> Result<(), FleetError> {
    let config = stream::Config {
        name: BATCHES.to_owned(),
        subjects: vec!["subagents.batch.>".to_owned()],
        max_messages_per_subject: 1,
        max_age: KEPT,
        allow_direct: true,
        num_replicas: fleet.replicas(),
        ..stream::Config::default()
    };
    fleet
        .patiently("make the stream of the batches", async || {
            if fleet.jetstream().get_stream(BATCHES).await.is_ok() {
                return Ok(());
            }
            fleet.jetstream().create_stream(config.clone()).await.map(drop)
        })
        .await
}
