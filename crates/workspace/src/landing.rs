//! The changes of a run come into the user's own tree, when the user asks for it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use process::Exit;

use crate::change::Change;
use crate::conflict::{Merged, merge_trees};
use crate::files::{copy_index, make_private, remove_index, remove_made, remove_stale_lock};
use crate::git::{Git, MOST_NAMES, failed};
use crate::layout::WorktreeLayout;
use crate::repository::Repository;
use crate::{GitError, WorkspaceError, snapshot};

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Landed {
    /// The user's tree has the changes. After a merge, in this commit, if there was something to commit.
    Done(Option<String>),
    /// They conflict in these files, and nothing was changed.
    Conflicting(Vec<String>),
    /// Files of the user stand in their way, and nothing was changed: files that are not committed, for a merge, or that git
    /// ignores.
    InTheWay(Vec<String>),
}

/// Brings the changes into the user's working tree, by a three-way merge with what is there, committed or not. The user's
/// index stays as it is.
pub fn apply(
    repository: &Repository,
    change: &Change,
    layout: &WorktreeLayout,
) -> Result<Landed, WorkspaceError> {
    make_private(layout.directory())?;
    let index = layout.base_index();
    let applied = apply_with(repository, change, &index);
    remove_index(&index);
    applied
}

fn apply_with(
    repository: &Repository,
    change: &Change,
    index: &Path,
) -> Result<Landed, WorkspaceError> {
    copy_index(&repository.index(), index)?;
    let git = repository.git(&|| false).with_index(index);
    let now = snapshot::commit(&git)?.commit;
    match merge_trees(&git, Some(&change.base), &now, &change.result)? {
        Merged::Conflicting(files) => Ok(Landed::Conflicting(files)),
        Merged::Clean(tree) => Ok(match check_out(repository, &git, index, [&now, &tree])? {
            None => Landed::Done(None),
            Some(files) => Landed::InTheWay(files),
        }),
    }
}

/// Commits the changes to the branch that is checked out, as one commit with the user as its author. It runs none of the
/// user's hooks and is not signed. Files that are not committed stay as they are.
pub fn merge(
    repository: &Repository,
    change: &Change,
    message: &str,
) -> Result<Landed, WorkspaceError> {
    let git = repository.git(&|| false);
    let head = git.resolve("HEAD^{commit}")?.ok_or(WorkspaceError::NoCommit)?;
    let tree = match merge_trees(&git, Some(&change.base), &head, &change.result)? {
        Merged::Conflicting(files) => return Ok(Landed::Conflicting(files)),
        Merged::Clean(tree) => tree,
    };
    if git.resolve(&format!("{head}^{{tree}}"))?.as_ref() == Some(&tree) {
        // The branch has them already, or there are none: an empty commit would say nothing.
        return Ok(Landed::Done(None));
    }
    // Before anything is changed: it fails if the user has no identity.
    let commit = git.text(&["commit-tree", &tree, "-p", &head, "-m", message])?;
    let _ = git.output(&["update-index", "-q", "--refresh"])?;
    if let Some(files) = check_out(repository, &git, &repository.index(), [&head, &tree])? {
        return Ok(Landed::InTheWay(files));
    }
    let reason = format!("pi-subagents: {}", message.lines().next().unwrap_or_default());
    if git.run(&["update-ref", "-m", &reason, "HEAD", &commit, &head]).is_err() {
        // Another program has committed meanwhile.
        git.run(&["read-tree", "-m", "-u", &tree, &head])?;
        return Err(WorkspaceError::HeadMoved);
    }
    Ok(Landed::Done(Some(commit)))
}

/// Changes the working tree and the index from one tree to the other; returns the files that stand in the way. git looks at
/// all of them before it changes any, and finishes also if this process is killed. If it cannot finish, what it has changed is
/// undone.
fn check_out(
    repository: &Repository,
    git: &Git<'_>,
    index: &Path,
    [from, to]: [&str; 2],
) -> Result<Option<Vec<String>>, WorkspaceError> {
    let args = ["read-tree", "-m", "-u", from, to];
    let output = git.clone().outliving().output(&args)?;
    if output.exit == Exit::Code(0) {
        return Ok(None);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let named = |line: &str| -> Option<String> {
        let is_obstacle =
            ["not uptodate", "would be overwritten", "would be removed", "Cannot update"];
        let is_named = is_obstacle.iter().any(|words| line.contains(words));
        let name = line.split('\'').nth(1)?;
        is_named.then(|| name.to_owned())
    };
    let files: Vec<String> = stderr.lines().filter_map(named).collect();
    if !files.is_empty() {
        return Ok(Some(files));
    }
    undo(repository, git, index, [from, to], output.exit)?;
    Err(failed(&args, &output).into())
}

/// Puts back the files that a git which failed or was killed has changed on its way from one tree to the other. It had seen
/// that they were as the index has them, and it writes the index last.
fn undo(
    repository: &Repository,
    git: &Git<'_>,
    index: &Path,
    [from, to]: [&str; 2],
    exit: Exit,
) -> Result<(), WorkspaceError> {
    let names = |args: &[&str]| -> Result<BTreeSet<PathBuf>, GitError> {
        let names = git.bytes(args)?;
        let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
    };
    let differing =
        |filter| names(&["diff-tree", "-r", "-z", "--no-renames", "--name-only", filter, from, to]);
    let made = differing("--diff-filter=A")?;
    let made: Vec<&PathBuf> =
        made.iter().filter(|name| repository.top.join(name).symlink_metadata().is_ok()).collect();
    // By their contents: times alone prove nothing.
    let differs = ["diff", "-z", "--name-only", "--no-ext-diff", "--ignore-submodules=all"];
    let changed = &differing("--diff-filter=a")? & &names(&differs)?;
    if made.is_empty() && changed.is_empty() {
        return Ok(());
    }
    if matches!(exit, Exit::Signal(_)) {
        // It had begun to write, so that the lock on the index was its own.
        remove_stale_lock(index);
    }
    for name in made {
        remove_made(&repository.top.join(name))?;
    }
    for names in changed.into_iter().collect::<Vec<_>>().chunks(MOST_NAMES) {
        let args = ["checkout-index", "--force", "--"].map(AsRef::as_ref);
        let names = names.iter().map(|name| name.as_os_str());
        git.run(&args.into_iter().chain(names).collect::<Vec<&OsStr>>())?;
    }
    Ok(())
}
