//! Changing files: one call at a time, and never by halves.
//!
//! A file that exists is replaced by a new one under its name, so that neither a full disk nor a
//! kill in the middle leaves half of it. Where a new file would not be the same as the old one,
//! because that has other names, another owner or more than a mode, and where the directory takes
//! no new file, the old one is overwritten instead.

use std::collections::HashSet;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};

use super::ToolError;
use super::system_error;

/// The right to change one file, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn(PathBuf);

static TAKEN: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);
static GIVEN_BACK: Condvar = Condvar::new();

/// Waits until no other call of this process changes the file.
pub(super) fn take_turn(path: &Path) -> Turn {
    let file = real_path(path);
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    while !taken.get_or_insert_default().insert(file.clone()) {
        taken = GIVEN_BACK.wait(taken).unwrap_or_else(PoisonError::into_inner);
    }
    Turn(file)
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        taken.get_or_insert_default().remove(&self.0);
        GIVEN_BACK.notify_all();
    }
}

/// Makes the directories that the file needs.
pub(super) fn create_parents(path: &Path) -> Result<(), ToolError> {
    let Some(parent) = path.parent() else { return Ok(()) };
    fs::create_dir_all(parent).map_err(|error| system_error::on_path(&error, "mkdir", parent))
}

/// Gives the file this content.
pub(super) fn write(path: &Path, content: &[u8]) -> Result<(), ToolError> {
    let failed = |error: io::Error| system_error::on_path(&error, "open", path);
    // The file that a link leads to is the one that is meant.
    let Ok(target) = fs::canonicalize(path) else {
        return overwrite(path, content).map_err(failed);
    };
    let metadata = fs::metadata(&target).map_err(failed)?;
    if metadata.is_dir() {
        return Err(failed(io::Error::from_raw_os_error(rustix::io::Errno::ISDIR.raw_os_error())));
    }
    if !metadata.is_file() {
        return Err(not_regular(path));
    }
    // Whoever may not write to the file may often replace it; that is not what is meant.
    rustix::fs::access(&target, rustix::fs::Access::WRITE_OK)
        .map_err(|error| failed(error.into()))?;
    if is_replaceable(&target, &metadata)
        && let Some(new) = new_file_beside(&target, &metadata)
    {
        return replace(&target, new, content)
            .map_err(|error| system_error::on_path(&error, "write", path));
    }
    overwrite(&target, content).map_err(failed)
}

/// Something that has no content which could be read or written.
pub(super) fn not_regular(path: &Path) -> ToolError {
    ToolError(format!("Not a regular file: {}", path.display()))
}

/// Where the file is or will be, whatever its path leads through.
fn real_path(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(real) = fs::canonicalize(ancestor) {
            let rest = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
            // Joining nothing would add a slash.
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_owned()
}

fn is_replaceable(path: &Path, metadata: &Metadata) -> bool {
    let has_our_owner = metadata.uid() == rustix::process::geteuid().as_raw()
        && metadata.gid() == rustix::process::getegid().as_raw();
    metadata.nlink() == 1 && has_our_owner && !has_attributes(path)
}

/// Whether the file has access lists or notes that a new one would lack. What belongs to the
/// security of the system is not ours to keep; the system gives it to every new file.
fn has_attributes(path: &Path) -> bool {
    let mut names = vec![0; 64 * 1024];
    let Ok(length) = rustix::fs::listxattr(path, names.as_mut_slice()) else { return false };
    names
        .get(..length)
        .unwrap_or_default()
        .split(|byte| *byte == 0)
        .any(|name| !name.is_empty() && !name.starts_with(b"security."))
}

/// An empty file that nobody else can read before it has the mode of the old one, if the directory
/// takes it.
fn new_file_beside(path: &Path, metadata: &Metadata) -> Option<tempfile::NamedTempFile> {
    let new = tempfile::Builder::new().prefix(".pi-").tempfile_in(path.parent()?).ok()?;
    new.as_file().set_permissions(metadata.permissions()).ok()?;
    Some(new)
}

fn replace(path: &Path, mut new: tempfile::NamedTempFile, content: &[u8]) -> io::Result<()> {
    new.write_all(content)?;
    new.persist(path)?;
    Ok(())
}

fn overwrite(path: &Path, content: &[u8]) -> io::Result<()> {
    // Nobody who reads a pipe or a terminal can make us wait.
    let not_blocking = rustix::fs::OFlags::NONBLOCK.bits();
    let mut file: File = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .custom_flags(not_blocking.cast_signed())
        .open(path)?;
    file.write_all(content)
}
