//! A worktree for an agent, from the user's working tree as it is or from the result of an earlier run.

use std::path::{Path, PathBuf};

use crate::WorkspaceError;
use crate::files::{copy_index, make_directory, make_private, remove_index};
use crate::layout::{WorktreeLayout, reference};
use crate::lock::RepositoryLock;
use crate::repository::Repository;
use crate::snapshot;
use crate::survey::forget_worktree;

/// What a worktree starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning<'a> {
    /// The user's working tree as it is now.
    WorkingTree,
    /// What this run left. Its changes count as those of the new run.
    Result(&'a str),
}

/// A worktree that is ready for its agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The task's directory in it.
    pub directory: PathBuf,
    /// The commit with which the result is compared.
    pub base: String,
}

/// Makes the worktree of a run whose task names this directory. If it fails, nothing of it is left.
pub fn prepare(
    layout: &WorktreeLayout,
    directory: &Path,
    beginning: Beginning<'_>,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Prepared, WorkspaceError> {
    let repository = Repository::find_unless(directory, is_stopped)?;
    make_private(layout.directory())?;
    let made = make(layout, &repository, beginning, is_stopped);
    if made.is_err() {
        forget_worktree(layout, &repository);
    }
    made
}

fn make(
    layout: &WorktreeLayout,
    repository: &Repository,
    beginning: Beginning<'_>,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Prepared, WorkspaceError> {
    let git = repository.git(is_stopped);
    let (base, start) = match beginning {
        Beginning::WorkingTree => {
            let base = snapshot_of_user(layout, repository, is_stopped)?;
            (base.clone(), base)
        }
        Beginning::Result(run) => {
            let find = |which| git.resolve(&format!("{}^{{commit}}", reference(run, which)));
            let gone = || WorkspaceError::NoResult(run.to_owned());
            (find("base")?.ok_or_else(gone)?, find("result")?.ok_or_else(gone)?)
        }
    };
    let (tree, admin) = (layout.tree(), repository.admin(layout.run_id().as_str()));
    {
        let _lock = RepositoryLock::take(&repository.common, is_stopped)?;
        // The ref comes first: from here on no `git gc` removes what the worktree starts from.
        git.run(&["update-ref", &layout.base(), &base])?;
        let args = ["worktree", "add", "--quiet", "--detach", "--no-checkout"].map(AsRef::as_ref);
        git.run(&[&args[..], &[tree.as_os_str(), start.as_ref()]].concat())?;
    }
    // Files are written without the lock: other worktrees of the repository can be made meanwhile.
    let inside = repository.git_of(&admin, &tree, is_stopped)?;
    inside.run(&["reset", "--quiet", "--hard", "--no-recurse-submodules"])?;
    let directory = tree.join(&repository.prefix);
    make_directory(&directory)?;
    copy_index(&admin.join("index"), &layout.index())?;
    Ok(Prepared { directory, base })
}

/// The user's working tree as a commit. The index is a copy of the user's own, so that git knows which files have not
/// changed without reading them.
fn snapshot_of_user(
    layout: &WorktreeLayout,
    repository: &Repository,
    is_stopped: &dyn Fn() -> bool,
) -> Result<String, WorkspaceError> {
    let index = layout.base_index();
    copy_index(&repository.index(), &index)?;
    let commit = snapshot::commit(&repository.git(is_stopped).with_index(&index));
    remove_index(&index);
    commit
}
