//! `supervise`: the supervisor process of a run.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use crate::arguments::Supervise;
use crate::error::{CommandError, Exit};

pub(crate) fn supervise(arguments: &Supervise) -> Result<Exit, CommandError> {
    if let Some(limit) = arguments.open_files {
        process::limit_open_files(limit);
    }
    let lifeline = arguments.lifeline.then(|| socket(io::stdin())).transpose();
    let screen = arguments.screen.then(|| socket(io::stdout())).transpose();
    let missing = |what: &str, error| CommandError::failure(format!("{what} is missing: {error}"));
    let lifeline = lifeline.map_err(|error| missing("the lifeline", error))?;
    let screen = screen.map_err(|error| missing("the screen", error))?;
    runner::supervise(&arguments.run_dir, lifeline, screen).map_err(CommandError::failure)?;
    Ok(Exit::Completed)
}

fn socket(stream: impl AsFd) -> io::Result<UnixStream> {
    stream.as_fd().try_clone_to_owned().map(UnixStream::from)
}
