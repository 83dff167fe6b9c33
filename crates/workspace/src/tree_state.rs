//! How a working tree stands beside its index, without a change to either.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use process::Exit;

use crate::GitError;
use crate::git::{Git, failed};

/// What git finds in a working tree whose files are all in the index.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeState {
    /// Whether a file is not as the index has it.
    pub(crate) is_changed: bool,
    /// A file or directory that cannot be read, so that something is missing.
    pub(crate) unread: Option<String>,
    /// The files that git ignores, and the directories in which it ignores everything.
    pub(crate) ignored: BTreeSet<PathBuf>,
}

impl TreeState {
    pub(crate) fn of(git: &Git<'_>) -> Result<TreeState, GitError> {
        let args = [
            "status",
            "--porcelain",
            "-z",
            "--no-renames",
            "--untracked-files=normal",
            "--ignored=matching",
            "--ignore-submodules=all",
        ];
        let output = git.output(&args)?;
        if output.exit != Exit::Code(0) {
            return Err(failed(&args, &output));
        }
        let state = listed(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let is_ignored = |path: &&Path| path.ancestors().any(|path| state.ignored.contains(path));
        let unread = unread(&stderr).map(Path::new).find(|path| !is_ignored(path));
        Ok(TreeState { unread: unread.map(|path| path.display().to_string()), ..state })
    }
}

/// The directories and files of which git says that it could not read them. It succeeds all the same.
fn unread(stderr: &str) -> impl Iterator<Item = &str> {
    stderr.lines().filter_map(|line| match line.split_once("could not open directory '") {
        Some((_, rest)) => Some(rest.rsplit_once("': ").map_or(rest, |(path, _)| path)),
        None => {
            let words = line.strip_suffix(": Permission denied")?;
            Some(words.split_once(": ").map_or(words, |(_, path)| path))
        }
    })
}

/// Reads what `git status --porcelain -z` lists. The first letter of an entry says how the index differs from the last commit,
/// which does not matter here.
fn listed(listing: &[u8]) -> TreeState {
    let mut state = TreeState::default();
    for entry in listing.split(|byte| *byte == 0) {
        match entry {
            [b'!', b'!', b' ', name @ ..] => {
                let name = name.strip_suffix(b"/").unwrap_or(name);
                state.ignored.insert(PathBuf::from(OsStr::from_bytes(name)));
            }
            [_, b' ', b' ', ..] | [] => {}
            _ => state.is_changed = true,
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_index_does_not_have_is_a_change() {
        for (listing, is_changed) in [
            ("", false),
            ("A  new\0R  renamed\0D  gone\0", false),
            ("!! target/\0!! x.log\0", false),
            ("?? new\0", true),
            ("A  new\0 M changed\0", true),
            ("MD gone\0", true),
            ("UU conflict\0", true),
            ("unknown", true),
        ] {
            assert_eq!(listed(listing.as_bytes()).is_changed, is_changed, "{listing:?}");
        }
        let ignored = listed(b"!! target/\0!! x y\xff\0").ignored;
        let names: Vec<&[u8]> = ignored.iter().map(|path| path.as_os_str().as_bytes()).collect();
        assert_eq!(names, [&b"target"[..], b"x y\xff"]);
    }

    #[test]
    fn what_git_could_not_read_is_named() {
        let stderr = "warning: something else\nwarning: could not open directory 'it's/': Permission denied\n\
                      sub/c.txt: Permission denied\nwarning: d: Permission denied\n";
        assert_eq!(unread(stderr).collect::<Vec<_>>(), ["it's/", "sub/c.txt", "d"]);
        assert_eq!(unread("warning: something else\n").next(), None);
    }
}
