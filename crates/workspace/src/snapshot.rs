//! A working tree as a commit, made with a private index.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use process::Exit;

use crate::git::{Git, failed};
use crate::{GitError, WorkspaceError};

/// The commit that is checked out.
pub(crate) struct Head {
    pub(crate) commit: String,
    pub(crate) tree: String,
    /// When it was made, in seconds since 1970.
    pub(crate) date: String,
}

/// The commit that is checked out; none in a repository that has no commit yet, and on a branch without one.
pub(crate) fn head(git: &Git<'_>) -> Result<Option<Head>, GitError> {
    let Some(commit) = git.resolve("HEAD^{commit}")? else { return Ok(None) };
    let text = git.text(&["log", "-1", "--no-decorate", "--format=%T %ct", &commit])?;
    let (tree, date) = text.split_once(' ').unwrap_or((&text, "0"));
    Ok(Some(Head { tree: tree.to_owned(), date: date.to_owned(), commit }))
}

/// What git could take of a working tree.
pub(crate) struct Snapshot {
    /// Everything that git does not ignore.
    pub(crate) tree: String,
    /// A directory that cannot be read, so that its files are missing.
    pub(crate) unread: Option<String>,
}

/// Takes everything that git does not ignore into the index, and writes it as a tree.
pub(crate) fn tree(git: &Git<'_>) -> Result<Snapshot, GitError> {
    // For a repository inside, `git add` runs `git status` there, which runs the filters of that repository's settings.
    let inside = repositories_inside(git)?;
    let mut args = words(&["add", "--all", "--sparse", "--no-warn-embedded-repo", "--", ":/"]);
    args.extend(inside.iter().map(|path| {
        let mut excluded = OsString::from(":(exclude,top,literal)");
        excluded.push(path);
        excluded
    }));
    let output = git.output(&args)?;
    if output.exit != Exit::Code(0) {
        return Err(failed(&args, &output));
    }
    if !inside.is_empty() {
        let args = words(&["update-index", "--remove", "--ignore-skip-worktree-entries", "--"]);
        git.run(
            &args.into_iter().chain(inside.into_iter().map(PathBuf::into)).collect::<Vec<_>>(),
        )?;
    }
    let unread = unread_directory(&String::from_utf8_lossy(&output.stderr));
    Ok(Snapshot { tree: git.text(&["write-tree"])?, unread })
}

/// The first directory of which `git add` says that it could not read it. It succeeds all the same.
fn unread_directory(stderr: &str) -> Option<String> {
    stderr.lines().find_map(|line| {
        let (_, rest) = line.split_once("could not open directory '")?;
        Some(rest.rsplit_once("': ").map_or(rest, |(path, _)| path).to_owned())
    })
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// The repositories inside of the tree that the index has as such: submodules, and others that `git add` has found.
pub(crate) fn repositories_inside(git: &Git<'_>) -> Result<Vec<PathBuf>, GitError> {
    let staged = git.bytes(&["ls-files", "--stage", "-z"])?;
    let entries = staged.split(|byte| *byte == 0).filter_map(|entry| {
        let entry = entry.strip_prefix(b"160000 ")?;
        let name = &entry[entry.iter().position(|byte| *byte == b'\t')? + 1..];
        Some(PathBuf::from(OsStr::from_bytes(name)))
    });
    Ok(entries.collect())
}

/// The user's working tree as a commit: HEAD itself if nothing is uncommitted. The same tree always is the same commit, so
/// that tasks which start together start from the same.
pub(crate) fn commit(git: &Git<'_>) -> Result<String, WorkspaceError> {
    let head = head(git)?;
    let tree = tree(git)?.tree;
    let date = match head {
        Some(head) if head.tree == tree => return Ok(head.commit),
        Some(Head { commit, date, .. }) => Some((commit, date)),
        None => None,
    };
    let (parents, date) = match date {
        Some((parent, date)) => (vec![parent], date),
        None => (Vec::new(), "0".to_owned()),
    };
    let message = "The working tree with its uncommitted changes";
    Ok(commit_tree(git, &tree, &parents, &date, message)?)
}

/// Makes a commit in our name.
pub(crate) fn commit_tree(
    git: &Git<'_>,
    tree: &str,
    parents: &[String],
    date: &str,
    message: &str,
) -> Result<String, GitError> {
    let mut args = vec!["commit-tree", tree, "-m", message];
    for parent in parents {
        args.extend(["-p", parent]);
    }
    git.clone().with_our_name(&format!("@{date} +0000")).text(&args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_git_could_not_read_is_named() {
        let stderr = "warning: something else\nwarning: could not open directory 'it's/': Permission denied\n";
        assert_eq!(unread_directory(stderr).as_deref(), Some("it's/"));
        assert_eq!(unread_directory("warning: something else\n"), None);
    }
}
