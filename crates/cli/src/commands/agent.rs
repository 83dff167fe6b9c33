//! `agent`: the built-in agent, started like pi.

use std::io::{self, BufWriter, IsTerminal};
use std::process::ExitCode;

use agent::invocation::Mode;
use agent::{Ending, RunInputs};
use plan::Surroundings;
use process::Notice;

use super::run::read_standard_input;
use crate::arguments::Agent;
use crate::error::CommandError;
use crate::printer::Printer;

pub(crate) fn agent(arguments: Agent, printer: &Printer) -> Result<ExitCode, CommandError> {
    // First of all: nothing that is started from here on may see the key.
    let profile_key = agent::take_profile_key();
    process::name_process();
    if let Some(path) = arguments.extension() {
        return Err(CommandError::usage(format!(
            "the built-in agent cannot load the extension {path:?}: extensions are programs for pi"
        ))
        .hint("leave it out, or use `--agent pi`"));
    }
    let piped =
        if io::stdin().is_terminal() { None } else { Some(read_standard_input("the prompt")?) };
    let invocation = arguments.invocation(piped);
    let surroundings = Surroundings::of_this_process()?;
    let inputs = RunInputs {
        surroundings: &surroundings,
        profile_key,
        output: BufWriter::with_capacity(64 * 1024, io::stdout()),
        warn: &mut |warning| printer.warning(warning),
        give_up: Box::new(give_up),
    };
    let report = agent::run(&invocation, inputs).map_err(CommandError::usage)?;
    match report.ending {
        Ending::Answered(text) => {
            if invocation.mode == Mode::Text {
                printer.answer(&text)?;
            }
            Ok(ExitCode::SUCCESS)
        }
        // As with pi, the stream has said it, and there is nothing wrong with the stream.
        Ending::Failed(_) if invocation.mode == Mode::Json => Ok(ExitCode::SUCCESS),
        Ending::Failed(reason) => Err(CommandError::failure(reason)),
        Ending::Stopped => Ok(report
            .stopped_by
            .map_or(ExitCode::FAILURE, |notice| ExitCode::from(stopped_code(notice)))),
        Ending::OutputClosed(reason) => {
            Err(CommandError::failure(format!("standard output cannot be written: {reason}")))
        }
    }
}

/// The thread that prints waits for a reader who does not read, so nothing can be said any more.
#[expect(clippy::exit, clippy::disallowed_methods, reason = "no other thread can be woken")]
fn give_up(notice: Notice) {
    std::process::exit(stopped_code(notice).into())
}

/// What shells make of a process that a signal has ended.
fn stopped_code(notice: Notice) -> u8 {
    match notice {
        Notice::Hangup => 129,
        Notice::Interrupt => 130,
        Notice::Terminate | Notice::ChildEnded => 143,
    }
}
