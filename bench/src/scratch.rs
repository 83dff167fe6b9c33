//! The directory in which benchmarks work, and the programs that they start.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use xtask::{Invocation, target_directory};

const HOME: &str = "home";
const RUNTIME: &str = "runtime";
const TEMPORARY: &str = "temporary";

/// A directory in memory, so that the programs are measured and not a disk. Removed at the end.
pub(crate) struct Scratch {
    pub(crate) directory: PathBuf,
    programs: PathBuf,
}

impl Scratch {
    /// Makes the directory, and builds the programs of this repository as they are released.
    pub(crate) fn new() -> Result<Scratch, String> {
        Scratch::with_profile("release", "release")
    }

    /// The same with the programs of the tests, for what is not measured.
    pub(crate) fn with_test_programs() -> Result<Scratch, String> {
        Scratch::with_profile("dev", "debug")
    }

    fn with_profile(profile: &str, directory_of_profile: &str) -> Result<Scratch, String> {
        Invocation::new("cargo build --package pi-subagents --features test-fakes --profile")
            .word(profile)
            .run()
            .map_err(|error| format!("`cargo build` {error}"))?;
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { env::temp_dir() };
        let directory = parent.join(format!("pi-subagents-bench-{}", std::process::id()));
        let mut private = DirBuilder::new();
        private.recursive(true).mode(0o700);
        for name in [HOME, RUNTIME, TEMPORARY] {
            private.create(directory.join(name)).map_err(|error| error.to_string())?;
        }
        Ok(Scratch { directory, programs: target_directory().join(directory_of_profile) })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub(crate) fn subdirectory(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.path(name);
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    #[expect(clippy::disallowed_methods, reason = "what is measured is started directly")]
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.directory).env("HOME", self.path(HOME));
        // As on a machine with a session of its user, where locks are in memory, too.
        command.env("XDG_RUNTIME_DIR", self.path(RUNTIME)).env("TMPDIR", self.path(TEMPORARY));
        command
    }

    /// A project with a file to read, and settings that only our extension reads.
    pub(crate) fn project(&self, name: &str, subagents: &Value) -> Result<PathBuf, String> {
        let project = self.subdirectory(name)?;
        self.subdirectory(&format!("{name}/.pi"))?;
        let settings = json!({"subagents": subagents}).to_string();
        for (file, text) in
            [(".pi/settings.json", settings), ("notes.txt", "a line of notes\n".repeat(40))]
        {
            let path = project.join(file);
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(project)
    }

    /// One of the programs of this repository.
    pub(crate) fn our(&self, program: &str) -> Command {
        self.command(self.programs.join(program))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left in memory disappears when the machine restarts.
        let _ = fs::remove_dir_all(&self.directory);
    }
}
