//! The whole output of a command, which becomes a file if it is too long for the model.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// The output is kept in memory first, and then in a file that only the user can read. The file is
/// removed unless it is kept.
#[derive(Debug, Default)]
pub(super) struct FullOutput {
    storage: Storage,
    is_kept: bool,
}

#[derive(Debug)]
enum Storage {
    Memory(Vec<u8>),
    File(PathBuf, File),
    /// Writing failed, for this reason.
    Lost(String),
}

impl Default for Storage {
    fn default() -> Storage {
        Storage::Memory(Vec::new())
    }
}

impl FullOutput {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        match &mut self.storage {
            Storage::Memory(memory) => memory.extend_from_slice(bytes),
            Storage::File(path, file) => {
                if let Err(error) = file.write_all(bytes) {
                    let _ = fs::remove_file(path);
                    self.storage = Storage::Lost(error.to_string());
                }
            }
            Storage::Lost(_) => {}
        }
    }

    /// Moves the output to a file in the directory, if it is still in memory.
    pub(super) fn spill(&mut self, directory: &Path) {
        let Storage::Memory(memory) = &self.storage else { return };
        self.storage = match create(directory, memory) {
            Ok((path, file)) => Storage::File(path, file),
            Err(error) => Storage::Lost(error.to_string()),
        };
    }

    pub(super) fn path(&self) -> Option<&Path> {
        match &self.storage {
            Storage::File(path, _) => Some(path),
            _ => None,
        }
    }

    /// Keeps the file, and returns its path, or why there is none.
    pub(super) fn keep(&mut self) -> String {
        match &self.storage {
            Storage::File(path, _) => {
                self.is_kept = true;
                path.display().to_string()
            }
            Storage::Lost(reason) => format!("could not be saved ({reason})"),
            Storage::Memory(_) => String::new(),
        }
    }
}

impl Drop for FullOutput {
    fn drop(&mut self) {
        if let Storage::File(path, _) = &self.storage
            && !self.is_kept
        {
            let _ = fs::remove_file(path);
        }
    }
}

fn create(directory: &Path, beginning: &[u8]) -> io::Result<(PathBuf, File)> {
    let id = uuid::Uuid::new_v4().simple().to_string();
    let path = directory.join(format!("pi-bash-{}.log", &id[..16]));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    if let Err(error) = file.write_all(beginning) {
        let _ = fs::remove_file(&path);
        return Err(error);
    }
    Ok((path, file))
}
