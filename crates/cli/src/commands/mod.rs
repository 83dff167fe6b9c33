//! One file for each command.

pub(crate) mod agent;
pub(crate) mod background;
pub(crate) mod bridge;
pub(crate) mod completions;
pub(crate) mod definition;
pub(crate) mod delegate;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod man;
pub(crate) mod mcp;
mod profile_edit;
pub(crate) mod run;
pub(crate) mod sessions;
pub(crate) mod setup;
pub(crate) mod supervise;
mod tasks;
pub(crate) mod view;
pub(crate) mod watch;

use model::variables;

pub(crate) use sessions::age;

use crate::error::CommandError;

/// Whether this process runs inside a sub-agent.
pub(crate) fn is_child() -> bool {
    std::env::var_os(variables::CHILD).is_some_and(|value| value == "1")
}

/// Without this, agents could start agents without end.
pub(crate) fn refuse_in_child() -> Result<(), CommandError> {
    if is_child() {
        return Err(CommandError::usage("a sub-agent cannot start sub-agents")
            .hint(format!("this process runs inside a sub-agent ({}=1)", variables::CHILD)));
    }
    Ok(())
}
