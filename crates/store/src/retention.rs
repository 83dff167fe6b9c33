//! Removes old runs.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::run_dir::RESULT;
use crate::{Life, RunDir, Store, StoreError};

/// Which finished runs are kept: those within all three limits, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Retention {
    pub runs: usize,
    /// Counted from the end of a run.
    pub age: Duration,
    /// The size of all finished runs together.
    pub bytes: u64,
}

impl Retention {
    /// What is kept unless the user says otherwise.
    pub const DEFAULT: Retention = Retention {
        runs: 2_000,
        age: Duration::from_secs(30 * 24 * 60 * 60),
        bytes: 2 * 1024 * 1024 * 1024,
    };
}

impl Default for Retention {
    fn default() -> Retention {
        Retention::DEFAULT
    }
}

/// What [`Store::prune`] did, in numbers of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Pruned {
    pub removed: usize,
    /// The runs that remain, including those that live.
    pub kept: usize,
    pub bytes: u64,
}

/// No program takes longer to make or remove a run directory.
pub(crate) const ABANDONED_AFTER: Duration = Duration::from_secs(60 * 60);

impl Store {
    /// Removes what is beyond the limits. Runs stay that live, that have a newer format, or that
    /// were abandoned, so that their end is found out and recorded first.
    pub fn prune(&self, retention: &Retention, now: SystemTime) -> Result<Pruned, StoreError> {
        self.check_is_own()?;
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
            // A run that cannot be removed must not protect the others.
            if !is_kept && self.remove(&run).unwrap_or(false) {
                pruned.removed += 1;
                pruned.bytes += size;
            } else {
                pruned.kept += 1;
            }
        }
        for debris in self.debris(now).into_iter().filter(|debris| debris.is_removable) {
            // What cannot be removed now is tried again next time.
            let _ = fs::remove_dir_all(debris.path);
        }
        Ok(pruned)
    }

    /// Removes one run directory, if its run has ended. It is renamed first, so that it vanishes in
    /// one step.
    fn remove(&self, run: &RunDir) -> Result<bool, StoreError> {
        if run.check_writable().is_err() || !matches!(run.life(), Ok(Life::Ended(_))) {
            return Ok(false);
        }
        let renamed = self.path().join(format!(".old-{}", run.run_id()));
        fs::rename(run.path(), &renamed)
            .and_then(|()| fs::remove_dir_all(&renamed))
            .map_err(StoreError::io("removed", run.path()))?;
        Ok(true)
    }
}

fn ended_at(run: &RunDir) -> Option<SystemTime> {
    fs::metadata(run.file(RESULT)).and_then(|metadata| metadata.modified()).ok()
}

pub(crate) fn size_of(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum()
}
