//! Cancelling and deleting batches.

use std::convert::Infallible;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use model::{Budget, Outcome};

use super::read::keys_in;
use super::submit::purge;
use super::{
    BATCHES, BatchEntry, batch_entries, bucket_stream, count_batches, entries_of, keys_of,
};
use crate::message::Unrun;
use crate::{
    CHANGES, Command, EVENTS, Fleet, FleetError, Format, RESULTS, STATES, TASKS, TaskName,
    TaskResult, Tasks,
};

/// How many tasks are cancelled at a time.
const AT_ONCE: usize = 64;

/// What became of a batch that was cancelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cancelled {
    /// Tasks that no worker had taken; they have ended.
    pub queued: usize,
    /// Tasks whose agents are being stopped.
    pub running: usize,
    /// Tasks that had ended before.
    pub ended: usize,
}

/// Ends every task of a batch that has not ended. `now` is in milliseconds since 1970.
pub async fn cancel_batch(
    fleet: &Fleet,
    batch: &TaskName,
    now: u64,
) -> Result<Cancelled, FleetError> {
    let entries = batch_entries(fleet, batch).await?;
    let (stream, prefix) = bucket_stream(RESULTS);
    let ended = keys_in(fleet, &stream, &keys_of(&prefix, batch)).await?;
    let open: Vec<&BatchEntry> =
        entries.iter().filter(|entry| !ended.contains(&entry.address)).collect();
    let mut cancelled = Cancelled { ended: entries.len() - open.len(), ..Cancelled::default() };
    let tasks = Tasks::open(fleet).await?;
    let ends = stream::iter(open.into_iter().map(|entry| cancel_task(fleet, &tasks, entry, now)));
    let ends: Vec<bool> = ends.buffer_unordered(AT_ONCE).try_collect().await?;
    cancelled.running = ends.iter().filter(|is_running| **is_running).count();
    cancelled.queued = ends.len() - cancelled.running;
    Ok(cancelled)
}

/// Cancels a task, and says whether a worker has it.
async fn cancel_task(
    fleet: &Fleet,
    tasks: &Tasks,
    entry: &BatchEntry,
    now: u64,
) -> Result<bool, FleetError> {
    let cancelled = tasks.change(&entry.address, |state| {
        state.is_cancelled = true;
        Ok::<_, Infallible>(state.running().is_some())
    });
    let Ok(is_running) = cancelled.await?;
    if is_running {
        let command = serde_json::to_vec(&Command::Cancel { format: Format, is_forced: false })?;
        // Only to be quick: the worker also reads the state.
        let _ = fleet.client().publish(entry.address.command_subject(), command.into()).await;
    } else {
        // A worker that took it meanwhile may be faster.
        tasks.finish(&entry.address, never_started(entry, now)).await?;
    }
    Ok(is_running)
}

/// The result of a task that was cancelled while it waited.
pub(super) fn never_started(entry: &BatchEntry, now: u64) -> TaskResult {
    let BatchEntry { run_id, session_id, name, .. } = entry;
    let task = Unrun { run_id, session_id, name, budget: Budget::default(), now };
    TaskResult::unrun(task, Outcome::Cancelled, "Cancelled before a worker had taken it")
}

/// Removes everything that the server has of a batch. Its tasks must have ended.
pub async fn delete_batch(fleet: &Fleet, batch: &TaskName) -> Result<(), FleetError> {
    purge(fleet, TASKS, &keys_of("subagents.task", batch)).await?;
    remove_traces(fleet, batch).await?;
    // Last: while there are entries, deleting can be repeated.
    purge(fleet, BATCHES, &entries_of(batch)).await
}

async fn remove_traces(fleet: &Fleet, batch: &TaskName) -> Result<(), FleetError> {
    purge(fleet, EVENTS, &format!("{}.*", keys_of("subagents.event", batch))).await?;
    for bucket in [STATES, RESULTS] {
        let (stream, prefix) = bucket_stream(bucket);
        purge(fleet, &stream, &keys_of(&prefix, batch)).await?;
    }
    let changes = fleet.objects(CHANGES).await?;
    let part = format!(".{}.", batch.token());
    let listed = fleet.patiently("list changes", async || changes.list().await).await?;
    let names = listed.filter_map(|object| async { object.ok().map(|object| object.name) });
    let names: Vec<String> = names.collect().await;
    for name in names.iter().filter(|name| name.contains(&part)) {
        fleet.patiently("remove changes", async || changes.delete(name).await).await?;
    }
    Ok(())
}

/// Removes what is left of batches whose entries have expired.
pub async fn prune_batches(fleet: &Fleet) -> Result<usize, FleetError> {
    let batches = count_batches(fleet).await?;
    let (stream, prefix) = bucket_stream(RESULTS);
    let keys = keys_in(fleet, &stream, &format!("{prefix}.>")).await?;
    // The results of calls belong to the callers that wait for them.
    let is_left =
        |batch: &TaskName| !batches.contains_key(batch) && !batch.as_str().starts_with("call-");
    let left: std::collections::BTreeSet<TaskName> =
        keys.into_iter().map(|address| address.batch).filter(is_left).collect();
    for batch in &left {
        remove_traces(fleet, batch).await?;
    }
    Ok(left.len())
}
