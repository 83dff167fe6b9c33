//! Sending the files on which agents work: a snapshot is sent once, whatever the number of its tasks.

use std::path::Path;

use tempfile::TempDir;
use workspace::Departure;

use crate::tasks::{has_object, send_file};
use crate::{Fleet, FleetError, SNAPSHOTS, Snapshot};

/// Sends the commit that is checked out in a worktree of ours. What the agent changes comes back.
pub(crate) async fn send_worktree(fleet: &Fleet, directory: &Path) -> Result<Snapshot, FleetError> {
    let departure = workspace::departure_of_worktree(directory).map_err(|error| failed(&error))?;
    let pack =
        |bundle: &Path| workspace::pack_worktree(directory, bundle).map_err(|error| failed(&error));
    send(fleet, departure, true, pack).await
}

/// Sends the files of a directory as they are, without those that it ignores and without their history. What agents change
/// does not come back.
pub async fn send_directory(fleet: &Fleet, directory: &Path) -> Result<Snapshot, FleetError> {
    let scratch = scratch()?;
    let packed = scratch.path().join("packed.bundle");
    let departure = workspace::pack_directory(directory, &scratch.path().join("git"), &packed);
    let departure = departure.map_err(|error| failed(&error))?;
    let pack = |bundle: &Path| std::fs::rename(&packed, bundle).map_err(|error| failed(&error));
    send(fleet, departure, false, pack).await
}

async fn send(
    fleet: &Fleet,
    departure: Departure,
    wants_changes: bool,
    pack: impl FnOnce(&Path) -> Result<(), FleetError>,
) -> Result<Snapshot, FleetError> {
    let Departure { commit, prefix: directory } = departure;
    let store = fleet.objects(SNAPSHOTS).await?;
    if !has_object(&store, &commit).await {
        let scratch = scratch()?;
        let bundle = scratch.path().join("snapshot.bundle");
        pack(&bundle)?;
        send_file(fleet, &store, &commit, &bundle).await?;
    }
    Ok(Snapshot { commit, directory, wants_changes })
}

fn scratch() -> Result<TempDir, FleetError> {
    tempfile::tempdir().map_err(|error| failed(&error))
}

fn failed(error: &dyn std::fmt::Display) -> FleetError {
    FleetError::Failed { what: "pack the files".to_owned(), reason: error.to_string() }
}
