//! Where the worktree of a run is, with the files beside it and the refs that keep its changes.

use std::path::{Path, PathBuf};

use model::RunId;

/// The paths and refs of one run's worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorktreeLayout {
    /// The directory of all worktrees.
    directory: PathBuf,
    run_id: RunId,
}

impl WorktreeLayout {
    /// The layout for a run whose worktree is this one; none if its name is not that of the run, as in a record that was
    /// changed.
    pub fn of(run_id: &RunId, worktree: &Path) -> Option<WorktreeLayout> {
        let is_own = worktree.is_absolute() && worktree.file_name()? == run_id.as_str();
        is_own.then_some(WorktreeLayout {
            directory: worktree.parent()?.to_owned(),
            run_id: run_id.clone(),
        })
    }

    #[expect(missing_docs, reason = "the name says it")]
    pub fn run_id(&self) -> &RunId {
        &self.run_id
    }

    /// The worktree itself.
    pub fn tree(&self) -> PathBuf {
        self.directory.join(self.run_id.as_str())
    }

    /// The ref of the commit from which the worktree started.
    pub fn base(&self) -> String {
        reference(self.run_id.as_str(), "base")
    }

    /// The ref of the commit with everything that the agent left.
    pub fn result(&self) -> String {
        reference(self.run_id.as_str(), "result")
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The index as it was when the worktree was ready. While it exists, the worktree may have changes that no ref has;
    /// and an agent runs only after it was made.
    pub(crate) fn index(&self) -> PathBuf {
        self.beside("index")
    }

    /// The index with which the user's working tree is read.
    pub(crate) fn base_index(&self) -> PathBuf {
        self.beside("base-index")
    }

    /// The worktree on its way out, after a ref has everything that was in it.
    pub(crate) fn removed(&self) -> PathBuf {
        self.beside("removed")
    }

    fn beside(&self, what: &str) -> PathBuf {
        self.directory.join(format!("{}.{what}", self.run_id))
    }
}

/// The ref of the commit from which the tasks of a call start. Another working tree of the repository has others.
pub(crate) fn shared_base(call: &str) -> String {
    format!("refs/worktree/pi-subagents/{call}")
}

pub(crate) fn reference(run: &str, which: &str) -> String {
    format!("refs/pi-subagents/{run}/{which}")
}
