//! Removes old runs.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use model::CallId;
use serde::Deserialize;

use crate::remove_tree;
use crate::run_dir::RESULT;
use crate::{Life, RunDir, Store, StoreError};

/// Which finished runs are kept: the newest ones up to a number, none older than an age, and of these
/// as many as fit into a size. Where they do not fit, the largest go first: one huge run must not cost
/// many small ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Retention {
    pub runs: usize,
    /// Counted from the end of a run.
    pub age: Duration,
    /// The size of all finished runs together, as they take it from the disk.
    pub bytes: u64,
}

impl Retention {
    /// What is kept unless the user says otherwise.
    pub const DEFAULT: Retention = Retention {
        runs: 2_000,
        age: Duration::from_secs(30 * 24 * 60 * 60),
        bytes: 2 * 1024 * 1024 * 1024,
    };

    /// What [`Store::prune_by_itself`] never removes: runs that ended so recently.
    pub const FRESH: Duration = Duration::from_secs(24 * 60 * 60);
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

/// A run that has ended.
struct Finished {
    dir: RunDir,
    bytes: u64,
    age: Duration,
}

impl Store {
    /// Removes what is beyond the limits. Runs stay that live, that have a newer format, or that
    /// were abandoned, so that their end is found out and recorded first.
    ///
    /// `release` is called before a run is removed, and removes what the run has outside of its directory. False keeps the run.
    pub fn prune(
        &self,
        retention: &Retention,
        now: SystemTime,
        release: &dyn Fn(&RunDir) -> bool,
    ) -> Result<Pruned, StoreError> {
        self.prune_except(retention, now, release, |_, finished| (Vec::new(), finished))
    }

    /// Removes what is beyond the usual limits, without being asked. Runs of the last day stay, and so
    /// do all runs of a call of which a run lives or ended within the last day: the call may not be
    /// over, and its results not read.
    pub fn prune_by_itself(
        &self,
        now: SystemTime,
        release: &dyn Fn(&RunDir) -> bool,
    ) -> Result<Pruned, StoreError> {
        self.prune_except(&Retention::DEFAULT, now, release, |unfinished, finished| {
            let (fresh, old): (Vec<_>, Vec<_>) =
                finished.into_iter().partition(|run| run.age < Retention::FRESH);
            if old.is_empty() {
                return (fresh, old);
            }
            let recent = unfinished.iter().chain(fresh.iter().map(|run| &run.dir));
            let calls: BTreeSet<CallId> = recent.filter_map(call_of).collect();
            let is_of_recent_call =
                |run: &Finished| call_of(&run.dir).is_some_and(|call| calls.contains(&call));
            let (of_calls, old): (Vec<_>, Vec<_>) = old.into_iter().partition(is_of_recent_call);
            (fresh.into_iter().chain(of_calls).collect(), old)
        })
    }

    /// `spare` gets the runs that have not ended and those that have, newest first, and divides the
    /// latter into those that stay in any case and the others.
    fn prune_except(
        &self,
        retention: &Retention,
        now: SystemTime,
        release: &dyn Fn(&RunDir) -> bool,
        spare: impl FnOnce(&[RunDir], Vec<Finished>) -> (Vec<Finished>, Vec<Finished>),
    ) -> Result<Pruned, StoreError> {
        self.check_is_own()?;
        let mut unfinished = Vec::new();
        let mut finished = Vec::new();
        for dir in self.runs()?.into_iter().rev() {
            match ended_at(&dir) {
                None => unfinished.push(dir),
                Some(ended) => {
                    let age = now.duration_since(ended).unwrap_or_default();
                    finished.push(Finished { bytes: dir.bytes(), age, dir });
                }
            }
        }
        let (spared, old) = spare(&unfinished, finished);
        let mut pruned = Pruned { kept: unfinished.len() + spared.len(), ..Pruned::default() };
        // Those that stay in any case count for the number, because they are kept, but not for the
        // size: no other run must go because of a huge one that stays.
        let room = retention.runs.saturating_sub(spared.len());
        for (run, is_kept) in decide(old, room, retention) {
            // A run that cannot be removed must not protect the others.
            if !is_kept && self.remove(&run.dir, release).unwrap_or(false) {
                pruned.removed += 1;
                pruned.bytes += run.bytes;
            } else {
                pruned.kept += 1;
            }
        }
        for debris in self.debris(now).into_iter().filter(|debris| debris.is_removable) {
            // What cannot be removed now is tried again next time.
            let _ = remove_tree(&debris.path);
        }
        Ok(pruned)
    }

    /// Removes one run directory, if its run has ended. It is renamed first, so that it vanishes in
    /// one step.
    fn remove(&self, run: &RunDir, release: &dyn Fn(&RunDir) -> bool) -> Result<bool, StoreError> {
        let has_ended = matches!(run.life(), Ok(Life::Ended(_)));
        if run.check_writable().is_err() || !has_ended || !release(run) {
            return Ok(false);
        }
        let renamed = self.path().join(format!(".old-{}", run.run_id()));
        fs::rename(run.path(), &renamed)
            .and_then(|()| fs::remove_dir_all(&renamed))
            .map_err(StoreError::io("removed", run.path()))?;
        Ok(true)
    }
}

/// Which of these runs, newest first, are kept.
fn decide(runs: Vec<Finished>, room: usize, retention: &Retention) -> Vec<(Finished, bool)> {
    let mut decided: Vec<(Finished, bool)> = Vec::with_capacity(runs.len());
    for (index, run) in runs.into_iter().enumerate() {
        let is_kept = index < room && run.age <= retention.age;
        decided.push((run, is_kept));
    }
    let kept = decided.iter().filter(|(_, is_kept)| *is_kept);
    let mut bytes: u64 = kept.map(|(run, _)| run.bytes).sum();
    // Among those of one size the oldest goes first.
    let mut by_size: Vec<usize> = (0..decided.len()).filter(|index| decided[*index].1).collect();
    by_size.sort_by_key(|index| (decided[*index].0.bytes, *index));
    while bytes > retention.bytes
        && let Some(largest) = by_size.pop()
    {
        decided[largest].1 = false;
        bytes -= decided[largest].0.bytes;
    }
    decided
}

fn ended_at(run: &RunDir) -> Option<SystemTime> {
    fs::metadata(run.file(RESULT)).and_then(|metadata| metadata.modified()).ok()
}

/// The call of a run, if it says.
fn call_of(run: &RunDir) -> Option<CallId> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct CallOnly {
        call_id: Option<CallId>,
    }
    run.meta_as::<CallOnly>().ok()?.call_id
}

/// What everything below a directory takes from the disk. Counted by blocks: a file with holes is as
/// long as it likes to be.
pub(crate) fn size_of(directory: &Path) -> u64 {
    const BLOCK: u64 = 512;
    let mut bytes: u64 = 0;
    let mut directories: Vec<PathBuf> = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            // The metadata of an entry is not that of what a link leads to.
            let Ok(metadata) = entry.metadata() else { continue };
            bytes = bytes.saturating_add(metadata.blocks().saturating_mul(BLOCK));
            if metadata.is_dir() {
                directories.push(entry.path());
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_huge_run_goes_before_any_small_one_wherever_it_stands() {
        let day = Duration::from_secs(24 * 60 * 60);
        let retention = Retention { runs: 4, age: 10 * day, bytes: 100 };
        for (sizes, kept) in [
            (&[10, 10, 10][..], &[true, true, true][..]),
            (&[1_000, 10, 10], &[false, true, true]),
            (&[10, 1_000, 10], &[true, false, true]),
            (&[60, 50, 50], &[false, true, true]),
            (&[50, 50, 50], &[true, true, false]),
            (&[10, 10, 10, 10, 10], &[true, true, true, true, false]),
        ] {
            let run = |(age, bytes): (u32, &u64)| Finished {
                dir: RunDir::open(Path::new("/run-0000")).unwrap(),
                bytes: *bytes,
                age: age * day,
            };
            let runs = (1..).zip(sizes).map(run).collect();
            let decided = decide(runs, retention.runs, &retention);
            let found: Vec<bool> = decided.iter().map(|(_, is_kept)| *is_kept).collect();
            assert_eq!(found, kept, "{sizes:?}");
        }
    }

    #[test]
    fn a_hole_takes_nothing_from_the_disk() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("deep")).unwrap();
        fs::write(top.path().join("deep/file"), vec![1; 100_000]).unwrap();
        fs::File::create(top.path().join("sparse")).unwrap().set_len(1 << 36).unwrap();
        std::os::unix::fs::symlink("/usr", top.path().join("link")).unwrap();
        let bytes = size_of(top.path());
        assert!((100_000..1_000_000).contains(&bytes), "{bytes}");
    }
}
