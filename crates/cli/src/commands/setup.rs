//! `setup`: what other programs get of this one.

mod client;
mod pi;

use std::env;
use std::path::PathBuf;

use setup::SetupError;

use crate::arguments::{Setup, SetupCommand};
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(crate) fn setup(arguments: &Setup, printer: &Printer) -> Result<Exit, CommandError> {
    match &arguments.command {
        SetupCommand::Pi(arguments) => pi::setup_pi(arguments, printer),
        SetupCommand::Client(arguments) => client::setup_client(arguments, printer),
    }
    .map(|()| Exit::Completed)
}

/// The file of this program, by a path that lasts.
fn own_file() -> Result<PathBuf, CommandError> {
    let failure = |why: &str| {
        CommandError::failure(format!("the file of this program cannot be told: {why}"))
            .hint("start it once more, by its path")
    };
    let path = env::current_exe().map_err(|error| failure(&error.to_string()))?;
    if path.is_file() { Ok(path) } else { Err(failure("it was moved or removed")) }
}

impl From<SetupError> for CommandError {
    fn from(error: SetupError) -> CommandError {
        if error.is_refusal() {
            CommandError::usage(error).hint("move it away, and try again")
        } else {
            CommandError::failure(error)
        }
    }
}
