//! `setup`: connects other programs to this one.

mod client;
mod pi;

use std::env;
use std::path::{Path, PathBuf};

use super::named_program::NamedProgram;
use crate::arguments::{NAME, Setup, SetupCommand};
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(crate) fn setup(arguments: &Setup, printer: &Printer) -> Result<Exit, CommandError> {
    match &arguments.command {
        SetupCommand::Pi(arguments) => pi::setup_pi(arguments, printer),
        SetupCommand::Client(arguments) => client::setup_client(arguments, printer),
    }
    .map(|()| Exit::Completed)
}

pub(super) fn own_file() -> Result<PathBuf, CommandError> {
    let failure = |why: &str| {
        CommandError::failure(format!("cannot find the file of this program: {why}"))
            .hint("start the program again, by its path")
    };
    let path = env::current_exe().map_err(|error| failure(&error.to_string()))?;
    if path.is_file() { Ok(path) } else { Err(failure("it was moved or removed")) }
}

/// Whether the name of this program, looked up in these directories, leads to its file.
pub(super) fn is_found_by_name(
    own_file: &Path,
    search_path: impl IntoIterator<Item = PathBuf>,
) -> bool {
    let files = search_path.into_iter().map(|directory| directory.join(NAME));
    let first = files.into_iter().find(|path| path.is_file());
    first.and_then(|path| path.canonicalize().ok()) == own_file.canonicalize().ok()
}

/// Warns that the hints name a command that is the program of another project.
fn warn_of_another(named: &NamedProgram, own_file: &Path, printer: &Printer) {
    if matches!(named, NamedProgram::Other { .. }) {
        let own = own_file.display();
        printer.warning(&format!("{named}; start this program as {own}"));
    }
}
