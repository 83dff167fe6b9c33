//! Failures of a store.

use std::io;
use std::path::{Path, PathBuf};

/// Every message names the file.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum StoreError {
    #[error("{} cannot be {action}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is damaged: {source}", path.display())]
    Damaged { path: PathBuf, source: serde_json::Error },
    #[error(
        "{} is damaged: it has {bytes} bytes, and this program writes no more than {limit}; delete the \
         directory of the run if you do not need it",
        path.display()
    )]
    TooLarge { path: PathBuf, bytes: u64, limit: u64 },
    #[error(
        "the task is too long: its {name} would have {bytes} bytes, and at most {limit} are read"
    )]
    TaskTooLong { name: &'static str, bytes: u64, limit: u64 },
    #[error(
        "{} was written by a newer version (format {found}, this one writes {}); update pi-subagents",
        path.display(), model::FORMAT
    )]
    NewerFormat { path: PathBuf, found: u32 },
    #[error("{} is not a run directory: its name is not a run id", .0.display())]
    NotARun(PathBuf),
    #[error("{} already has a supervisor", .0.display())]
    AlreadySupervised(PathBuf),
    #[error("{} already has a result", .0.display())]
    AlreadyEnded(PathBuf),
}

impl StoreError {
    /// Whether the file is not there.
    pub fn is_absent(&self) -> bool {
        matches!(self, StoreError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    pub(crate) fn io(
        action: &'static str,
        path: impl AsRef<Path>,
    ) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.as_ref().to_owned();
        move |source| StoreError::Io { action, path, source }
    }
}
