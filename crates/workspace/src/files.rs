//! The few files that this crate makes and removes itself: private indexes, and worktrees that a ref has whole.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::WorkspaceError;

/// Makes the directory of all worktrees, which only the user can enter.
pub(crate) fn make_private(directory: &Path) -> Result<(), WorkspaceError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(WorkspaceError::file("created", directory))
}

/// Makes the directory in which an agent works, if git had nothing to put there.
pub(crate) fn make_directory(directory: &Path) -> Result<(), WorkspaceError> {
    fs::create_dir_all(directory).map_err(WorkspaceError::file("created", directory))
}

/// Copies an index so that the copy is there whole or not at all. Returns whether there is one to copy.
pub(crate) fn copy_index(from: &Path, to: &Path) -> Result<bool, WorkspaceError> {
    let partial = with_suffix(to, ".lock");
    let copy = || {
        let mut index = File::open(from)?;
        let mut copy = File::create(&partial)?;
        io::copy(&mut index, &mut copy)?;
        // git reads a file again that is as new as the index: it may have changed in the same moment.
        copy.set_modified(index.metadata()?.modified()?)?;
        fs::rename(&partial, to)
    };
    match copy() {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !from.exists() => Ok(false),
        Err(error) => {
            let _ = fs::remove_file(&partial);
            Err(WorkspaceError::file("copied", from)(error))
        }
    }
}

/// The text of a file that git writes and that is short.
pub(crate) fn read_short(path: &Path) -> Option<String> {
    let found = fs::symlink_metadata(path).ok()?;
    let is_short = found.is_file() && found.len() < 16_384;
    is_short.then(|| fs::read_to_string(path).ok())?
}

/// Removes an index of ours, and the lock that a killed git has left beside it.
pub(crate) fn remove_index(index: &Path) {
    remove_stale_lock(index);
    let _ = fs::remove_file(index);
}

/// Removes a file, or an empty directory, that a git of ours has made in the user's tree and must not stay.
pub(crate) fn remove_made(path: &Path) -> Result<(), WorkspaceError> {
    let is_directory = path.symlink_metadata().is_ok_and(|found| found.is_dir());
    let removed = if is_directory { fs::remove_dir(path) } else { fs::remove_file(path) };
    removed.map_err(WorkspaceError::file("removed", path))
}

/// Removes the lock that a killed git has left beside a file that is only ours, or in our name.
pub(crate) fn remove_stale_lock(path: &Path) {
    let _ = fs::remove_file(with_suffix(path, ".lock"));
}

/// Takes a worktree out of the way, in one step.
pub(crate) fn set_aside(tree: &Path, removed: &Path) -> io::Result<()> {
    fs::rename(tree, removed)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn a_copied_index_is_as_old_as_the_index() {
        let top = tempfile::tempdir().unwrap();
        let (from, to) = (top.path().join("index"), top.path().join("copy"));
        assert!(!copy_index(&from, &to).unwrap());
        fs::write(&from, "entries").unwrap();
        let time = SystemTime::now() - Duration::from_secs(100);
        File::options().append(true).open(&from).unwrap().set_modified(time).unwrap();
        assert!(copy_index(&from, &to).unwrap());
        assert_eq!(fs::read_to_string(&to).unwrap(), "entries");
        assert_eq!(fs::metadata(&to).unwrap().modified().unwrap(), time);
        assert_eq!(fs::read_dir(top.path()).unwrap().count(), 2);
    }
}
