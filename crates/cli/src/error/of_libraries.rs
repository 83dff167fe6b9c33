//! What the errors of our libraries are for a command: which exit code, and what to do.
//!
//! The same cause has the same exit code, however deep it is in another error.

use plan::{AgentError, SurroundingsError};
use runner::BackgroundError;
use setup::SetupError;
use store::StoreError;
use tools::{
    CallError, ChangesError, LauncherError, NameError, SessionError, StartError, ToolError,
};

use super::CommandError;
use crate::commands::named;

impl From<SurroundingsError> for CommandError {
    fn from(error: SurroundingsError) -> CommandError {
        CommandError::usage(error)
    }
}

impl From<AgentError> for CommandError {
    fn from(error: AgentError) -> CommandError {
        CommandError::usage(error)
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> CommandError {
        CommandError::failure(error)
    }
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

impl From<NameError> for CommandError {
    fn from(error: NameError) -> CommandError {
        let list = "`pi-subagents sessions list` lists the sessions of this project";
        named::refused(error, list)
    }
}

impl From<SessionError> for CommandError {
    fn from(error: SessionError) -> CommandError {
        match error {
            SessionError::NotFound(_) => CommandError::usage(error),
            SessionError::Store(error) => error.into(),
        }
    }
}

impl From<CallError> for CommandError {
    fn from(error: CallError) -> CommandError {
        match error {
            CallError::Agent(error) => error.into(),
            CallError::Session(error) => error.into(),
            CallError::Store(error) => error.into(),
            CallError::DirectoryGone(_)
            | CallError::Contradiction(_)
            | CallError::ResumeNotFound(_)
            | CallError::ResumeRunning(_)
            | CallError::ResumedTwice(_)
            | CallError::Id(_) => CommandError::usage(error),
        }
    }
}

impl From<LauncherError> for CommandError {
    fn from(error: LauncherError) -> CommandError {
        let refused = CommandError::usage(&error);
        match error.hint() {
            Some(hint) => refused.hint(hint),
            None => refused,
        }
    }
}

impl From<BackgroundError> for CommandError {
    fn from(error: BackgroundError) -> CommandError {
        match error {
            BackgroundError::Refused(refusal) => CommandError::usage(refusal),
            BackgroundError::Store(error) => CommandError::failure(format!(
                "a background run must be recorded: {error}"
            ))
            .hint("make the directory writable, or use `pi-subagents run`, which can do without"),
            error => CommandError::failure(error),
        }
    }
}

impl From<ChangesError> for CommandError {
    fn from(error: ChangesError) -> CommandError {
        match error {
            ChangesError::NoWorktree(_) => CommandError::usage(error)
                .hint("`pi-subagents changes list` lists the runs that have changes"),
            error => CommandError::failure(error),
        }
    }
}

impl From<ToolError> for CommandError {
    fn from(error: ToolError) -> CommandError {
        match error {
            ToolError::Call(error) => error.into(),
            ToolError::Session(error) => error.into(),
            ToolError::Store(error) => error.into(),
            ToolError::Launcher(error) => error.into(),
            ToolError::Changes(error) => error.into(),
            ToolError::Start(StartError::Background(error)) => error.into(),
            ToolError::UnknownSession { problem, similar } => {
                let list = "`pi-subagents sessions list` lists the sessions of this project";
                CommandError::usage(problem).hint(named::not_found_hint(&similar, list))
            }
            ToolError::Start(_)
            | ToolError::Wait(_)
            | ToolError::Stop(_)
            | ToolError::Tell(_)
            | ToolError::MessageRefused(_)
            | ToolError::Closed => CommandError::failure(error),
            ToolError::UnknownTool { .. }
            | ToolError::Argument(_)
            | ToolError::UnknownRun { .. }
            | ToolError::NoMessage => CommandError::usage(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::super::Exit;
    use super::*;

    fn store() -> StoreError {
        StoreError::Io { action: "read", path: "/runs".into(), source: io::Error::other("no") }
    }

    #[test]
    fn a_store_that_fails_is_a_failure_however_deep_it_is() {
        let errors: [CommandError; 7] = [
            store().into(),
            NameError::Store(store()).into(),
            ToolError::Store(store()).into(),
            ToolError::Session(SessionError::Store(store())).into(),
            ToolError::Call(CallError::Store(store())).into(),
            ToolError::Call(CallError::Session(SessionError::Store(store()))).into(),
            ToolError::Changes(ChangesError::Store(store())).into(),
        ];
        for error in errors {
            assert_eq!(error.exit_code(), Exit::TaskFailed, "{error}");
        }
    }

    #[test]
    fn what_the_user_can_spell_otherwise_is_usage() {
        let unknown = || "ab".to_owned();
        let errors: [CommandError; 5] = [
            NameError::NotInBackground(unknown()).into(),
            ToolError::Session(SessionError::NotFound(unknown())).into(),
            ToolError::Call(CallError::ResumeNotFound(unknown())).into(),
            ToolError::Changes(ChangesError::NoWorktree(unknown())).into(),
            ToolError::NoMessage.into(),
        ];
        for error in errors {
            assert_eq!(error.exit_code(), Exit::Usage, "{error}");
        }
    }
}
