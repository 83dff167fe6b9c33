//! `bridge`: the program behind pi's extension.

use std::io;
use std::os::fd::AsFd;

use crate::commands::surroundings;
use crate::error::{CommandError, Exit};

pub(crate) fn bridge() -> Result<Exit, CommandError> {
    bridge::serve_in(surroundings, io::stdin().as_fd(), Box::new(io::stdout()))
        .map_err(CommandError::failure)?;
    Ok(Exit::Completed)
}
