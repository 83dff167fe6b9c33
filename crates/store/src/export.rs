//! Exported sessions.

use std::io::{self, Write};
use std::path::Path;

use crate::StoreError;

/// Writes a file of the user's choice, replacing it in one step. Only its owner can read it: prompts
/// and answers are private.
pub fn write_export(path: &Path, text: &str) -> Result<(), StoreError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = parent.unwrap_or(Path::new("."));
    let write = || -> io::Result<()> {
        // `tempfile` creates files with mode 0600.
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(directory)?;
        file.write_all(text.as_bytes())?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(StoreError::io("written", path))
}
