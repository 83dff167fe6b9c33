//! The `pi-subagents` program: arguments, commands, exit codes.
//!
//! This is the only crate that prints and exits.

mod arguments;
mod browser;
mod candidates;
mod commands;
mod dialogs;
mod editor;
mod error;
mod live;
mod notification;
mod printer;
mod screen;
mod tellings;
mod terminal;

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::CompleteEnv;
use model::variables;

use arguments::{Arguments, Command};
use error::{CommandError, Exit};
use printer::Printer;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    // A shell asks for completions.
    let completion = CompleteEnv::with_factory(Arguments::command).var(variables::COMPLETE);
    let directory = std::env::current_dir().ok();
    match completion.try_complete(std::env::args_os(), directory.as_deref()) {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(_) => return Exit::Usage.into(),
    }
    let (mut printer, done) = match Arguments::read() {
        Ok(arguments) => {
            process::reset_signals();
            let mut printer = Printer::new(arguments.is_plain());
            let done = carry_out(arguments.command, &mut printer);
            (printer, done)
        }
        Err(error) if error.use_stderr() => error.exit(),
        Err(help) => (Printer::new(true), Printer::help(&help).map(|()| ExitCode::SUCCESS)),
    };
    done.unwrap_or_else(|error| {
        printer.stop_listening();
        printer.error(&error);
        error.exit_code().into()
    })
}

fn carry_out(command: Command, printer: &mut Printer) -> Result<ExitCode, CommandError> {
    if command.starts_agents() {
        commands::refuse_in_child()?;
    }
    // These write to it without the printer, and have nothing to do without a reader.
    if matches!(command, Command::Agent(_) | Command::Bridge | Command::Mcp)
        && process::was_stdout_closed()
    {
        return Err(CommandError::failure("standard output is closed, so no answer can be given"));
    }
    let exit = match command {
        Command::Demo(_) => commands::demo::demo(printer),
        Command::Run(arguments) => commands::run::run(arguments, printer),
        Command::Delegate(arguments) => commands::delegate::delegate(&arguments, printer),
        Command::Background(arguments) => commands::background::background(arguments, printer),
        Command::MachineStatus(arguments) => commands::status::status(&arguments, printer),
        Command::Watch(arguments) => commands::watch::watch(&arguments, printer),
        Command::Answer(arguments) => commands::answer::answer(&arguments, printer),
        Command::Changes(arguments) => commands::changes::changes(&arguments, printer),
        Command::Fleet(arguments) => commands::fleet::fleet(arguments.command, printer),
        Command::Tell(arguments) => commands::tell::tell(&arguments, printer),
        Command::Profile(arguments) => commands::definition::profile(arguments, printer),
        Command::Preset(arguments) => commands::definition::preset(arguments, printer),
        Command::Sessions(arguments) => commands::sessions::sessions(arguments, printer),
        Command::Init(arguments) => commands::init::init(&arguments, printer),
        Command::Models(arguments) => commands::models::models(&arguments, printer),
        Command::Setup(arguments) => commands::setup::setup(&arguments, printer),
        Command::Doctor(arguments) => commands::doctor::doctor(&arguments, printer),
        Command::Completions(arguments) => commands::completions::completions(&arguments, printer),
        Command::Man(arguments) => commands::man::man(&arguments, printer),
        Command::Agent(arguments) => return commands::agent::agent(*arguments, printer),
        Command::Bridge => commands::bridge::bridge(),
        Command::Mcp => commands::mcp::mcp(printer),
        Command::Worker(arguments) => commands::worker::worker(&arguments, printer),
        Command::Relay(arguments) => commands::relay::relay(&arguments),
        Command::Supervise(arguments) => commands::supervise::supervise(&arguments),
        Command::Fits => return commands::fits::fits(),
        Command::View { socket } => commands::view::view(&socket),
    };
    exit.map(ExitCode::from)
}
