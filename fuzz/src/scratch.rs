//! A directory for targets that read files.

use std::fs;
use std::path::{Path, PathBuf};

use plan::Surroundings;
use tempfile::TempDir;

/// A directory that is removed at the end of its thread. All inputs share it: making a new one for each would
/// take most of the time.
pub(crate) struct Scratch {
    top: TempDir,
}

impl Scratch {
    /// An empty directory, in memory where that is possible.
    pub(crate) fn new() -> Scratch {
        let memory = Path::new("/dev/shm");
        let made = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir());
        assert!(made.is_ok(), "no directory could be made: {made:?}");
        let top = made.unwrap_or_else(|_| unreachable!("it was asserted"));
        Scratch { top }
    }

    pub(crate) fn path(&self) -> &Path {
        self.top.path()
    }

    /// Writes a file, with the directories that it needs.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.top.path().join(name);
        let written = fs::write(&path, bytes).or_else(|_| {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(&path, bytes)
        });
        assert!(written.is_ok(), "{} could not be written: {written:?}", path.display());
        path
    }

    /// The surroundings of a caller in the directory `project`, with the agent directory `agent`. They name no
    /// agent, so that nothing can be started.
    pub(crate) fn surroundings(&self) -> Surroundings {
        Surroundings {
            home: Some(self.top.path().to_owned()),
            agent: Some("[]".to_owned()),
            ..Surroundings::new(self.top.path().join("project"), self.top.path().join("agent"))
        }
    }
}

/// The parts of an input that stands for several files, separated by the record separator of ASCII.
pub(crate) fn parts(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    data.split(|byte| *byte == 0x1e)
}
