//! What is written to a place of the user's choice: exported sessions, and answers.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use model::paths;

use crate::StoreError;

/// Makes a directory for exported files, unless it is there.
pub fn create_export_directory(path: &Path) -> Result<(), StoreError> {
    fs::create_dir_all(path).map_err(StoreError::io("created", path))
}

/// Writes to a path of the user's choice. A plain file, or a link to one, which a cloned project may
/// have planted, is replaced in one step, and only its owner can read it: prompts and answers are
/// private. Anything else, such as a pipe, a device or `/dev/stdout`, stays what it is and is written
/// to.
pub fn write_export(path: &Path, text: impl AsRef<[u8]>) -> Result<(), StoreError> {
    let text = text.as_ref();
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = parent.unwrap_or(Path::new("."));
    // What a link of the system leads to is not known by its path.
    let is_of_system = ["/dev", "/proc"].iter().any(|system| path.starts_with(system));
    let is_replaced =
        fs::metadata(path).map_or(true, |metadata| metadata.is_file() && !is_of_system);
    let write = || -> io::Result<()> {
        if !is_replaced {
            let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
            return file.write_all(text);
        }
        // `tempfile` creates files with mode 0600.
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(directory)?;
        file.write_all(text)?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(StoreError::io("written", path))
}

/// Writes a file for another program that reads it later, such as a browser, into a private temporary
/// directory of its own. It is left for the system to clean up.
pub fn write_temporary_export(name: &str, text: &str) -> Result<PathBuf, StoreError> {
    let parent = std::env::temp_dir();
    let directory = tempfile::Builder::new()
        .prefix(paths::TEMPORARY_PREFIX)
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .map_err(StoreError::io("created", &parent))?;
    let path = directory.path().join(name);
    write_export(&path, text)?;
    // From here on the file stays.
    let _ = directory.keep();
    Ok(path)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Not everything below `/dev` is a device.
    #[test]
    fn a_new_file_in_shared_memory_is_written() {
        let directory = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = directory.path().join("report.html");
        write_export(&path, "one").unwrap();
        write_export(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
    }
}

/// Writes a file that only its owner can read, and that must not be there yet.
pub fn create_export(path: &Path, text: &str) -> Result<(), StoreError> {
    let write = || -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    write().map_err(StoreError::io("written", path))
}
