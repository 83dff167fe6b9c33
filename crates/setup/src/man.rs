//! Manual pages, where `man` finds them.

use std::path::{Path, PathBuf};

use crate::SetupError;
use crate::files::{self, Change};

/// Writes pages, by their file names, into a directory, which is made if it is not there.
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
