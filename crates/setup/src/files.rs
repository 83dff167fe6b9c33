//! Writes files and links in one step. Nothing else in this crate changes files.

use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, fchown, symlink};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::SetupError;

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Change {
    Created,
    Replaced,
    Unchanged,
}

/// Whether the directory exists. A link to one is refused, because its target is not ours.
pub(crate) fn is_directory(path: &Path) -> Result<bool, SetupError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(true),
        Ok(_) => Err(SetupError::NotADirectory(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed("read", path)(error)),
    }
}

pub(crate) fn make_directory(path: &Path) -> Result<(), SetupError> {
    DirBuilder::new().recursive(true).mode(0o755).create(path).map_err(failed("created", path))
}

/// What writing the file would change.
pub(crate) fn change_of_file(path: &Path, text: &str) -> Change {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => match fs::read(path) {
            Ok(there) if there == text.as_bytes() => Change::Unchanged,
            _ => Change::Replaced,
        },
        Ok(_) => Change::Replaced,
        Err(_) => Change::Created,
    }
}

/// What making the link would change.
pub(crate) fn change_of_link(path: &Path, target: &Path) -> Change {
    match fs::read_link(path) {
        Ok(there) if there == target => Change::Unchanged,
        Ok(_) => Change::Replaced,
        Err(_) => Change::Created,
    }
}

/// Replaces the contents of a file in one step, unless it has them.
pub(crate) fn write(path: &Path, text: &str) -> Result<Change, SetupError> {
    let change = change_of_file(path, text);
    if change == Change::Unchanged {
        return Ok(change);
    }
    let put = prepared(path, text, 0o644).and_then(|file| Ok(file.persist(path)?));
    put.map_err(failed("written", path)).map(|_| change)
}

/// A file of the user, as it was read.
#[derive(Debug)]
pub(crate) struct Original {
    /// Its path without links.
    target: PathBuf,
    /// `None` if it does not exist.
    contents: Option<(String, Metadata)>,
}

/// The mode of a new file of the user: users put keys into such files.
const PRIVATE: u32 = 0o600;
/// The mode of a new file of a project, within the umask.
const SHARED: u32 = 0o666;

impl Original {
    /// Reads a file, which may be a link to one.
    pub(crate) fn read(path: &Path) -> Result<Original, SetupError> {
        let there = match fs::symlink_metadata(path) {
            Ok(there) => there,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Original { target: path.to_owned(), contents: None });
            }
            Err(error) => return Err(failed("read", path)(error)),
        };
        let target = match fs::canonicalize(path) {
            Ok(target) => target,
            Err(error) if error.kind() == io::ErrorKind::NotFound && there.is_symlink() => {
                let target = fs::read_link(path).map_err(failed("read", path))?;
                return Err(SetupError::Dangling { path: path.to_owned(), target });
            }
            Err(error) => return Err(failed("read", path)(error)),
        };
        let metadata = fs::metadata(&target).map_err(failed("read", path))?;
        if !metadata.is_file() {
            return Err(SetupError::NotAFile(path.to_owned()));
        }
        let bytes = fs::read(&target).map_err(failed("read", path))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
            SetupError::NotUtf8 { path: path.to_owned(), line }
        })?;
        Ok(Original { target, contents: Some((text, metadata)) })
    }

    /// Whether the path is a link to the file.
    pub(crate) fn is_linked(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
            && self.contents.is_some()
    }

    pub(crate) fn text(&self) -> Option<&str> {
        self.contents.as_ref().map(|(text, _)| text.as_str())
    }

    /// Replaces the contents in one step. Mode, owner and links to the file stay.
    pub(crate) fn replace(&self, text: &str, is_private: bool) -> Result<(), SetupError> {
        let mode = if is_private { PRIVATE } else { SHARED };
        let file = match &self.contents {
            Some((_, metadata)) => copied(&self.target, text, metadata),
            None => prepared(&self.target, text, mode),
        };
        let file = file.map_err(failed("written", &self.target))?;
        self.refuse_change()?;
        // A new file must not replace one that another program has created meanwhile.
        let put = match self.contents {
            Some(_) => file.persist(&self.target),
            None => file.persist_noclobber(&self.target),
        };
        put.map(drop).map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => SetupError::JustChanged(self.target.clone()),
            _ => failed("written", &self.target)(error.error),
        })
    }

    pub(crate) fn remove(&self) -> Result<(), SetupError> {
        self.refuse_change()?;
        remove(&self.target).map(drop)
    }

    /// Copies the file, with its mode and owner.
    pub(crate) fn back_up(&self, path: &Path) -> Result<(), SetupError> {
        let Some((text, metadata)) = &self.contents else { return Ok(()) };
        let put = copied(path, text, metadata).and_then(|file| Ok(file.persist(path)?));
        put.map(drop).map_err(failed("written", path))
    }

    /// Fails if the file is no longer as it was read. Only a system call lies between this check and
    /// the change.
    fn refuse_change(&self) -> Result<(), SetupError> {
        let now = fs::read(&self.target).ok();
        let is_same = now.as_deref() == self.text().map(str::as_bytes);
        if is_same { Ok(()) } else { Err(SetupError::JustChanged(self.target.clone())) }
    }
}

/// The text of a file that is no link, if it can be read.
pub(crate) fn text_of(path: &Path) -> Option<String> {
    let is_file = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file());
    is_file.then(|| fs::read_to_string(path).ok()).flatten()
}

/// A temporary file that can replace the one at `path`.
fn prepared(path: &Path, text: &str, mode: u32) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new()
        .prefix(".new-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_data()?;
    Ok(file)
}

/// As [`prepared`], with the mode and the owner of an existing file.
fn copied(path: &Path, text: &str, like: &Metadata) -> io::Result<NamedTempFile> {
    let file = prepared(path, text, PRIVATE)?;
    let own = file.as_file().metadata()?;
    if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
        fchown(file.as_file(), Some(like.uid()), Some(like.gid()))?;
    }
    file.as_file().set_permissions(Permissions::from_mode(like.mode() & 0o7777))?;
    Ok(file)
}

/// Refuses a path that exists and is no link.
pub(crate) fn refuse_non_link(path: &Path) -> Result<(), SetupError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_symlink() => Err(SetupError::NotALink(path.to_owned())),
        _ => Ok(()),
    }
}

pub(crate) fn link(path: &Path, target: &Path) -> Result<(), SetupError> {
    if change_of_link(path, target) == Change::Unchanged {
        return Ok(());
    }
    let directory = path.parent().unwrap_or(Path::new("."));
    tempfile::Builder::new()
        .prefix(".new-")
        .make_in(directory, |path| symlink(target, path))
        .and_then(|link| Ok(link.into_temp_path().persist(path)?))
        .map_err(failed("created", path))
}

/// Removes a file or a link. Returns whether there was one.
pub(crate) fn remove(path: &Path) -> Result<bool, SetupError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed("removed", path)(error)),
    }
}

/// Removes a directory if it is empty. Returns whether it is gone.
pub(crate) fn drop_directory(path: &Path) -> Result<bool, SetupError> {
    match fs::remove_dir(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
        Err(error) => Err(failed("removed", path)(error)),
    }
}

pub(crate) fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SetupError {
    let path = path.to_owned();
    move |source| SetupError::Io { action, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_another_program_is_not_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("settings.json");
        let changed = |original: &Original, by: &str| {
            fs::write(&path, by).unwrap();
            let results = [original.replace("ours", true), original.remove()];
            let is_refused =
                |result: &Result<(), SetupError>| matches!(result, Err(SetupError::JustChanged(_)));
            assert!(results.iter().all(is_refused), "{results:?}");
            assert_eq!(fs::read_to_string(&path).unwrap(), by);
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        };
        // It did not exist.
        changed(&Original::read(&path).unwrap(), "theirs");
        // It existed.
        changed(&Original::read(&path).unwrap(), "theirs, too");
        // It is gone.
        let original = Original::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(matches!(original.replace("ours", true), Err(SetupError::JustChanged(_))));
        assert!(!path.exists());
    }
}
