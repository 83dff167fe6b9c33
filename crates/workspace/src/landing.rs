//! The changes of a run come into the user's own tree, when the user asks for it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use process::Exit;

use crate::change::Change;
use crate::conflict::{Merged, merge_trees};
use crate::files::{copy_index, make_private, remove_index, remove_made, remove_stale_lock};
use crate::git::{Git, MOST_NAMES, failed};
use crate::layout::WorktreeLayout;
use crate::lock::RepositoryLock;
use crate::obstacles::{self, Difference, find, names_in};
use crate::repository::Repository;
use crate::{GitError, WorkspaceError, snapshot};

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Landed {
    /// The user's tree has the changes. After a merge, in this commit, if there was something to commit.
    Done(Option<String>),
    /// They conflict in these files, and nothing was changed.
    Conflicting(Vec<String>),
    /// Files of the user stand in their way, and nothing was changed: files that are not committed, for a merge, or that the
    /// user's git ignores.
    InTheWay(Vec<String>),
}

/// Brings the changes into the user's working tree, by a three-way merge with what is there, committed or not. The user's
/// index stays as it is.
pub fn apply(
    repository: &Repository,
    change: &Change,
    layout: &WorktreeLayout,
) -> Result<Landed, WorkspaceError> {
    let _turn = take_turn(repository)?;
    make_private(layout.directory())?;
    let index = layout.base_index();
    let applied = apply_with(repository, change, &index);
    remove_index(&index);
    applied
}

/// One program at a time changes the user's tree, and no worktree is made of it meanwhile.
fn take_turn(repository: &Repository) -> Result<RepositoryLock, WorkspaceError> {
    RepositoryLock::take(&RepositoryLock::turns(&repository.common), &|| false)
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
    let _turn = take_turn(repository)?;
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
    let Err(error) = git.run(&["update-ref", "-m", &reason, "HEAD", &commit, &head]) else {
        return Ok(Landed::Done(Some(commit)));
    };
    let now = git.resolve("HEAD^{commit}")?;
    if now.as_ref() == Some(&commit) {
        return Ok(Landed::Done(Some(commit)));
    }
    check_out(repository, &git, &repository.index(), [&tree, &head])?;
    let is_unmoved = now.as_ref() == Some(&head);
    // Else another program has committed meanwhile.
    Err(if is_unmoved { error.into() } else { WorkspaceError::HeadMoved })
}

/// Changes the working tree and the index from one tree to the other; returns the files that stand in the way. git looks at
/// all of them before it changes any, and finishes also if this process is killed. If it cannot finish, what it has changed is
/// undone.
fn check_out(
    repository: &Repository,
    git: &Git<'_>,
    index: &Path,
    trees: [&str; 2],
) -> Result<Option<Vec<String>>, WorkspaceError> {
    let top = &repository.top;
    let difference = Difference::between(git, trees)?;
    let found = obstacles::look(top, &difference, |names| known_to(git, names))?;
    let untracked = &found.occupied - &known_to(git, &found.occupied)?;
    let deleted = &difference.changed & &deleted_by_user(git)?;
    let in_the_way = &(&untracked | &found.in_submodules) | &deleted;
    if !in_the_way.is_empty() {
        return Ok(Some(in_the_way.iter().map(|name| name.display().to_string()).collect()));
    }
    let [from, to] = trees;
    // Otherwise it would remove what the user has beyond the patterns of a sparse checkout.
    let args = ["read-tree", "--no-sparse-checkout", "-m", "-u", from, to];
    let writing = Writing::begin(top, &difference);
    let output = match git.clone().outliving().output(&args) {
        Ok(output) => output,
        Err(error) => {
            // It was ended from here, wherever it was.
            writing.undo(git, index, Exit::Signal(9))?;
            return Err(error.into());
        }
    };
    if output.exit == Exit::Code(0) {
        return Ok(None);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let files: Vec<String> = stderr.lines().filter_map(obstacle).map(str::to_owned).collect();
    // It looks at everything before it writes anything.
    let has_refused = !files.is_empty() || stderr.lines().any(|line| line.ends_with(LOCKED));
    if !has_refused {
        writing.undo(git, index, output.exit)?;
    }
    if files.is_empty() { Err(failed(&args, &output).into()) } else { Ok(Some(files)) }
}

/// How git says that another program has locked the index.
const LOCKED: &str = ".lock': File exists.";

/// What the user has deleted, but not for the index.
fn deleted_by_user(git: &Git<'_>) -> Result<BTreeSet<PathBuf>, GitError> {
    Ok(names_in(&git.bytes(&["diff", "-z", "--name-only", "--no-ext-diff", "--diff-filter=D"])?))
}

/// Which of these names the index has.
fn known_to(git: &Git<'_>, names: &BTreeSet<PathBuf>) -> Result<BTreeSet<PathBuf>, GitError> {
    let mut known = BTreeSet::new();
    for names in names.iter().collect::<Vec<_>>().chunks(MOST_NAMES) {
        let args = ["--literal-pathspecs", "ls-files", "-z", "--cached", "--"].map(OsStr::new);
        let names = names.iter().map(|name| name.as_os_str());
        known.extend(names_in(&git.bytes(&args.into_iter().chain(names).collect::<Vec<_>>())?));
    }
    Ok(&known & names)
}

/// The file that stands in git's way, in its words for that. The name can be any text.
fn obstacle(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(": ").filter(|(word, _)| *word == "error")?;
    let (name, problem) = rest.split_once('\'')?.1.rsplit_once("\' ")?;
    let problems = ["not uptodate", "would be overwritten", "would be removed"];
    problems.iter().any(|words| problem.starts_with(words)).then_some(name)
}

/// What a git that failed or was killed can have changed on its way from one tree to the other. It writes the index last.
struct Writing<'a> {
    top: &'a Path,
    /// These were not there.
    made: BTreeSet<&'a PathBuf>,
    /// These were, as this tells.
    others: BTreeMap<&'a PathBuf, Option<Stamp>>,
}

/// Differs if a file was written meanwhile.
#[derive(PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(top: &Path, path: &Path) -> Option<Stamp> {
        let found = find(top, path)?;
        Some(Stamp {
            inode: found.ino(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

impl<'a> Writing<'a> {
    fn begin(top: &'a Path, difference: &'a Difference) -> Writing<'a> {
        let others = difference.changed.iter().chain(&difference.removed);
        Writing {
            top,
            made: difference.made.iter().filter(|name| find(top, name).is_none()).collect(),
            others: others.map(|name| (name, Stamp::of(top, name))).collect(),
        }
    }

    /// Puts back what was written, as far as it can be had. git may not have begun, and what differs from the index is the
    /// user's then.
    fn undo(&self, git: &Git<'_>, index: &Path, exit: Exit) -> Result<(), WorkspaceError> {
        let made: Vec<_> = self.made.iter().filter(|name| find(self.top, name).is_some()).collect();
        let is_written = |name: &PathBuf| {
            self.others.get(name).is_some_and(|before| Stamp::of(self.top, name) != *before)
        };
        let differs = ["diff", "-z", "--name-only", "--no-ext-diff", "--ignore-submodules=all"];
        let differing = names_in(&git.bytes(&differs)?);
        let written: Vec<&PathBuf> = differing.iter().filter(|name| is_written(name)).collect();
        if made.is_empty() && written.is_empty() {
            return Ok(());
        }
        if matches!(exit, Exit::Signal(_)) {
            // It had begun to write, so that the lock on the index was its own.
            remove_stale_lock(index);
        }
        let removed: Vec<Result<(), WorkspaceError>> =
            made.iter().map(|name| remove_made(&self.top.join(name))).collect();
        for names in written.chunks(MOST_NAMES) {
            let args = ["checkout-index", "--force", "--"].map(AsRef::as_ref);
            let names = names.iter().map(|name| name.as_os_str());
            git.run(&args.into_iter().chain(names).collect::<Vec<&OsStr>>())?;
        }
        removed.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_in_the_way_is_known_by_the_whole_line() {
        for (line, name) in [
            ("error: Entry 'a' not uptodate. Cannot merge.", Some("a")),
            ("error: Entry 'it's' would be overwritten by merge. Cannot merge.", Some("it's")),
            ("error: Untracked working tree file 'a b' would be removed by merge.", Some("a b")),
            ("error: unable to unlink old 'd/would be overwritten 'q'': Permission denied", None),
            ("warning: Entry 'a' not uptodate. Cannot merge.", None),
            ("fatal: Unable to create '/x/index.lock': File exists.", None),
            ("error: '", None),
        ] {
            assert_eq!(obstacle(line), name, "{line}");
        }
    }
}
