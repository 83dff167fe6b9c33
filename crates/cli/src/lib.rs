//! The `pi-subagents` program: arguments, commands, exit codes.
//!
//! This is the only crate that prints and exits.

mod arguments;
mod commands;
mod error;
mod printer;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};
use printer::Printer;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    process::settle_signals();
    let mut printer = Printer::new(arguments.is_plain());
    let done =
        match arguments.command {
            Command::Run(arguments) => commands::refuse_in_child()
                .and_then(|()| commands::run::run(arguments, &mut printer)),
            Command::Delegate(arguments) => commands::refuse_in_child()
                .and_then(|()| commands::delegate::delegate(&arguments, &mut printer)),
            Command::Profile(arguments) => commands::definition::profile(arguments, &printer),
            Command::Preset(arguments) => commands::definition::preset(arguments, &printer),
            Command::Sessions(arguments) => commands::sessions::sessions(arguments, &printer),
            Command::Supervise(arguments) => commands::refuse_in_child()
                .and_then(|()| commands::supervise::supervise(&arguments)),
        };
    match done {
        Ok(code) => code.into(),
        Err(error) => {
            printer.stop_listening();
            printer.error(&error);
            error.exit_code().into()
        }
    }
}
