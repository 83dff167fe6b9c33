//! `mcp`: the server for clients of the Model Context Protocol.

use std::io;
use std::os::fd::AsFd;

use mcp::Offer;

use crate::commands::is_child;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(crate) fn mcp(printer: &Printer) -> Result<Exit, CommandError> {
    let failure = |error: &dyn std::fmt::Display| CommandError::failure(error.to_string());
    let input = io::stdin().as_fd().try_clone_to_owned().map_err(|error| failure(&error))?;
    let offer = if is_child() { Offer::OnlyLooking } else { Offer::Everything };
    let warn = |warning: &str| printer.warning(warning);
    mcp::serve(input, Box::new(io::stdout()), offer, &warn).map_err(|error| failure(&error))?;
    Ok(Exit::Completed)
}
