//! What calls wait for, for people.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use model::{Admission, RunId, Waiting};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::shared_dir::{
    ATTEMPTS, Access, Locked, SharedDir, lock, names, open_file, read_file, remove,
};

/// A call that waits to start its next task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Notice {
    /// The task that starts next.
    pub name: String,
    pub cwd: PathBuf,
    /// The run that waits, if it is recorded already: a background run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_dir: Option<PathBuf>,
    /// How many tasks of the call have not started.
    pub tasks: usize,
    /// The process that waits.
    pub program: u32,
    pub waiting: Waiting,
}

/// A notice that lasts as long as its process, and until it is dropped.
#[derive(Debug)]
pub(crate) struct Posted {
    path: PathBuf,
    held: Locked,
    notice: Notice,
}

/// How long a file without a word in it counts as a notice that is being posted.
const POSTING: Duration = Duration::from_secs(10);

/// A program that looks at notices has the lock of each for a moment. On a machine with more to do than it can, it may have to
/// wait in that moment until it is its turn again.
const POSTING_ATTEMPTS: u32 = 40 * ATTEMPTS;

impl Posted {
    pub(crate) fn new(shared: &SharedDir, notice: Notice) -> Option<Posted> {
        use std::sync::atomic::{AtomicU64, Ordering};

        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = shared.waiting().join(format!("{}-{number}", std::process::id()));
        let held = lock(&path, POSTING_ATTEMPTS)?;
        let posted = Posted { path, held, notice };
        posted.write();
        Some(posted)
    }

    pub(crate) fn update(&mut self, notice: Notice) {
        if self.notice != notice {
            self.notice = notice;
            self.write();
        }
    }

    fn write(&self) {
        self.held.write(&serde_json::to_vec(&self.notice).unwrap_or_default());
    }
}

impl Drop for Posted {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// All calls that wait now, those that have waited longest first.
pub fn waiting_calls(admission: &Admission) -> Vec<Notice> {
    let Some(shared) = SharedDir::open(&admission.directories) else { return Vec::new() };
    let directory = shared.waiting();
    let posted = names(&directory).into_iter().filter_map(|name| {
        let path = directory.join(name);
        let file = open_file(&path, Access::Read).ok()?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            // Its process has ended, unless it was just about to take the lock.
            if !is_being_posted(&file) {
                remove(&path);
            }
            let _ = flock(&file, FlockOperation::Unlock);
            return None;
        }
        serde_json::from_slice(&read_file(&path)?).ok()
    });
    let mut notices: Vec<Notice> = posted.collect();
    notices.sort_by_key(|notice| notice.waiting.since);
    notices
}

fn is_being_posted(file: &File) -> bool {
    let Ok(metadata) = file.metadata() else { return false };
    let age = metadata.modified().ok().and_then(|modified| modified.elapsed().ok());
    metadata.len() == 0 && age.is_none_or(|age| age < POSTING)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use model::WaitReason;

    use super::*;

    #[test]
    fn a_notice_is_there_whoever_looks_while_it_is_posted() {
        let top = tempfile::tempdir().unwrap();
        let admission = Admission {
            directories: vec![top.path().join("locks")],
            machine_concurrency: 1,
            memory_reserve: None,
        };
        let shared = SharedDir::open(&admission.directories).unwrap();
        let notice = Notice {
            name: "one".to_owned(),
            cwd: PathBuf::new(),
            run_id: None,
            run_dir: None,
            tasks: 1,
            program: 1,
            waiting: Waiting { reason: WaitReason::Turn, since: 1 },
        };
        let is_over = AtomicBool::new(false);
        let seen = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    waiting_calls(&admission);
                }
            });
            let post = || Posted::new(&shared, notice.clone()).is_some_and(|it| it.path.exists());
            let seen = (0..2_000).filter(|_| post()).count();
            is_over.store(true, Ordering::Relaxed);
            seen
        });
        assert_eq!(seen, 2_000);
        assert_eq!(waiting_calls(&admission), []);
    }
}
