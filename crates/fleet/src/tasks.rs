//! The states and results of tasks, which change by compare-and-set.

use std::path::Path;
use std::time::Duration;

use async_nats::jetstream::kv::{CreateErrorKind, Entry, Operation, Store as Bucket};
use async_nats::jetstream::object_store::ObjectStore;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout};

use crate::{Fleet, FleetError, PATIENCE, RESULTS, STATES, TaskAddress, TaskResult, TaskState};

/// How long a file that is being sent may make no progress.
const SILENCE: Duration = Duration::from_secs(4);

/// What the server knows of tasks.
#[derive(Clone, Debug)]
pub struct Tasks {
    fleet: Fleet,
    states: Bucket,
    results: Bucket,
}

/// A value of a bucket, as this program has seen it last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen<T> {
    pub(crate) state: T,
    /// Zero if the key is not there.
    revision: u64,
    /// In milliseconds since 1970, by the server's clock, if another program has changed it.
    changed_at: Option<u64>,
}

/// The state of a task, as this program has seen it last. By default there is none.
pub(crate) type SeenState = Seen<TaskState>;

/// When a value was stored, in milliseconds since 1970, by the server's clock.
pub(crate) fn server_time(entry: &Entry) -> Option<u64> {
    u64::try_from(entry.created.unix_timestamp_nanos() / 1_000_000).ok()
}

impl Tasks {
    /// Finds the buckets.
    pub async fn open(fleet: &Fleet) -> Result<Tasks, FleetError> {
        let (states, results) = (fleet.bucket(STATES).await?, fleet.bucket(RESULTS).await?);
        Ok(Tasks { fleet: fleet.clone(), states, results })
    }

    /// How a task ended, if it has.
    pub async fn result(&self, address: &TaskAddress) -> Result<Option<TaskResult>, FleetError> {
        Ok(self.read(&self.results, address).await?.map(|found| found.state))
    }

    /// Where a task stands. It is new if nothing is known of it.
    pub async fn state(&self, address: &TaskAddress) -> Result<TaskState, FleetError> {
        Ok(self.see(address).await?.state)
    }

    /// Changes the state of a task: `change` says what it makes of the state that it finds, and leaves the state alone by
    /// returning an error. It is called again if the state has changed meanwhile.
    pub async fn change<T, E>(
        &self,
        address: &TaskAddress,
        mut change: impl FnMut(&mut TaskState) -> Result<T, E>,
    ) -> Result<Result<T, E>, FleetError> {
        let mut seen = self.see(address).await?;
        self.change_seen(address, &mut seen, |state, _| change(state)).await
    }

    /// The same for a state that this program has seen: it is read only if it has changed meanwhile. `change` also gets when
    /// that was, by the server's clock.
    pub(crate) async fn change_seen<T, E>(
        &self,
        address: &TaskAddress,
        seen: &mut SeenState,
        mut change: impl FnMut(&mut TaskState, Option<u64>) -> Result<T, E>,
    ) -> Result<Result<T, E>, FleetError> {
        let (key, started) = (address.key(), Instant::now());
        loop {
            let mut state = seen.state.clone();
            let changed = match change(&mut state, seen.changed_at) {
                Ok(changed) => changed,
                Err(reason) => return Ok(Err(reason)),
            };
            let value = serde_json::to_vec(&state)?.into();
            match self.states.update(&key, value, seen.revision).await {
                Ok(revision) => {
                    // When that was matters only of a state that another program has changed.
                    *seen = SeenState { state, revision, changed_at: None };
                    return Ok(Ok(changed));
                }
                Err(error) if started.elapsed() > PATIENCE => {
                    let what = "change the state of a task".to_owned();
                    return Err(FleetError::Failed { what, reason: error.to_string() });
                }
                // It has changed, or the answer of the server was lost.
                Err(_) => *seen = self.see(address).await?,
            }
        }
    }

    pub(crate) async fn see(&self, address: &TaskAddress) -> Result<SeenState, FleetError> {
        let found = self.read::<TaskState>(&self.states, address).await?;
        Ok(found.unwrap_or_default())
    }

    /// Stores how a task ended, unless that is stored already. Returns what is stored then.
    pub async fn finish(
        &self,
        address: &TaskAddress,
        result: TaskResult,
    ) -> Result<TaskResult, FleetError> {
        let (key, value) = (address.key(), serde_json::to_vec(&result)?);
        let is_stored = self
            .fleet
            .patiently("store the result of a task", async || {
                match self.results.create(&key, value.clone().into()).await {
                    Ok(_) => Ok(true),
                    Err(error) if error.kind() == CreateErrorKind::AlreadyExists => Ok(false),
                    Err(error) => Err(error),
                }
            })
            .await?;
        if is_stored {
            return Ok(result);
        }
        Ok(self.result(address).await?.unwrap_or(result))
    }

    async fn read<T: DeserializeOwned>(
        &self,
        bucket: &Bucket,
        address: &TaskAddress,
    ) -> Result<Option<Seen<T>>, FleetError> {
        let key = address.key();
        let entry = self
            .fleet
            .patiently("read the state of a task", async || bucket.entry(key.as_str()).await)
            .await?;
        match entry {
            Some(entry) if entry.operation == Operation::Put => Ok(Some(Seen {
                state: serde_json::from_slice(&entry.value)?,
                revision: entry.revision,
                changed_at: server_time(&entry),
            })),
            _ => Ok(None),
        }
    }
}

/// Whether an object store has something of this name.
pub async fn has_object(store: &ObjectStore, name: &str) -> bool {
    store.info(name).await.is_ok_and(|info| !info.deleted)
}

/// Sends a file.
pub async fn send_file(
    fleet: &Fleet,
    store: &ObjectStore,
    name: &str,
    path: &Path,
) -> Result<(), FleetError> {
    fleet
        .patiently("send files", async || -> Result<(), String> {
            let mut file = tokio::fs::File::open(path).await.map_err(|error| error.to_string())?;
            store.put(name, &mut file).await.map(drop).map_err(|error| error.to_string())
        })
        .await
}

/// Fetches a file.
pub async fn fetch_file(
    fleet: &Fleet,
    store: &ObjectStore,
    name: &str,
    path: &Path,
) -> Result<(), FleetError> {
    fleet
        .patiently("fetch files", async || -> Result<(), String> {
            let mut object = store.get(name).await.map_err(|error| error.to_string())?;
            let mut file =
                tokio::fs::File::create(path).await.map_err(|error| error.to_string())?;
            let mut bytes = vec![0; 128 * 1024];
            loop {
                // A server that has lost its leader may say nothing more about what it has begun to send.
                let read = timeout(SILENCE, object.read(&mut bytes)).await;
                let read = read.map_err(|_| "the server sends nothing more".to_owned())?;
                let count = read.map_err(|error| error.to_string())?;
                if count == 0 {
                    break;
                }
                let written = file.write_all(&bytes[..count]).await;
                written.map_err(|error| error.to_string())?;
            }
            file.sync_all().await.map_err(|error| error.to_string())
        })
        .await
}
