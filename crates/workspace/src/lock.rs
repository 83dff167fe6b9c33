//! One program at a time changes the refs and the list of worktrees of a repository.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::{GitError, WorkspaceError};

/// The right to change what belongs to us in a repository. The end of this process, of any kind, releases it, and nothing
/// of it is left: what is locked is the directory itself.
pub(crate) struct RepositoryLock {
    _directory: Option<File>,
}

/// It is held for the time of one quick command. A program that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

impl RepositoryLock {
    pub(crate) fn take(
        common: &Path,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<RepositoryLock, WorkspaceError> {
        RepositoryLock::take_until(common, Some(Instant::now() + PATIENCE), is_stopped)
    }

    /// The turn to look at the user's working tree, which may take long. A run waits for it because another one of the same call may be
    /// looking already.
    pub(crate) fn take_turn(
        common: &Path,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<RepositoryLock, WorkspaceError> {
        RepositoryLock::take_until(&RepositoryLock::turns(common), None, is_stopped)
    }

    /// What is locked by the one program that looks at the user's working tree, or changes it.
    pub(crate) fn turns(common: &Path) -> PathBuf {
        common.join("objects")
    }

    fn take_until(
        path: &Path,
        deadline: Option<Instant>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<RepositoryLock, WorkspaceError> {
        let directory = File::open(path).map_err(WorkspaceError::file("opened", path))?;
        let mut pause = Duration::from_millis(1);
        loop {
            match directory.try_lock() {
                Ok(()) => return Ok(RepositoryLock { _directory: Some(directory) }),
                Err(TryLockError::WouldBlock) => {}
                // Some file systems have no locks. git's own still hold.
                Err(TryLockError::Error(_)) => return Ok(RepositoryLock { _directory: None }),
            }
            if is_stopped() {
                return Err(GitError::Stopped.into());
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                let reason = "another program has held it for five minutes".to_owned();
                return Err(WorkspaceError::Lock { path: path.to_owned(), reason });
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }
}
