//! Exported sessions.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use crate::StoreError;

/// Writes to a path of the user's choice. A plain file, or a link to one, which a cloned project may
/// have planted, is replaced in one step, and only its owner can read it: prompts and answers are
/// private. Anything else, such as a pipe, a device or `/dev/stdout`, stays what it is and is written
/// to.
pub fn write_export(path: &Path, text: &str) -> Result<(), StoreError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = parent.unwrap_or(Path::new("."));
    // What a link of the system leads to is not known by its path.
    let is_of_system = ["/dev", "/proc"].iter().any(|system| path.starts_with(system));
    let is_replaced =
        !is_of_system && fs::metadata(path).map_or(true, |metadata| metadata.is_file());
    let write = || -> io::Result<()> {
        if !is_replaced {
            let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
            return file.write_all(text.as_bytes());
        }
        // `tempfile` creates files with mode 0600.
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(directory)?;
        file.write_all(text.as_bytes())?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(StoreError::io("written", path))
}
