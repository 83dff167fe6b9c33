//! What of the user's is where a change of the working tree would write. git overwrites files that it ignores, and removes
//! directories of them, without a word.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::git::Git;
use crate::{GitError, WorkspaceError};

/// In which files two trees differ.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    /// Only in the second one.
    pub(crate) made: BTreeSet<PathBuf>,
    /// In both, but not the same.
    pub(crate) changed: BTreeSet<PathBuf>,
    /// Those of them that are another kind of thing in the second one, as a submodule that becomes a file.
    pub(crate) retyped: BTreeSet<PathBuf>,
    /// Only in the first one.
    pub(crate) removed: BTreeSet<PathBuf>,
}

impl Difference {
    pub(crate) fn between(git: &Git<'_>, [from, to]: [&str; 2]) -> Result<Difference, GitError> {
        let names = |filter| -> Result<BTreeSet<PathBuf>, GitError> {
            let args = ["diff-tree", "-r", "-z", "--no-renames", "--name-only", filter, from, to];
            Ok(names_in(&git.bytes(&args)?))
        };
        Ok(Difference {
            made: names("--diff-filter=A")?,
            changed: names("--diff-filter=ad")?,
            retyped: names("--diff-filter=T")?,
            removed: names("--diff-filter=D")?,
        })
    }

    /// What would be removed above or below of what would be made.
    fn removed_for_others(&self) -> BTreeSet<PathBuf> {
        let above = self.made.iter().flat_map(|path| path.ancestors().skip(1));
        let above = above.filter(|path| self.removed.contains(*path)).map(Path::to_owned);
        let is_below = |path: &&PathBuf| path.ancestors().any(|above| self.made.contains(above));
        above.chain(self.removed.iter().filter(is_below).cloned()).collect()
    }
}

/// The names that git prints with `-z`.
pub(crate) fn names_in(output: &[u8]) -> BTreeSet<PathBuf> {
    let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect()
}

/// What is in the way of a change of the working tree, before git begins.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Obstacles {
    /// Where something would be made. What the index has of it, git looks at itself.
    pub(crate) occupied: BTreeSet<PathBuf>,
    /// Files in a submodule that would become something else, at which git does not look.
    pub(crate) in_submodules: BTreeSet<PathBuf>,
}

/// Looks at every place where something would be written. `known` tells which of some names the index has: only these does
/// git remove. An error if this user may not write in one of the directories: git would do the rest.
pub(crate) fn look(
    top: &Path,
    difference: &Difference,
    known: impl FnOnce(&BTreeSet<PathBuf>) -> Result<BTreeSet<PathBuf>, GitError>,
) -> Result<Obstacles, WorkspaceError> {
    let removed = known(&difference.removed_for_others())?;
    let mut places = Places { top, removed: &removed, directories: BTreeMap::new() };
    let mut found = Obstacles::default();
    for path in &difference.made {
        found.occupied.extend(match places.directory(parent(path))? {
            Directory::Blocked(by) => Some(by),
            Directory::Absent => None,
            Directory::There => places.file(path)?,
        });
    }
    for path in &difference.retyped {
        if find(top, path).is_some_and(|found| found.is_dir()) {
            found.in_submodules.extend(places.stays(path)?);
        }
    }
    let mut checked = BTreeSet::new();
    for path in difference.made.iter().chain(&difference.changed).chain(&difference.removed) {
        let directory = places.last_directory(parent(path))?;
        if checked.insert(directory.clone()) {
            let full = top.join(directory);
            access(&full, Access::WRITE_OK | Access::EXEC_OK)
                .map_err(|error| WorkspaceError::file("changed", &full)(error.into()))?;
        }
    }
    Ok(found)
}

/// What is at a path, if no link leads there.
pub(crate) fn find(top: &Path, path: &Path) -> Option<fs::Metadata> {
    let above: Vec<&Path> = path.ancestors().skip(1).collect();
    let is_directory =
        |path: &&Path| top.join(path).symlink_metadata().is_ok_and(|found| found.is_dir());
    let is_plain = above.iter().rev().all(is_directory);
    is_plain.then(|| top.join(path).symlink_metadata().ok())?
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// A directory in which something is to be written.
#[derive(Clone, Debug)]
enum Directory {
    There,
    Absent,
    /// Something else is there, or above it.
    Blocked(PathBuf),
}

struct Places<'a> {
    top: &'a Path,
    removed: &'a BTreeSet<PathBuf>,
    directories: BTreeMap<PathBuf, Directory>,
}

impl Places<'_> {
    fn directory(&mut self, path: &Path) -> Result<Directory, WorkspaceError> {
        if let Some(known) = self.directories.get(path) {
            return Ok(known.clone());
        }
        let above = match path.parent() {
            Some(parent) => self.directory(parent)?,
            None => Directory::There,
        };
        let found = match above {
            Directory::There => self.look_at_directory(path)?,
            above => above,
        };
        self.directories.insert(path.to_owned(), found.clone());
        Ok(found)
    }

    fn look_at_directory(&self, path: &Path) -> Result<Directory, WorkspaceError> {
        let full = self.top.join(path);
        match fs::symlink_metadata(&full) {
            Ok(metadata) if metadata.is_dir() => Ok(Directory::There),
            // Of git's own, which it removes first.
            Ok(_) if self.removed.contains(path) => Ok(Directory::Absent),
            Ok(_) => Ok(Directory::Blocked(path.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Directory::Absent),
            Err(error) => Err(WorkspaceError::file("looked at", &full)(error)),
        }
    }

    /// This directory, or the last one above it that is there.
    fn last_directory(&mut self, path: &Path) -> Result<PathBuf, WorkspaceError> {
        let mut last = path;
        while !matches!(self.directory(last)?, Directory::There) {
            last = parent(last);
        }
        Ok(last.to_owned())
    }

    /// What is where a file would be made.
    fn file(&self, path: &Path) -> Result<Option<PathBuf>, WorkspaceError> {
        let full = self.top.join(path);
        match fs::symlink_metadata(&full) {
            Ok(metadata) if metadata.is_dir() => self.stays(path),
            Ok(_) => Ok(Some(path.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(WorkspaceError::file("looked at", &full)(error)),
        }
    }

    /// The first of what is in a directory and would not be removed from it.
    fn stays(&self, directory: &Path) -> Result<Option<PathBuf>, WorkspaceError> {
        let full = self.top.join(directory);
        for entry in fs::read_dir(&full).map_err(WorkspaceError::file("read", &full))? {
            let entry = entry.map_err(WorkspaceError::file("read", &full))?;
            let path = directory.join(entry.file_name());
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let obstacle = if is_directory {
                self.stays(&path)?
            } else {
                (!self.removed.contains(&path)).then_some(path)
            };
            if obstacle.is_some() {
                return Ok(obstacle);
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &[&str]) -> BTreeSet<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    /// What is in the way of these files in a directory with a file, a link, a directory and one in it.
    fn in_the_way(made: &[&str], removed: &[&str]) -> Vec<String> {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("out/deep")).unwrap();
        fs::create_dir(top.path().join("empty")).unwrap();
        fs::write(top.path().join("file"), "").unwrap();
        fs::write(top.path().join("out/deep/data"), "").unwrap();
        std::os::unix::fs::symlink("/", top.path().join("link")).unwrap();
        let difference =
            Difference { made: paths(made), removed: paths(removed), ..Difference::default() };
        let found = look(top.path(), &difference, |names| Ok(names.clone())).unwrap();
        found.occupied.iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn what_is_there_already_is_in_the_way_unless_git_removes_it_first() {
        let nothing: [&str; 0] = [];
        assert_eq!(in_the_way(&["new", "empty", "out/new", "a/b/c"], &[]), nothing);
        assert_eq!(in_the_way(&["file"], &[]), ["file"]);
        assert_eq!(in_the_way(&["file/below", "link/etc"], &[]), ["file", "link"]);
        assert_eq!(in_the_way(&["out"], &[]), ["out/deep/data"]);
        assert_eq!(in_the_way(&["out"], &["out/deep/data"]), nothing);
        assert_eq!(in_the_way(&["file/below", "link/etc"], &["file", "link"]), nothing);
    }

    #[test]
    fn git_removes_only_what_the_index_has() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("out")).unwrap();
        fs::write(top.path().join("out/data"), "").unwrap();
        let difference = Difference {
            made: paths(&["out"]),
            removed: paths(&["out/data", "other"]),
            ..Difference::default()
        };
        assert_eq!(difference.removed_for_others(), paths(&["out/data"]));
        let found = look(top.path(), &difference, |_| Ok(BTreeSet::new())).unwrap();
        assert_eq!(found.occupied, paths(&["out/data"]));
    }

    #[test]
    fn what_a_submodule_has_is_in_the_way_of_a_file() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("sub/deep")).unwrap();
        let difference = Difference { retyped: paths(&["sub", "gone"]), ..Difference::default() };
        let look = || look(top.path(), &difference, |names| Ok(names.clone())).unwrap();
        assert_eq!(look(), Obstacles::default());
        fs::write(top.path().join("sub/deep/work"), "").unwrap();
        assert_eq!(look().in_submodules, paths(&["sub/deep/work"]));
    }

    #[test]
    fn nothing_is_found_through_a_link() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("real")).unwrap();
        fs::write(top.path().join("real/file"), "").unwrap();
        std::os::unix::fs::symlink("real", top.path().join("link")).unwrap();
        let is_found = |path: &str| find(top.path(), Path::new(path)).is_some();
        assert!(is_found("real/file") && is_found("link"));
        assert!(!is_found("link/file") && !is_found("missing/file"));
    }

    #[test]
    fn names_can_be_any_text() {
        assert_eq!(names_in(b"a\0b\nc\0"), paths(&["a", "b\nc"]));
        assert!(names_in(b"").is_empty());
    }
}
