//! Files and links that appear whole. Nothing else in this crate changes files.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::Path;

use crate::SetupError;

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was not there.
    Created,
    /// Something else was in its place.
    Replaced,
    /// It was there as it should be.
    Unchanged,
}

/// Whether there is a directory of its own; a link to one is none, because what is behind it is
/// somebody else's.
pub(crate) fn is_directory(path: &Path) -> Result<bool, SetupError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(true),
        Ok(_) => Err(SetupError::NotADirectory(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed("read", path)(error)),
    }
}

/// Creates a directory and those above it, unless they are there.
pub(crate) fn make_directory(path: &Path) -> Result<(), SetupError> {
    DirBuilder::new().recursive(true).mode(0o755).create(path).map_err(failed("created", path))
}

/// Makes a file hold this text, at once and whole.
pub(crate) fn write(path: &Path, text: &str) -> Result<Change, SetupError> {
    let change = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => match fs::read(path) {
            Ok(there) if there == text.as_bytes() => return Ok(Change::Unchanged),
            _ => Change::Replaced,
        },
        Ok(_) => Change::Replaced,
        Err(_) => Change::Created,
    };
    let put = || -> io::Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix(".new-")
            .permissions(Permissions::from_mode(0o644))
            .tempfile_in(path.parent().unwrap_or(Path::new(".")))?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_data()?;
        file.persist(path)?;
        Ok(())
    };
    put().map_err(failed("written", path)).map(|()| change)
}

/// Refuses what is in the place of a link and is none.
pub(crate) fn refuse_non_link(path: &Path) -> Result<(), SetupError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_symlink() => Err(SetupError::NotALink(path.to_owned())),
        _ => Ok(()),
    }
}

/// Makes a link point to this target.
pub(crate) fn link(path: &Path, target: &Path) -> Result<Change, SetupError> {
    let change = match fs::read_link(path) {
        Ok(there) if there == target => return Ok(Change::Unchanged),
        Ok(_) => Change::Replaced,
        Err(_) => Change::Created,
    };
    let put = || -> io::Result<()> {
        let link = tempfile::Builder::new()
            .prefix(".new-")
            .make_in(path.parent().unwrap_or(Path::new(".")), |path| symlink(target, path))?;
        link.into_temp_path().persist(path)?;
        Ok(())
    };
    put().map_err(failed("created", path)).map(|()| change)
}

/// Removes a file or a link. Returns whether there was one.
pub(crate) fn remove(path: &Path) -> Result<bool, SetupError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed("removed", path)(error)),
    }
}

/// Removes a directory if nothing is in it. Returns whether it is gone.
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
