//! A working tree as a commit, made with a private index.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use process::{CommandOutput, Exit};

use crate::git::{Git, MOST_NAMES, failed};
use crate::{GitError, WorkspaceError};

/// The commit that is checked out somewhere.
pub(crate) struct Head {
    pub(crate) commit: String,
    pub(crate) tree: String,
    /// When it was made, in seconds since 1970.
    pub(crate) date: String,
}

/// The commit that is checked out; none in a repository that has no commit yet, and on a branch without one.
pub(crate) fn head(git: &Git<'_>) -> Result<Option<Head>, GitError> {
    commit_at(git, "HEAD")
}

/// The commit that a name stands for, if there is such a thing.
pub(crate) fn commit_at(git: &Git<'_>, name: &str) -> Result<Option<Head>, GitError> {
    let Some(commit) = git.resolve(&format!("{name}^{{commit}}"))? else { return Ok(None) };
    let text = git.text(&["log", "-1", "--no-decorate", "--format=%T %ct", &commit])?;
    let (tree, date) = text.split_once(' ').unwrap_or((&text, "0"));
    Ok(Some(Head { tree: tree.to_owned(), date: date.to_owned(), commit }))
}

/// What git could take of a working tree.
pub(crate) struct Snapshot {
    /// Everything that git does not ignore.
    pub(crate) tree: String,
    /// The repositories inside that the index had before: submodules.
    pub(crate) known: Vec<PathBuf>,
    /// The repositories inside that the index did not have. The tree has the names of their commits, or nothing if one of
    /// them has no commit.
    pub(crate) embedded: Vec<PathBuf>,
}

/// A working tree as a commit.
pub(crate) struct UserTree {
    pub(crate) commit: String,
    /// Repositories inside of which the commit has nothing.
    pub(crate) left_out: Vec<PathBuf>,
}

/// Takes everything that git does not ignore into the index, and writes it as a tree.
pub(crate) fn tree(git: &Git<'_>) -> Result<Snapshot, GitError> {
    // For a repository inside, `git add` runs `git status` there, which runs the filters of that repository's settings.
    let known = repositories_inside(git)?;
    let mut output = add(git, &known)?;
    let mut embedded = Vec::new();
    if output.exit != Exit::Code(0) && mentions(&output, "does not have a commit checked out") {
        embedded = untracked_repositories(git)?;
        output = add(git, &[&known[..], &embedded].concat())?;
    }
    if output.exit != Exit::Code(0) {
        return Err(failed(&ADD, &output));
    }
    if !known.is_empty() {
        let args = ["update-index", "--remove", "--ignore-skip-worktree-entries", "--"];
        git.run(&with_paths(&args, &known))?;
    }
    if mentions(&output, "warning: adding embedded git repository: ") {
        embedded = repositories_inside(git)?;
        embedded.retain(|path| !known.contains(path));
    }
    Ok(Snapshot { tree: git.text(&["write-tree"])?, known, embedded })
}

/// Takes files into the index that the agent has added although git ignores them: they are in the agent's own index, so git
/// does not ignore them there.
pub(crate) fn add_ignored(git: &Git<'_>, of_agent: &Git<'_>, top: &Path) -> Result<(), GitError> {
    let args = ["ls-files", "--cached", "--ignored", "--exclude-standard", "-z"];
    let listed = of_agent.bytes(&args)?;
    let listed = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let is_file =
        |name: &&OsStr| top.join(name).symlink_metadata().is_ok_and(|found| !found.is_dir());
    let names: Vec<&OsStr> = listed.map(OsStr::from_bytes).filter(is_file).collect();
    for names in names.chunks(MOST_NAMES) {
        let mut args: Vec<OsString> =
            ["add", "--force", "--sparse", "--"].map(OsString::from).into();
        args.extend(names.iter().map(|name| {
            let mut path = OsString::from(":(top,literal)");
            path.push(name);
            path
        }));
        git.run(&args)?;
    }
    Ok(())
}

const ADD: [&str; 4] = ["add", "--all", "--sparse", "--"];

/// Takes everything but these paths into the index.
fn add(git: &Git<'_>, left_out: &[PathBuf]) -> Result<CommandOutput, GitError> {
    let mut args = with_paths(&ADD, &[PathBuf::from(":/")]);
    args.extend(left_out.iter().map(|path| {
        let mut excluded = OsString::from(":(exclude,top,literal)");
        excluded.push(path);
        excluded
    }));
    git.output(&args)
}

fn mentions(output: &CommandOutput, words: &str) -> bool {
    String::from_utf8_lossy(&output.stderr).contains(words)
}

fn with_paths(args: &[&str], paths: &[PathBuf]) -> Vec<OsString> {
    let paths = paths.iter().map(|path| path.as_os_str().to_owned());
    args.iter().map(OsString::from).chain(paths).collect()
}

/// The repositories inside of the tree that the index does not have and git does not ignore.
fn untracked_repositories(git: &Git<'_>) -> Result<Vec<PathBuf>, GitError> {
    let found = git.bytes(&["ls-files", "--others", "--exclude-standard", "-z"])?;
    // Only a directory of which git lists no file ends so.
    let found = found.split(|byte| *byte == 0).filter_map(|name| name.strip_suffix(b"/"));
    Ok(found.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
}

/// The repositories inside of the tree that the index has as such: submodules, and others that `git add` has found.
fn repositories_inside(git: &Git<'_>) -> Result<Vec<PathBuf>, GitError> {
    let staged = git.bytes(&["ls-files", "--stage", "-z"])?;
    let entries = staged.split(|byte| *byte == 0).filter_map(|entry| {
        let entry = entry.strip_prefix(b"160000 ")?;
        let name = &entry[entry.iter().position(|byte| *byte == b'\t')? + 1..];
        Some(PathBuf::from(OsStr::from_bytes(name)))
    });
    Ok(entries.collect())
}

/// The user's working tree as a commit: HEAD itself if nothing is uncommitted. The same tree always is the same commit, so
/// that tasks which start together start from the same. Repositories inside that the user has not added are left out: the
/// names of their commits would be changes of the user, and their files could not come along.
pub(crate) fn commit(git: &Git<'_>) -> Result<UserTree, WorkspaceError> {
    let head = head(git)?;
    let Snapshot { mut tree, embedded: left_out, .. } = tree(git)?;
    if !left_out.is_empty() {
        git.run(&with_paths(&["update-index", "--force-remove", "--"], &left_out))?;
        tree = git.text(&["write-tree"])?;
    }
    let (parents, date) = match head {
        Some(head) if head.tree == tree => return Ok(UserTree { commit: head.commit, left_out }),
        Some(Head { commit, date, .. }) => (vec![commit], date),
        None => (Vec::new(), "0".to_owned()),
    };
    let message = "The working tree with its uncommitted changes";
    let commit = commit_tree(git, &tree, &parents, &date, message)?;
    Ok(UserTree { commit, left_out })
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
