//! Files that appear once, whole, and private.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::StoreError;

/// How the name of an unfinished file begins.
const UNFINISHED: &str = ".new-";

/// Creates a file that only its owner can read, and that must not exist yet.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(path)
}

/// Makes `contents` appear under `name`, whole and durable, unless there is such a file already.
///
/// The contents are synced before they get their name, so that no crash can show a torn file, and
/// the directory afterwards, so that a result that was reported is still there after a power cut.
pub(crate) fn write_once(directory: &Path, name: &str, contents: &[u8]) -> Result<(), StoreError> {
    let path = directory.join(name);
    let write = |directory: &Path| -> io::Result<()> {
        // `tempfile` creates files with mode 0600.
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(directory)?;
        file.write_all(contents)?;
        file.as_file().sync_data()?;
        file.persist_noclobber(&path).map_err(|error| error.error)?;
        // The file has its name now, so that this is no failure to write it.
        let _ = File::open(directory).and_then(|directory| directory.sync_all());
        Ok(())
    };
    write(directory).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => StoreError::AlreadyEnded(directory.to_owned()),
        _ => StoreError::Io { action: "written", path: directory.join(name), source },
    })
}

/// Makes `contents` appear, whole and durable, under the first of the numbered names that is free.
/// Returns its number, or nothing if all are taken. However many programs write at a time, each gets a
/// number of its own, and no number is left out.
pub(crate) fn write_first_free(
    directory: &Path,
    numbers: RangeInclusive<u64>,
    name: impl Fn(u64) -> String,
    contents: &[u8],
) -> Result<Option<u64>, StoreError> {
    let write = || -> io::Result<Option<u64>> {
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(directory)?;
        file.write_all(contents)?;
        file.as_file().sync_data()?;
        for number in numbers.clone() {
            let path = directory.join(name(number));
            if path.symlink_metadata().is_ok() {
                continue;
            }
            match file.persist_noclobber(&path) {
                Ok(_) => {
                    let _ = File::open(directory).and_then(|directory| directory.sync_all());
                    return Ok(Some(number));
                }
                Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                    file = error.file;
                }
                Err(error) => return Err(error.error),
            }
        }
        Ok(None)
    };
    write().map_err(StoreError::io("written", directory.join(name(*numbers.start()))))
}

/// Removes unfinished files of programs that were killed. The caller must be the only program that
/// writes to the directory.
pub(crate) fn remove_unfinished(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(UNFINISHED.as_bytes()) {
            // A file that stays does no harm, and it may have gone with its directory.
            let _ = fs::remove_file(entry.path());
        }
    }
}
