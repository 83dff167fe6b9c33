//! `view`: the process in the tmux pane of a run.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use crate::error::{CommandError, Exit};

pub(crate) fn view(socket: &Path) -> Result<Exit, CommandError> {
    let viewed = io::stdout().as_fd().try_clone_to_owned();
    viewed
        .and_then(|terminal| runner::view_run(socket, &terminal))
        .map_err(|error| CommandError::failure(format!("cannot show the run: {error}")))?;
    Ok(Exit::Completed)
}
