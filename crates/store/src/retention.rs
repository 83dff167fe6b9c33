//! Removing old runs.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::run_dir::RESULT;
use crate::{Life, RunDir, Store, StoreError};

/// Which finished runs are kept: those within all three limits, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// How many.
    pub runs: usize,
    /// How old, counted from their end.
    pub age: Duration,
    /// How large all of them together.
    pub bytes: u64,
}

impl Default for Retention {
    fn default() -> Retention {
        Retention {
            runs: 2_000,
            age: Duration::from_secs(30 * 24 * 60 * 60),
            bytes: 2 * 1024 * 1024 * 1024,
        }
    }
}

/// What pruning did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// How many runs were removed.
    pub removed: usize,
    /// How many remain, living ones included.
    pub kept: usize,
    /// How many bytes were freed.
    pub bytes: u64,
}

/// How old a half-made or half-removed directory must be before it is certainly nobody's.
pub(crate) const ABANDONED_AFTER: Duration = Duration::from_secs(60 * 60);

impl Store {
    /// Removes what is beyond the limits. Runs that live, that were abandoned (somebody should
    /// first find out) and that have a newer format stay.
    pub fn prune(&self, retention: &Retention, now: SystemTime) -> Result<Pruned, StoreError> {
        self.check_place()?;
        let mut pruned = Pruned::default();
        let mut bytes = 0;
        let mut finished = 0;
        for run in self.runs()?.into_iter().rev() {
            let Some(ended) = ended_at(&run) else {
                pruned.kept += 1;
                continue;
            };
            let size = size_of(run.path());
            finished += 1;
            bytes += size;
            let age = now.duration_since(ended).unwrap_or_default();
            let is_kept =
                finished <= retention.runs && age <= retention.age && bytes <= retention.bytes;
            // One that cannot be removed must not keep the others.
            if !is_kept && self.remove(&run).unwrap_or(false) {
                pruned.removed += 1;
                pruned.bytes += size;
            } else {
                pruned.kept += 1;
            }
        }
        self.remove_debris(now);
        Ok(pruned)
    }

    /// Removes one run directory, if its run has ended. It vanishes at once, not file by file.
    fn remove(&self, run: &RunDir) -> Result<bool, StoreError> {
        if run.check_writable().is_err() || !matches!(run.life(), Ok(Life::Ended(_))) {
            return Ok(false);
        }
        let doomed = self.path().join(format!(".old-{}", run.run_id()));
        fs::rename(run.path(), &doomed)
            .and_then(|()| fs::remove_dir_all(&doomed))
            .map_err(StoreError::io("removed", run.path()))?;
        Ok(true)
    }

    /// What a program that died in the middle of making or removing a run left behind.
    fn remove_debris(&self, now: SystemTime) {
        for debris in self.debris(now).into_iter().filter(|debris| debris.is_nobodys) {
            // It will be tried again next time.
            let _ = fs::remove_dir_all(debris.path);
        }
    }
}

fn ended_at(run: &RunDir) -> Option<SystemTime> {
    fs::metadata(run.file(RESULT)).and_then(|metadata| metadata.modified()).ok()
}

pub(crate) fn size_of(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum()
}
