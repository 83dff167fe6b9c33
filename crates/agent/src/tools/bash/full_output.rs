//! The whole output of a command, which becomes a file if it is too long for the model.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use model::Redactor;

/// The output is kept in memory first, and then in a file that only the user can read, without the
/// secrets of the run. The file is removed unless it is kept.
#[derive(Debug, Default)]
pub(super) struct FullOutput {
    storage: Storage,
    is_kept: bool,
    redactor: Redactor,
    /// What is not written yet, because a secret may have begun in it.
    pending: Vec<u8>,
}

/// How much output is looked at at once.
const WINDOW: usize = 64 * 1024;
/// How many bytes of escape sequences may be within a secret.
const SEQUENCES: usize = 4 * 1024;

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
    pub(super) fn new(redactor: Redactor) -> FullOutput {
        FullOutput { redactor, storage: Storage::default(), is_kept: false, pending: Vec::new() }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        match &mut self.storage {
            Storage::Memory(memory) => memory.extend_from_slice(bytes),
            Storage::File(..) if self.redactor.is_empty() => self.write(bytes),
            Storage::File(..) => {
                self.pending.extend_from_slice(bytes);
                if self.pending.len() >= WINDOW {
                    let pending = std::mem::take(&mut self.pending);
                    let mut hidden = self.redactor.part(&pending).into_owned();
                    // What is shorter than this cannot hold a whole secret.
                    let kept = hidden.len().min(self.redactor.longest() + SEQUENCES);
                    self.pending = hidden.split_off(hidden.len() - kept);
                    self.write(&hidden);
                }
            }
            Storage::Lost(_) => {}
        }
    }

    /// Moves the output to a file in the directory, if it is still in memory.
    pub(super) fn spill(&mut self, directory: &Path) {
        let Storage::Memory(memory) = &mut self.storage else { return };
        let memory = std::mem::take(memory);
        self.storage = match create(directory) {
            Ok((path, file)) => Storage::File(path, file),
            Err(error) => Storage::Lost(error.to_string()),
        };
        self.push(&memory);
    }

    /// Ends the output.
    pub(super) fn finish(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let hidden = self.redactor.bytes(&pending).into_owned();
        self.write(&hidden);
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Storage::File(path, file) = &mut self.storage
            && let Err(error) = file.write_all(bytes)
        {
            let _ = fs::remove_file(path);
            self.storage = Storage::Lost(error.to_string());
        }
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

fn create(directory: &Path) -> io::Result<(PathBuf, File)> {
    let id = uuid::Uuid::new_v4().simple().to_string();
    let path = directory.join(format!("pi-bash-{}.log", &id[..16]));
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    Ok((path, file))
}

#[cfg(test)]
mod tests {
    use model::Secrets;

    use super::*;

    #[test]
    fn a_secret_is_not_in_the_file_wherever_the_output_is_cut() {
        let mut secrets = Secrets::default();
        secrets.insert("KEY", "sk-0123456789abcdef".to_owned());
        let directory = tempfile::tempdir().unwrap();
        let dirty = "\u{1b}[31msk-\u{1b}[0m0123456789\u{202e}abcdef";
        for (position, length) in
            [(WINDOW - 5, 7_000), (WINDOW, 1), (WINDOW - 30, WINDOW), (10, 99)]
        {
            for spelled in ["sk-0123456789abcdef", dirty] {
                let mut output = FullOutput::new(Redactor::new(&secrets));
                output.spill(directory.path());
                let text = format!("{}{spelled}{}", "x".repeat(position), "y".repeat(2 * WINDOW));
                for piece in text.as_bytes().chunks(length) {
                    output.push(piece);
                }
                output.finish();
                let written = fs::read_to_string(output.path().unwrap()).unwrap();
                let expected = text.replace(spelled, "****");
                assert!(written == expected, "{position} {length} {spelled:?}");
            }
        }
    }
}
