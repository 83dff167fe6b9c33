//! `supervise`: the process that owns a run.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use crate::arguments::Supervise;
use crate::error::{CommandError, Exit};

pub(crate) fn supervise(arguments: &Supervise) -> Result<Exit, CommandError> {
    let lifeline = arguments.lifeline.then(|| {
        let socket = std::io::stdin().as_fd().try_clone_to_owned()?;
        Ok::<_, std::io::Error>(UnixStream::from(socket))
    });
    let lifeline = lifeline
        .transpose()
        .map_err(|error| CommandError::failure(format!("the lifeline is missing: {error}")))?;
    runner::supervise(&arguments.run_dir, lifeline)
        .map_err(|error| CommandError::failure(error.to_string()))?;
    Ok(Exit::Completed)
}
