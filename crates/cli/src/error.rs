//! Errors at the edge: what happened, why, and what to do next; and the exit codes.

use std::fmt;
use std::process::ExitCode;

use plan::{AgentError, SurroundingsError};
use store::StoreError;

/// The documented exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Every task completed.
    Completed = 0,
    /// A task failed.
    TaskFailed = 1,
    /// The command line or the configuration is wrong.
    Usage = 2,
    /// Interrupted by a signal.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) struct CommandError {
    message: String,
    hint: Option<String>,
    exit: Exit,
}

impl CommandError {
    pub(crate) fn usage(message: impl Into<String>) -> CommandError {
        CommandError { message: message.into(), hint: None, exit: Exit::Usage }
    }

    pub(crate) fn failure(message: impl Into<String>) -> CommandError {
        CommandError { message: message.into(), hint: None, exit: Exit::TaskFailed }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> CommandError {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn exit_code(&self) -> Exit {
        self.exit
    }

    pub(crate) fn what_to_do(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl From<SurroundingsError> for CommandError {
    fn from(error: SurroundingsError) -> CommandError {
        CommandError::usage(error.to_string())
    }
}

impl From<AgentError> for CommandError {
    fn from(error: AgentError) -> CommandError {
        CommandError::usage(error.to_string())
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> CommandError {
        CommandError::failure(error.to_string())
    }
}
