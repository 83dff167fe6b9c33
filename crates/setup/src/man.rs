//! Manual pages.

use std::path::{Path, PathBuf};

use crate::SetupError;
use crate::files::{self, Change};

/// Writes pages, given with their file names, into a directory, which is created if it is missing.
pub fn write_pages<'a>(
    directory: &Path,
    pages: impl IntoIterator<Item = (String, &'a str)>,
) -> Result<Vec<(PathBuf, Change)>, SetupError> {
    files::make_directory(directory)?;
    let written = pages.into_iter().map(|(name, text)| {
        let path = directory.join(name);
        let change = files::write(&path, text)?;
        Ok((path, change))
    });
    written.collect()
}
