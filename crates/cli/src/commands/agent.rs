//! `agent`: the built-in agent, with pi's arguments.

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
    // First of all, so that no other process reads the key, and none started later inherits it.
    process::hide_memory();
    let profile_key = agent::take_profile_key();
    process::name_process();
    if let Some(path) = arguments.extension() {
        return Err(CommandError::usage(format!(
            "the built-in agent cannot load the extension {path:?}: extensions are programs for pi"
        ))
        .hint("leave the extension out, or use `--agent pi`"));
    }
    let piped = if arguments.has_commands() || io::stdin().is_terminal() {
        None
    } else {
        Some(read_standard_input("the prompt")?)
    };
    let invocation = arguments.invocation(piped);
    let surroundings = Surroundings::of_this_process()?;
    let inputs = RunInputs {
        surroundings: &surroundings,
        profile_key,
        output: BufWriter::with_capacity(64 * 1024, io::stdout()),
        warn: &mut |warning| printer.warning(warning),
        give_up: Box::new(give_up),
        commands: Box::new(io::BufReader::new(io::stdin())),
    };
    let report = agent::run(&invocation, inputs).map_err(CommandError::usage)?;
    match report.ending {
        Ending::Answered(text) => {
            if invocation.mode == Mode::Text {
                printer.answer(&text)?;
            }
            Ok(ExitCode::SUCCESS)
        }
        // As in pi: the stream reports the error, and the stream itself is complete.
        Ending::Failed(_) if invocation.mode != Mode::Text => Ok(ExitCode::SUCCESS),
        Ending::Failed(reason) => Err(CommandError::failure(reason)),
        // The end of its input is how it is told that nothing more is wanted.
        Ending::Stopped if invocation.mode == Mode::Rpc && report.stopped_by.is_none() => {
            Ok(ExitCode::SUCCESS)
        }
        Ending::Stopped => Ok(report
            .stopped_by
            .map_or(ExitCode::FAILURE, |notice| ExitCode::from(stopped_code(notice)))),
        Ending::OutputClosed(reason) => {
            Err(CommandError::failure(format!("standard output cannot be written: {reason}")))
        }
    }
}

// An agent that is told to stop must have ended by itself before its supervisor kills it.
const _: () = assert!(agent::LAST_WORDS.as_millis() < runner::STOP_GRACE.as_millis());

/// The printing thread is blocked by a reader that does not read, so nothing more can be reported.
#[expect(clippy::exit, clippy::disallowed_methods, reason = "no other thread can be woken")]
fn give_up(notice: Notice) {
    std::process::exit(stopped_code(notice).into())
}

/// The exit code that a shell reports for a process killed by this signal.
fn stopped_code(notice: Notice) -> u8 {
    match notice {
        Notice::Hangup => 129,
        Notice::Interrupt => 130,
        Notice::Terminate | Notice::ChildEnded | Notice::Continued => 143,
    }
}
