//! Errors of commands (what happened, why, what to do) and exit codes.

mod of_libraries;

use std::fmt;
use std::process::ExitCode;

/// The exit codes that `--help` explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Completed = 0,
    TaskFailed = 1,
    Usage = 2,
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

#[derive(Debug)]
pub(crate) struct CommandError {
    message: String,
    pub(crate) hint: Option<String>,
    exit: Exit,
}

impl CommandError {
    /// The command line or the configuration is wrong.
    pub(crate) fn usage(message: impl fmt::Display) -> CommandError {
        CommandError { message: message.to_string(), hint: None, exit: Exit::Usage }
    }

    /// The command was right, but could not do its work.
    pub(crate) fn failure(message: impl fmt::Display) -> CommandError {
        CommandError { message: message.to_string(), hint: None, exit: Exit::TaskFailed }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> CommandError {
        self.hint = Some(hint.into());
        self
    }

    /// Says which part of the input is wrong.
    pub(crate) fn at(mut self, part: &str) -> CommandError {
        self.message = format!("{part}: {}", self.message);
        self
    }

    pub(crate) fn exit_code(&self) -> Exit {
        self.exit
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}
