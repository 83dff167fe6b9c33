//! A place on the disk for targets that read files.

use std::fs;
use std::path::{Path, PathBuf};

use plan::Surroundings;
use tempfile::TempDir;

/// A directory that is gone with its thread. One for all inputs, because making it anew for each would
/// be most of the work.
pub(crate) struct Place {
    top: TempDir,
}

impl Place {
    /// An empty directory, in memory where that is possible.
    pub(crate) fn new() -> Place {
        let memory = Path::new("/dev/shm");
        let made = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir());
        assert!(made.is_ok(), "no directory could be made: {made:?}");
        let top = made.unwrap_or_else(|_| unreachable!("it was asserted"));
        Place { top }
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

    /// A caller in the directory `project`, whose agent directory is `agent`. No agent can be found
    /// from there, so that nothing can be started.
    pub(crate) fn surroundings(&self) -> Surroundings {
        Surroundings {
            cwd: self.top.path().join("project"),
            home: Some(self.top.path().to_owned()),
            agent_dir: self.top.path().join("agent"),
            agent: Some("[]".to_owned()),
            pi: None,
            search_path: Vec::new(),
        }
    }
}

/// The parts of an input that stands for several files: they are separated by the character that
/// ASCII has for it.
pub(crate) fn parts(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    data.split(|byte| *byte == 0x1e)
}
