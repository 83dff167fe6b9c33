//! A wall clock that can be set, for the programs of a test.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::clean_start::clean_command;

/// A clock that is as wrong as a test wants. Programs that are linked with another C library than the system's do not see it.
#[derive(Debug)]
pub struct Clock {
    /// By how many seconds it is wrong.
    path: PathBuf,
    offset: File,
    object: PathBuf,
}

impl Clock {
    /// Compiles it into this directory. A machine that can link Rust programs has a compiler for C.
    pub fn new(directory: &Path) -> io::Result<Clock> {
        let [source, object, path] =
            ["clock.c", "clock.so", "clock"].map(|name| directory.join(name));
        fs::write(&source, include_str!("clock.c"))?;
        let mut compile = clean_command("cc");
        compile.args(["-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o"]).arg(&object);
        let compiled = compile.arg(&source).output()?;
        if !compiled.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&compiled.stderr).into_owned()));
        }
        fs::write(&path, 0_i64.to_ne_bytes())?;
        let offset = File::options().write(true).open(&path)?;
        Ok(Clock { path, offset, object })
    }

    /// Lets a command, and everything that it starts, read this clock.
    pub fn offer(&self, command: &mut Command) {
        command.env("TEST_CLOCK", &self.path).env("LD_PRELOAD", &self.object);
    }

    /// Makes it wrong by so many seconds, for all programs at the same moment.
    pub fn set(&self, seconds: i64) -> io::Result<()> {
        self.offset.write_all_at(&seconds.to_ne_bytes(), 0)
    }
}
