//! The files on which agents work, kept by the hash of their commit.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use super::aside;
use crate::tasks::fetch_file;
use crate::{Fleet, FleetError, SNAPSHOTS, Snapshot};

/// How many snapshots a worker keeps that no task uses.
const KEPT: usize = 16;

/// What is wrong with a snapshot, if its names would lead anywhere else. No worker takes it.
pub(super) fn check(snapshot: &Snapshot) -> Result<(), String> {
    let Snapshot { commit, directory, .. } = snapshot;
    if !matches!(commit.len(), 40 | 64) || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(format!("its files are {commit:?}, which is no commit"));
    }
    let is_plain = |part| matches!(part, std::path::Component::Normal(_));
    if !Path::new(directory).components().all(is_plain) {
        return Err(format!("its directory is {directory:?}, which is not below its files"));
    }
    Ok(())
}

/// The snapshots of one worker.
#[derive(Debug)]
pub(super) struct Snapshots {
    directory: PathBuf,
    /// Only one task at a time makes one, so that none finds half of it.
    making: tokio::sync::Mutex<()>,
    used: Mutex<Vec<String>>,
}

/// A snapshot that stays while a task uses it.
#[derive(Debug)]
pub(super) struct UsedSnapshot<'a> {
    snapshots: &'a Snapshots,
    commit: String,
    /// The directory of the task, in a repository that has the commit.
    pub(super) directory: PathBuf,
}

impl Drop for UsedSnapshot<'_> {
    fn drop(&mut self) {
        if let Ok(mut used) = self.snapshots.used.lock()
            && let Some(index) = used.iter().position(|commit| *commit == self.commit)
        {
            used.swap_remove(index);
        }
    }
}

impl Snapshots {
    pub(super) fn new(directory: PathBuf) -> Snapshots {
        Snapshots { directory, making: tokio::sync::Mutex::default(), used: Mutex::default() }
    }

    /// Fetches a snapshot, unless it is here. It was found to be sound.
    pub(super) async fn of(
        &self,
        fleet: &Fleet,
        snapshot: &Snapshot,
    ) -> Result<UsedSnapshot<'_>, FleetError> {
        let failed =
            |reason: String| FleetError::Failed { what: "unpack the files".to_owned(), reason };
        let (commit, prefix) = (&snapshot.commit, Path::new(&snapshot.directory));
        let _making = self.making.lock().await;
        if let Ok(mut used) = self.used.lock() {
            used.push(commit.clone());
        }
        let repository = self.directory.join(commit);
        let mut found = UsedSnapshot {
            snapshots: self,
            commit: commit.clone(),
            directory: repository.join(prefix),
        };
        let mark = self.directory.join(format!("{commit}.used"));
        if !mark.exists() {
            let _ = fs::remove_dir_all(&repository);
            self.make(fleet, commit, &repository).await?;
        }
        fs::create_dir_all(&found.directory).map_err(|error| failed(error.to_string()))?;
        fs::write(&mark, "").map_err(|error| failed(error.to_string()))?;
        found.directory =
            found.directory.canonicalize().map_err(|error| failed(error.to_string()))?;
        self.forget_old();
        Ok(found)
    }

    async fn make(&self, fleet: &Fleet, commit: &str, repository: &Path) -> Result<(), FleetError> {
        let failed =
            |reason: String| FleetError::Failed { what: "unpack the files".to_owned(), reason };
        fs::create_dir_all(&self.directory).map_err(|error| failed(error.to_string()))?;
        let bundle = self.directory.join(format!("{commit}.bundle"));
        let store = fleet.objects(SNAPSHOTS).await?;
        let fetched = fetch_file(fleet, &store, commit, &bundle).await;
        let (path, at, name) = (bundle.clone(), repository.to_owned(), commit.to_owned());
        let unpacked = match fetched {
            Ok(()) => {
                let unpack = move || workspace::receive_snapshot(&at, &path, &name);
                aside(unpack)
                    .await
                    .map_err(|error| failed(error.to_string()))?
                    .map_err(|error| failed(error.to_string()))
            }
            Err(error) => Err(error),
        };
        let _ = fs::remove_file(&bundle);
        if unpacked.is_err() {
            let _ = fs::remove_dir_all(repository);
        }
        unpacked
    }

    /// Removes those that were not used for longest.
    fn forget_old(&self) {
        let Ok(used) = self.used.lock().map(|used| used.iter().cloned().collect::<BTreeSet<_>>())
        else {
            return;
        };
        let marks = || -> io::Result<Vec<(SystemTime, PathBuf)>> {
            let mut marks = Vec::new();
            for entry in fs::read_dir(&self.directory)? {
                let entry = entry?;
                if entry.path().extension().is_some_and(|extension| extension == "used") {
                    marks.push((entry.metadata()?.modified()?, entry.path()));
                }
            }
            Ok(marks)
        };
        let mut marks = marks().unwrap_or_default();
        marks.retain(|(_, path)| {
            path.file_stem()
                .is_some_and(|stem| !used.contains(&stem.to_string_lossy().into_owned()))
        });
        marks.sort();
        let excess = marks.len().saturating_sub(KEPT);
        for (_, mark) in marks.into_iter().take(excess) {
            let _ = fs::remove_file(&mark);
            let _ = fs::remove_dir_all(mark.with_extension(""));
        }
    }
}
