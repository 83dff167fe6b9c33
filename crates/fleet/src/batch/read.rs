//! Reading what the server has of batches.

use std::collections::{BTreeMap, HashSet};
use std::pin::Pin;

use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::pull::{Ordered, OrderedConfig};
use async_nats::jetstream::consumer::{Consumer, DeliverPolicy};
use futures_util::stream::{SelectAll, select_all};
use futures_util::{Stream, StreamExt};
use model::{Limits, Record};

use super::{BATCHES, BatchEntry, Overview, bucket_stream, entries_of, keys_of};
use crate::{
    EVENTS, EventChunk, Fleet, FleetError, Heartbeat, PATIENCE, RESULTS, STATES, TaskAddress,
    TaskName, TaskResult, TaskState, WORKERS,
};

/// How many results are on their way at a time.
const AT_ONCE: usize = 64;

/// The entries of a batch, in the order of submission.
pub async fn batch_entries(fleet: &Fleet, batch: &TaskName) -> Result<Vec<BatchEntry>, FleetError> {
    let mut entries: Vec<BatchEntry> = Vec::new();
    read_messages(fleet, BATCHES, entries_of(batch), DeliverPolicy::LastPerSubject, |message| {
        entries.push(serde_json::from_slice(&message.payload)?);
        Ok(())
    })
    .await?;
    entries.sort_by_key(|entry| entry.number);
    Ok(entries)
}

/// How far a batch is, without a look at its tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct BatchCount {
    pub tasks: usize,
    pub ended: usize,
}

/// All batches, by their names.
pub async fn count_batches(fleet: &Fleet) -> Result<BTreeMap<TaskName, BatchCount>, FleetError> {
    let mut counts: BTreeMap<TaskName, BatchCount> = BTreeMap::new();
    for subject in subjects_in(fleet, BATCHES, "subagents.batch.>").await? {
        let token = subject.split('.').nth(2).and_then(TaskName::of_token);
        if let Some(batch) = token {
            counts.entry(batch).or_default().tasks += 1;
        }
    }
    let (stream, prefix) = bucket_stream(RESULTS);
    for address in keys_in(fleet, &stream, &format!("{prefix}.>")).await? {
        if let Some(count) = counts.get_mut(&address.batch) {
            count.ended += 1;
        }
    }
    Ok(counts)
}

/// Everything that is known of the tasks of a batch now.
pub async fn load_overview(fleet: &Fleet, batch: &TaskName) -> Result<Overview, FleetError> {
    let mut overview = Overview::default();
    for entry in batch_entries(fleet, batch).await? {
        overview.enter(entry);
    }
    let (stream, prefix) = bucket_stream(STATES);
    read_last(fleet, &stream, keys_of(&prefix, batch), |address, payload| {
        let state = payload.map(serde_json::from_slice::<TaskState>).transpose()?;
        overview.set_state(&address.task, state);
        Ok(())
    })
    .await?;
    let (stream, prefix) = bucket_stream(RESULTS);
    read_last(fleet, &stream, keys_of(&prefix, batch), |address, payload| {
        let result = payload.map(serde_json::from_slice::<TaskResult>).transpose()?;
        overview.set_result(&address.task, result.as_ref());
        Ok(())
    })
    .await?;
    Ok(overview)
}

/// The result of a task, if it has ended.
pub async fn task_result(
    fleet: &Fleet,
    address: &TaskAddress,
) -> Result<Option<TaskResult>, FleetError> {
    value_of(fleet, RESULTS, address).await
}

/// Reads the results of tasks, in the order of their entries, a few at a time.
pub async fn each_result<E: From<FleetError>>(
    fleet: &Fleet,
    entries: Vec<BatchEntry>,
    mut each: impl FnMut(BatchEntry, Option<TaskResult>) -> Result<(), E>,
) -> Result<(), E> {
    let bucket = fleet.bucket(RESULTS).await?;
    let bucket = &bucket;
    let reads = entries.into_iter().map(|entry| async move {
        let key = entry.address.key();
        let read = async || bucket.get(key.clone()).await;
        let value = fleet.patiently("read a result", read).await?;
        let result = value.map(|value| serde_json::from_slice(&value)).transpose()?;
        Ok::<_, FleetError>((entry, result))
    });
    let mut reads = futures_util::stream::iter(reads).buffered(AT_ONCE);
    while let Some(read) = reads.next().await {
        let (entry, result) = read?;
        each(entry, result)?;
    }
    Ok(())
}

/// The state of a task, if a worker has taken it or a caller has cancelled it.
pub async fn task_state(
    fleet: &Fleet,
    address: &TaskAddress,
) -> Result<Option<TaskState>, FleetError> {
    value_of(fleet, STATES, address).await
}

async fn value_of<Value: serde::de::DeserializeOwned>(
    fleet: &Fleet,
    bucket: &str,
    address: &TaskAddress,
) -> Result<Option<Value>, FleetError> {
    let bucket = fleet.bucket(bucket).await?;
    let key = address.key();
    let read = async || bucket.get(key.clone()).await;
    let value = fleet.patiently("read what is known of a task", read).await?;
    Ok(value.map(|value| serde_json::from_slice(&value)).transpose()?)
}

/// So much of the text of an attempt's events is read: all of it, if its log on the worker was not full.
const MOST_EVENTS: usize = Limits::LOG_BYTES as usize;

/// What an attempt has done.
#[derive(Debug)]
#[expect(missing_docs, reason = "the name says it")]
pub struct AttemptEvents {
    pub records: Vec<Record>,
    /// Whether more has arrived than is read.
    pub is_cut: bool,
}

/// The events of an attempt of a task, of the latest one if none is named, as far as they have arrived.
pub async fn task_events(
    fleet: &Fleet,
    address: &TaskAddress,
    attempt: Option<u32>,
) -> Result<AttemptEvents, FleetError> {
    let mut followed = attempt.unwrap_or(0);
    let mut chunks: BTreeMap<u64, String> = BTreeMap::new();
    let (mut size, mut is_cut) = (0, false);
    read_messages(fleet, EVENTS, address.event_subjects(), DeliverPolicy::All, |message| {
        let number = message.subject.rsplit('.').next().and_then(|number| number.parse().ok());
        let number = number.unwrap_or(0);
        if number < followed || attempt.is_some_and(|attempt| attempt != number) {
            return Ok(());
        }
        if number > followed {
            (followed, size, is_cut) = (number, 0, false);
            chunks.clear();
        }
        // What cannot be read is passed over, as by the caller of a task.
        if let Ok(chunk) = serde_json::from_slice::<EventChunk>(&message.payload)
            && !chunks.contains_key(&chunk.number)
        {
            size += chunk.text.len();
            is_cut |= size > MOST_EVENTS;
            if !is_cut {
                chunks.insert(chunk.number, chunk.text);
            }
        }
        Ok(())
    })
    .await?;
    let text: String = chunks.into_values().collect();
    // The last line may be half there.
    let records = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    Ok(AttemptEvents { records, is_cut })
}

/// The workers that live.
pub async fn workers(fleet: &Fleet) -> Result<Vec<Heartbeat>, FleetError> {
    let (stream, prefix) = bucket_stream(WORKERS);
    let mut found: Vec<Heartbeat> = Vec::new();
    let policy = DeliverPolicy::LastPerSubject;
    read_messages(fleet, &stream, format!("{prefix}.>"), policy, |message| {
        if is_value(message) {
            found.push(serde_json::from_slice(&message.payload)?);
        }
        Ok(())
    })
    .await?;
    found.sort_by(|one, other| (&one.host, &one.worker).cmp(&(&other.host, &other.worker)));
    Ok(found)
}

/// Something that has happened to a task of a batch.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Change {
    Entered(BatchEntry),
    State(TaskName, Option<TaskState>),
    Result(TaskName, Option<Box<TaskResult>>),
}

type Messages = Pin<Box<dyn Stream<Item = (Source, Option<Message>)>>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Entries,
    States,
    Results,
}

/// What happens to the tasks of a batch: first everything that is known, then what comes.
pub struct Following {
    messages: SelectAll<Messages>,
    /// What is not read yet of that which was there at the beginning.
    behind: u64,
}

impl Following {
    /// Begins to follow a batch.
    pub async fn begin(fleet: &Fleet, batch: &TaskName) -> Result<Following, FleetError> {
        let (states, states_prefix) = bucket_stream(STATES);
        let (results, results_prefix) = bucket_stream(RESULTS);
        let mut behind = 0;
        let mut sources: Vec<Messages> = Vec::new();
        for (source, stream, filter) in [
            (Source::Entries, BATCHES, entries_of(batch)),
            (Source::States, states.as_str(), keys_of(&states_prefix, batch)),
            (Source::Results, results.as_str(), keys_of(&results_prefix, batch)),
        ] {
            let (left, messages) =
                open(fleet, stream, filter, DeliverPolicy::LastPerSubject).await?;
            behind += left;
            sources.push(Box::pin(messages.map(move |message| (source, message.ok()))));
        }
        Ok(Following { messages: select_all(sources), behind })
    }

    /// Whether all that was known at the beginning has been read.
    pub fn is_caught_up(&self) -> bool {
        self.behind == 0
    }

    /// Waits for the next change. `None` if the connection gave up.
    pub async fn next(&mut self) -> Option<Result<Change, FleetError>> {
        loop {
            let (source, message) = self.messages.next().await?;
            // A consumer that the server has forgotten makes itself anew.
            let Some(message) = message else { continue };
            self.behind = self.behind.saturating_sub(1);
            match change(source, &message) {
                Ok(Some(change)) => return Some(Ok(change)),
                Ok(None) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

fn change(source: Source, message: &Message) -> Result<Option<Change>, FleetError> {
    if source == Source::Entries {
        return Ok(Some(Change::Entered(serde_json::from_slice(&message.payload)?)));
    }
    let Some(address) = address_of(&message.subject) else { return Ok(None) };
    let payload = is_value(message).then_some(&message.payload);
    Ok(Some(match (source, payload) {
        (Source::States, payload) => {
            let state = payload.map(|payload| serde_json::from_slice(payload)).transpose()?;
            Change::State(address.task, state)
        }
        (_, payload) => {
            let result = payload.map(|payload| serde_json::from_slice(payload)).transpose()?;
            Change::Result(address.task, result)
        }
    }))
}

/// The task that a subject with two words before its key is about.
fn address_of(subject: &str) -> Option<TaskAddress> {
    TaskAddress::of_key(subject.splitn(3, '.').nth(2)?)
}

/// Whether a message of a bucket is a value, and not the mark of one that was removed.
fn is_value(message: &Message) -> bool {
    message.headers.as_ref().is_none_or(|headers| headers.get("KV-Operation").is_none())
}

/// The tasks that a stream has messages about.
pub(super) async fn keys_in(
    fleet: &Fleet,
    stream: &str,
    filter: &str,
) -> Result<HashSet<TaskAddress>, FleetError> {
    let subjects = subjects_in(fleet, stream, filter).await?;
    Ok(subjects.iter().filter_map(|subject| address_of(subject)).collect())
}

async fn subjects_in(fleet: &Fleet, stream: &str, filter: &str) -> Result<Vec<String>, FleetError> {
    fleet
        .patiently(&format!("list what {stream} has"), async || {
            let found =
                fleet.jetstream().get_stream(stream).await.map_err(|error| error.to_string())?;
            let listed = found.info_with_subjects(filter).await;
            let mut listed = listed.map_err(|error| error.to_string())?;
            let mut subjects = Vec::new();
            while let Some(subject) = listed.next().await {
                subjects.push(subject.map_err(|error| error.to_string())?.0);
            }
            Ok::<_, String>(subjects)
        })
        .await
}

/// Reads the last message about each task, without waiting for more. A value that was removed is `None`.
pub(super) async fn read_last(
    fleet: &Fleet,
    stream: &str,
    filter: String,
    mut each: impl FnMut(TaskAddress, Option<&[u8]>) -> Result<(), FleetError>,
) -> Result<(), FleetError> {
    read_messages(fleet, stream, filter, DeliverPolicy::LastPerSubject, |message| match address_of(
        &message.subject,
    ) {
        Some(address) => each(address, is_value(message).then_some(&*message.payload)),
        None => Ok(()),
    })
    .await
}

/// Reads the messages that are there, without waiting for more.
async fn read_messages(
    fleet: &Fleet,
    stream: &str,
    filter: String,
    policy: DeliverPolicy,
    mut each: impl FnMut(&Message) -> Result<(), FleetError>,
) -> Result<(), FleetError> {
    let (mut left, mut messages) = open(fleet, stream, filter, policy).await?;
    while left > 0 {
        let failed = |reason: String| FleetError::Failed { what: format!("read {stream}"), reason };
        let next = tokio::time::timeout(PATIENCE, messages.next()).await;
        let message = next.map_err(|_| failed("it did not answer in time".to_owned()))?;
        let Some(message) = message else { break };
        let message = message.map_err(|error| failed(error.to_string()))?;
        left = message.info().map_err(|error| failed(error.to_string()))?.pending;
        each(&message)?;
    }
    Ok(())
}

/// The messages of a stream, and how many of them there are now.
async fn open(
    fleet: &Fleet,
    stream: &str,
    filter: String,
    deliver_policy: DeliverPolicy,
) -> Result<(u64, Ordered), FleetError> {
    let config =
        OrderedConfig { filter_subject: filter, deliver_policy, ..OrderedConfig::default() };
    let consumer = fleet
        .patiently(&format!("read {stream}"), async || {
            let found =
                fleet.jetstream().get_stream(stream).await.map_err(|error| error.to_string())?;
            let made: Result<Consumer<OrderedConfig>, _> =
                found.create_consumer(config.clone()).await;
            made.map_err(|error| error.to_string())
        })
        .await?;
    let left = consumer.cached_info().num_pending;
    let what = || format!("read {stream}");
    let messages = consumer.messages().await;
    let messages =
        messages.map_err(|error| FleetError::Failed { what: what(), reason: error.to_string() })?;
    Ok((left, messages))
}
