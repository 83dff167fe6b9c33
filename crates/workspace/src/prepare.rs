//! A worktree for an agent, from the user's working tree as it is or from the result of an earlier run.

use std::path::{Path, PathBuf};

use process::Exit;
use store::remove_tree;

use crate::files::{copy_index, make_directory, make_private, remove_index};
use crate::git::{Git, failed};
use crate::layout::{WorktreeLayout, reference, shared_base};
use crate::lock::RepositoryLock;
use crate::repository::Repository;
use crate::snapshot::{self, UserTree};
use crate::survey::{forget_admin, forget_worktree};
use crate::{GitError, WorkspaceError};

/// What a worktree starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning<'a> {
    /// The user's working tree as it is now.
    WorkingTree {
        /// Or as a run of this call has found it before: its tasks start from the same files, and a large tree is looked at
        /// once for all of them.
        call: Option<&'a str>,
    },
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
    /// Repositories inside of the user's working tree that are not in the worktree.
    pub left_out: Vec<PathBuf>,
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
    refuse_inside(layout, repository, &git)?;
    let find = |run: &str, which| git.resolve(&format!("{}^{{commit}}", reference(run, which)));
    let keep_base = |reference: &str, base: &str| -> Result<(), WorkspaceError> {
        let _lock = RepositoryLock::take(&repository.common, is_stopped)?;
        // An agent of another run may have made it lead to a branch.
        Ok(git.run(&["update-ref", "--no-deref", reference, base])?)
    };
    // The ref comes first: from here on no `git gc` removes what the worktree starts from.
    let (base, start, left_out) = match beginning {
        Beginning::WorkingTree { call } => {
            // While one of them looks at the tree, the others wait for what it finds.
            let take_turn = |_| RepositoryLock::take_turn(&repository.common, is_stopped);
            let _turn = call.map(take_turn).transpose()?;
            let shared = call.map(shared_base);
            let found = shared.as_ref().map(|shared| git.resolve(&format!("{shared}^{{commit}}")));
            let UserTree { commit, left_out } = match found.transpose()?.flatten() {
                Some(commit) => UserTree { commit, left_out: Vec::new() },
                None => snapshot_of_user(layout, repository, is_stopped)?,
            };
            keep_base(&layout.base(), &commit)?;
            if let Some(shared) = shared {
                keep_base(&shared, &commit)?;
            }
            (commit.clone(), commit, left_out)
        }
        Beginning::Result(run) => {
            let gone = || WorkspaceError::NoResult(run.to_owned());
            let base = find(run, "base")?.ok_or_else(gone)?;
            keep_base(&layout.base(), &base)?;
            (base, find(run, "result")?.ok_or_else(gone)?, Vec::new())
        }
    };
    let (tree, admin) = (layout.tree(), repository.admin(layout.run_id().as_str()));
    {
        let _lock = RepositoryLock::take(&repository.common, is_stopped)?;
        add_worktree(layout, repository, &git, &start)?;
    }
    // Files are written without the lock: other worktrees of the repository can be made meanwhile.
    let inside = repository.git_of(&admin, &tree, is_stopped)?;
    inside.run(&["reset", "--quiet", "--hard", "--no-recurse-submodules"])?;
    let directory = tree.join(&repository.prefix);
    make_directory(&directory)?;
    copy_index(&admin.join("index"), &layout.index())?;
    Ok(Prepared { directory, base, left_out })
}

/// How often git is asked for a worktree. A `git gc` of the user's takes one that git is about to make for one that is gone,
/// and removes what there is of it.
const ATTEMPTS: usize = 5;

/// Has git make the worktree, without files. The caller has the lock of the repository.
fn add_worktree(
    layout: &WorktreeLayout,
    repository: &Repository,
    git: &Git<'_>,
    start: &str,
) -> Result<(), GitError> {
    let tree = layout.tree();
    let args = ["worktree", "add", "--quiet", "--detach", "--no-checkout"].map(AsRef::as_ref);
    let args = [&args[..], &[tree.as_os_str(), start.as_ref()]].concat();
    for _ in 1..ATTEMPTS {
        match git.run(&args) {
            Err(GitError::Failed { .. }) => {
                let _ = remove_tree(&tree);
                forget_admin(layout, repository);
            }
            done => return done,
        }
    }
    git.run(&args)
}

/// Worktrees inside of the user's own tree would become a part of what the user and other agents have there, unless git
/// ignores them.
fn refuse_inside(
    layout: &WorktreeLayout,
    repository: &Repository,
    git: &Git<'_>,
) -> Result<(), WorkspaceError> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (worktrees, top) = (real(layout.directory()), real(&repository.top));
    let Ok(below) = worktrees.strip_prefix(&top) else { return Ok(()) };
    if below.starts_with(".git") {
        return Ok(());
    }
    let tree = worktrees.join(layout.run_id().as_str());
    // Some patterns hold for directories alone, and git looks whether it is one.
    make_private(&tree)?;
    let args = ["check-ignore", "--quiet", "--"].map(AsRef::as_ref);
    let args = [&args[..], &[tree.as_os_str()]].concat();
    let output = git.output(&args)?;
    match output.exit {
        Exit::Code(0) => Ok(()),
        Exit::Code(1) => Err(WorkspaceError::Inside { worktrees, top }),
        _ => Err(failed(&args, &output).into()),
    }
}

/// The user's working tree as a commit. The index is a copy of the user's own, so that git knows which files have not
/// changed without reading them.
fn snapshot_of_user(
    layout: &WorktreeLayout,
    repository: &Repository,
    is_stopped: &dyn Fn() -> bool,
) -> Result<UserTree, WorkspaceError> {
    let index = layout.base_index();
    copy_index(&repository.index(), &index)?;
    let taken = snapshot::commit(&repository.git(is_stopped).with_index(&index));
    remove_index(&index);
    taken
}
