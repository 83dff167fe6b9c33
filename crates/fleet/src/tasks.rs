//! The states and results of tasks, which change by compare-and-set.

use std::time::Duration;

use async_nats::jetstream::kv::{CreateErrorKind, Operation, Store as Bucket};
use async_nats::jetstream::object_store::ObjectStore;
use serde::de::DeserializeOwned;
use std::path::Path;
use tokio::time::Instant;

use crate::{Fleet, FleetError, PATIENCE, RESULTS, STATES, TaskAddress, TaskResult, TaskState};

/// What the server knows of tasks.
#[derive(Clone, Debug)]
pub struct Tasks {
    fleet: Fleet,
    states: Bucket,
    results: Bucket,
}

impl Tasks {
    /// Finds the buckets.
    pub async fn open(fleet: &Fleet) -> Result<Tasks, FleetError> {
        let (states, results) = (fleet.bucket(STATES).await?, fleet.bucket(RESULTS).await?);
        Ok(Tasks { fleet: fleet.clone(), states, results })
    }

    /// How a task ended, if it has.
    pub async fn result(&self, address: &TaskAddress) -> Result<Option<TaskResult>, FleetError> {
        Ok(self.read(&self.results, address).await?.map(|(result, _)| result))
    }

    /// Where a task stands. It is new if nothing is known of it.
    pub async fn state(&self, address: &TaskAddress) -> Result<TaskState, FleetError> {
        Ok(self.read(&self.states, address).await?.map(|(state, _)| state).unwrap_or_default())
    }

    /// Changes the state of a task: `change` says what it makes of the state that it finds, and leaves the state alone by
    /// returning an error. It is called again if the state has changed meanwhile.
    pub async fn change<T, E>(
        &self,
        address: &TaskAddress,
        mut change: impl FnMut(&mut TaskState) -> Result<T, E>,
    ) -> Result<Result<T, E>, FleetError> {
        let (key, started) = (address.key(), Instant::now());
        loop {
            let found = self.read::<TaskState>(&self.states, address).await?;
            let (mut state, revision) = found.unwrap_or_default();
            let changed = match change(&mut state) {
                Ok(changed) => changed,
                Err(reason) => return Ok(Err(reason)),
            };
            let value = serde_json::to_vec(&state)?.into();
            // Of a key that is not there, the revision is zero.
            let Err(error) = self.states.update(&key, value, revision).await else {
                return Ok(Ok(changed));
            };
            if started.elapsed() > PATIENCE {
                let (what, reason) = ("change the state of a task".to_owned(), error.to_string());
                return Err(FleetError::Failed { what, reason });
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
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
    ) -> Result<Option<(T, u64)>, FleetError> {
        let key = address.key();
        let entry = self
            .fleet
            .patiently("read the state of a task", async || bucket.entry(key.as_str()).await)
            .await?;
        match entry {
            Some(entry) if entry.operation == Operation::Put => {
                Ok(Some((serde_json::from_slice(&entry.value)?, entry.revision)))
            }
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
            let copied = tokio::io::copy(&mut object, &mut file).await;
            copied.map_err(|error| error.to_string())?;
            file.sync_all().await.map_err(|error| error.to_string())
        })
        .await
}
