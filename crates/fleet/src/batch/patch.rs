//! What the agents of a batch have changed, as patches.

use std::path::Path;

use super::BatchEntry;
use crate::tasks::fetch_file;
use crate::{CHANGES, Fleet, FleetError, SNAPSHOTS, Snapshot, TaskResult};

/// Fetches changes into a scratch directory, with each snapshot once.
#[derive(Debug)]
pub struct Patches {
    scratch: tempfile::TempDir,
}

impl Patches {
    /// None are there yet.
    pub fn new() -> Result<Patches, FleetError> {
        let scratch = tempfile::tempdir().map_err(|error| failed(&error))?;
        Ok(Patches { scratch })
    }

    /// What the agent of a task has changed; nothing if it has changed nothing, or began in an empty directory.
    pub async fn fetch(
        &self,
        fleet: &Fleet,
        entry: &BatchEntry,
        result: &TaskResult,
    ) -> Result<Option<Vec<u8>>, FleetError> {
        let (Some(snapshot), Some(commit)) = (&entry.snapshot, &result.commit) else {
            return Ok(None);
        };
        let repository = self.scratch.path().join(&snapshot.commit);
        if !repository.exists() {
            self.fetch_snapshot(fleet, snapshot, &repository).await?;
        }
        let bundle = self.scratch.path().join("changes.bundle");
        let changes = fleet.objects(CHANGES).await?;
        let name = entry.address.changes_name(result.attempt);
        fetch_file(fleet, &changes, &name, &bundle).await?;
        workspace::receive_patch(&repository, &bundle, &snapshot.commit, commit)
            .map(Some)
            .map_err(|error| failed(&error))
    }

    async fn fetch_snapshot(
        &self,
        fleet: &Fleet,
        snapshot: &Snapshot,
        repository: &Path,
    ) -> Result<(), FleetError> {
        let bundle = self.scratch.path().join("snapshot.bundle");
        let snapshots = fleet.objects(SNAPSHOTS).await?;
        fetch_file(fleet, &snapshots, &snapshot.commit, &bundle).await?;
        workspace::receive_snapshot(repository, &bundle, &snapshot.commit)
            .map_err(|error| failed(&error))
    }
}

fn failed(error: &dyn std::error::Error) -> FleetError {
    FleetError::Changes(error.to_string())
}
