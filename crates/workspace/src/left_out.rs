//! What is in a working tree and in no commit of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What `git add` leaves out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// How many files git ignores.
    pub(crate) ignored: u64,
    /// A directory with a `.git` of its own, which git passes over without a word, whatever it is.
    pub(crate) repository: Option<PathBuf>,
}

impl LeftOut {
    /// Looks through a tree in which git ignores these files and directories.
    pub(crate) fn of(tree: &Path, ignored: &BTreeSet<PathBuf>) -> LeftOut {
        let mut found = LeftOut::default();
        let mut open = vec![(PathBuf::new(), false)];
        while let Some((directory, is_ignored)) = open.pop() {
            // git tells of a directory that cannot be read.
            for entry in fs::read_dir(tree.join(&directory)).into_iter().flatten().flatten() {
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let name = entry.file_name();
                if ignored.is_empty() && !is_directory && name != ".git" {
                    // Most files of most trees: to put their paths together would take as long as all else.
                    continue;
                }
                let path = directory.join(&name);
                let is_ignored = is_ignored || ignored.contains(&path);
                if name == ".git" && !is_ignored {
                    if !directory.as_os_str().is_empty() {
                        found.repository = Some(directory.clone());
                    }
                } else if is_directory {
                    open.push((path, is_ignored));
                } else if is_ignored {
                    found.ignored += 1;
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_files_are_counted_and_repositories_found_but_for_ignored_ones() {
        let top = tempfile::tempdir().unwrap();
        for name in [".git", "a", "x.log", "deps/p/q", "deps/p/.git/HEAD", "sub/b", "sub/x.log"] {
            let path = top.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let ignored = ["x.log", "deps", "sub/x.log"].map(PathBuf::from).into();
        assert_eq!(LeftOut::of(top.path(), &ignored), LeftOut { ignored: 4, repository: None });
        fs::create_dir(top.path().join("sub/.git")).unwrap();
        let expected = LeftOut { ignored: 4, repository: Some(PathBuf::from("sub")) };
        assert_eq!(LeftOut::of(top.path(), &ignored), expected);
    }
}
