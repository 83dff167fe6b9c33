//! What is not committed in the user's own working tree.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use crate::{Repository, WorkspaceError};

/// A file that is not as the last commit has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncommittedFile {
    #[expect(missing_docs, reason = "the name says it")]
    pub path: PathBuf,
    /// When it was written last, in milliseconds since 1970.
    pub written_at: u64,
}

/// The files that are there and not committed, untracked ones too. Nothing is written, and no repository inside is asked. Files
/// whose time is a whole second are left out: their file system may have rounded it.
pub fn uncommitted_files(
    repository: &Repository,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Vec<UncommittedFile>, WorkspaceError> {
    let args = [
        "status",
        "--porcelain",
        "-z",
        "--no-renames",
        "--untracked-files=all",
        "--ignore-submodules=all",
    ];
    let output = repository.git(is_stopped).bytes(&args)?;
    let files = listed_status(&output).filter_map(|name| {
        let path = repository.top.join(OsStr::from_bytes(name));
        let found = path.symlink_metadata().ok().filter(|found| !found.is_dir())?;
        let since = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        let written_at = u64::try_from(since.as_millis()).ok()?;
        (since.subsec_nanos() > 0).then_some(UncommittedFile { path, written_at })
    });
    Ok(files.collect())
}

/// Reads the names that `git status --porcelain -z --no-renames` lists.
pub fn listed_status(listing: &[u8]) -> impl Iterator<Item = &[u8]> {
    // Two letters and a blank come before the name.
    let names = listing.split(|byte| *byte == 0).filter_map(|entry| entry.get(3..));
    names.filter(|name| !name.is_empty())
}
