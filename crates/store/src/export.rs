//! Files for people, made from what is kept.

use std::io::{self, Write};
use std::path::Path;

use crate::StoreError;

/// Makes a file of the user's choice hold this text, at once and whole. Only its owner can read it:
/// what agents were told and have said is nobody else's business.
pub fn write_export(path: &Path, text: &str) -> Result<(), StoreError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = parent.unwrap_or(Path::new("."));
    let write = || -> io::Result<()> {
        // Temporary files of this kind are created with mode 0600.
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(directory)?;
        file.write_all(text.as_bytes())?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(StoreError::io("written", path))
}
