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
        Ok(TreeState { unread: unread(&output.stderr, &state.ignored), ..state })
    }
}

/// The first directory or file of which git says that it could not read it, and which it does not ignore. git succeeds all the
/// same. Its words are no exact names: it shows control characters as question marks, breaks lines where names do, and cuts
/// off what is long.
fn unread(stderr: &[u8], ignored: &BTreeSet<PathBuf>) -> Option<String> {
    stderr.split(|byte| *byte == b'\n').find_map(|line| {
        let is_ignored = |path: &Path| path.ancestors().any(|ancestor| ignored.contains(ancestor));
        if exact_directory(line).is_some_and(is_ignored) {
            return None;
        }
        let line = String::from_utf8_lossy(line);
        let name = match line.split_once("could not open directory '") {
            Some((_, rest)) => rest.rsplit_once("': ").map_or(rest, |(path, _)| path),
            None => {
                let words = line.strip_suffix(": Permission denied")?;
                words.split_once(": ").map_or(words, |(_, path)| path)
            }
        };
        Some(name.to_owned())
    })
}

/// The directory that a warning names, if it can be no other. Up to its last slash, the first line of a name is exact, so that
/// what follows is below this directory at least.
fn exact_directory(line: &[u8]) -> Option<&Path> {
    let rest = line.strip_prefix(b"warning: could not open directory '")?;
    let end = rest.windows(4).rposition(|window| window == b"/': ")?;
    let name = &rest[..end];
    let is_exact = !name.contains(&b'?');
    is_exact.then(|| Path::new(OsStr::from_bytes(name)))
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

    fn first_unread(stderr: &str, ignored: &[&str]) -> Option<String> {
        unread(stderr.as_bytes(), &ignored.iter().map(PathBuf::from).collect())
    }

    #[test]
    fn what_git_could_not_read_is_named_unless_git_ignores_it() {
        let stderr = "warning: something else\nwarning: could not open directory 'it's/': Permission denied\n";
        assert_eq!(first_unread(stderr, &[]).as_deref(), Some("it's/"));
        assert_eq!(first_unread(stderr, &["it's"]), None);
        let below = "warning: could not open directory 'a/b': c/d/': Input/output error\n";
        assert_eq!(first_unread(below, &["a/b': c"]), None);
        assert_eq!(first_unread(below, &["a/b"]).as_deref(), Some("a/b': c/d/"));
        let two =
            format!("{stderr}warning: could not open directory 'other/': Permission denied\n");
        assert_eq!(first_unread(&two, &["it's"]).as_deref(), Some("other/"));
        for (line, name) in [
            ("sub/c.txt: Permission denied\n", "sub/c.txt"),
            ("warning: d: Permission denied\n", "d"),
        ] {
            assert_eq!(first_unread(line, &[]).as_deref(), Some(name));
        }
        assert_eq!(first_unread("warning: something else\n", &[]), None);
    }

    #[test]
    fn a_name_that_git_does_not_show_exactly_is_never_taken_for_an_ignored_one() {
        let ignored = ["a?b", "one", "two", "two/'", "long"];
        for stderr in [
            // A control character.
            "warning: could not open directory 'a?b/': Permission denied\n",
            "warning: could not open directory 'a?b/c/': Permission denied\n",
            // A line break.
            "warning: could not open directory 'one\ntwo/': Permission denied\n",
            "warning: could not open directory 'x\none: Permission denied\n",
            "warning: could not open directory 'new\nwarning: could not open directory 'one/': Permission denied\n",
            // The end of a long message is missing.
            "warning: could not open directory 'long\n",
            "warning: could not open directory 'long': Perm\n",
            // Another message.
            "warning: one: Permission denied\n",
        ] {
            assert!(first_unread(stderr, &ignored).is_some(), "{stderr:?}");
        }
    }
}
