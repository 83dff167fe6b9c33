//! `mcp`: the server for MCP clients.

use std::io;
use std::os::fd::AsFd;

use mcp::Offer;

use crate::commands::{is_child, surroundings};
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(crate) fn mcp(printer: &Printer) -> Result<Exit, CommandError> {
    let input = io::stdin().as_fd().try_clone_to_owned().map_err(CommandError::failure)?;
    let offer = if is_child() { Offer::OnlyLooking } else { Offer::Everything };
    let warn = |warning: &str| printer.warning(warning);
    let surroundings = surroundings().map_err(CommandError::failure)?;
    mcp::serve_in(surroundings, input, Box::new(io::stdout()), offer, &warn)
        .map_err(CommandError::failure)?;
    Ok(Exit::Completed)
}
