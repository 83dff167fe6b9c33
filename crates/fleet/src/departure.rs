//! Sending the files on which agents work: a snapshot is sent once, whatever the number of its tasks.

use std::path::Path;

use workspace::Departure;

use crate::tasks::{has_object, send_file};
use crate::{Fleet, FleetError, SNAPSHOTS, Snapshot};

/// Sends the commit that is checked out in a worktree of ours. What the agent changes comes back. Files are packed in the
/// directory `scratch`, which the caller removes.
pub(crate) async fn send_worktree(
    fleet: &Fleet,
    directory: &Path,
    scratch: &Path,
) -> Result<Snapshot, FleetError> {
    let departure = workspace::departure_of_worktree(directory).map_err(|error| failed(&error))?;
    let bundle = scratch.join("snapshot.bundle");
    let pack = || workspace::pack_worktree(directory, &bundle).map_err(|error| failed(&error));
    send(fleet, departure, true, &bundle, pack).await
}

/// Sends the files of a directory as they are, without those that it ignores and without their history.
pub async fn send_directory(
    fleet: &Fleet,
    directory: &Path,
    wants_changes: bool,
) -> Result<Snapshot, FleetError> {
    let scratch = tempfile::tempdir().map_err(|error| failed(&error))?;
    send_directory_by_way_of(fleet, directory, wants_changes, scratch.path()).await
}

/// The same, packed in the directory `scratch`, which the caller removes.
pub(crate) async fn send_directory_by_way_of(
    fleet: &Fleet,
    directory: &Path,
    wants_changes: bool,
    scratch: &Path,
) -> Result<Snapshot, FleetError> {
    let bundle = scratch.join("snapshot.bundle");
    let departure = workspace::pack_directory(directory, &scratch.join("git"), &bundle);
    let departure = departure.map_err(|error| failed(&error))?;
    send(fleet, departure, wants_changes, &bundle, || Ok(())).await
}

/// Sends a bundle, which is packed only if the server does not have it.
async fn send(
    fleet: &Fleet,
    departure: Departure,
    wants_changes: bool,
    bundle: &Path,
    pack: impl FnOnce() -> Result<(), FleetError>,
) -> Result<Snapshot, FleetError> {
    let Departure { commit, prefix: directory } = departure;
    let store = fleet.objects(SNAPSHOTS).await?;
    if !has_object(&store, &commit).await {
        pack()?;
        send_file(fleet, &store, &commit, bundle).await?;
    }
    Ok(Snapshot { commit, directory, wants_changes })
}

fn failed(error: &dyn std::fmt::Display) -> FleetError {
    FleetError::Failed { what: "pack the files".to_owned(), reason: error.to_string() }
}
