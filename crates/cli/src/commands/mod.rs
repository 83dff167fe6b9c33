//! One file for each command.

pub(crate) mod agent;
pub(crate) mod answer;
pub(crate) mod background;
pub(crate) mod bridge;
pub(crate) mod changes;
pub(crate) mod completions;
pub(crate) mod definition;
mod definition_edit;
pub(crate) mod delegate;
mod demands;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod fits;
pub(crate) mod fleet;
mod fleet_server;
pub(crate) mod init;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod models;
pub(crate) mod named;
mod named_program;
pub(crate) mod relay;
pub(crate) mod run;
pub(crate) mod sessions;
pub(crate) mod setup;
pub(crate) mod status;
pub(crate) mod supervise;
mod tasks;
pub(crate) mod tell;
mod typed_paths;
pub(crate) mod view;
pub(crate) mod watch;
pub(crate) mod worker;

use std::time::SystemTime;

use ::agent::config::{process_variable, survey_keys};
use model::variables;
use plan::{Surroundings, SurroundingsError};

pub(crate) use sessions::age;

use crate::error::CommandError;

/// Whether this process runs inside a sub-agent.
pub(crate) fn is_child() -> bool {
    std::env::var_os(variables::CHILD).is_some_and(|value| value == "1")
}

/// The surroundings of a command that starts agents.
pub(crate) fn surroundings() -> Result<Surroundings, SurroundingsError> {
    let mut surroundings = Surroundings::of_this_process()?;
    if plan::needs_builtin_key(&surroundings) {
        let found = survey_keys(&surroundings.agent_dir, &process_variable, SystemTime::now());
        surroundings.has_builtin_key = found.keys.iter().any(|key| key.problem.is_none());
    }
    Ok(surroundings)
}

/// Without this, agents could start agents without end.
pub(crate) fn refuse_in_child() -> Result<(), CommandError> {
    if is_child() {
        return Err(CommandError::usage("a sub-agent cannot start sub-agents")
            .hint(format!("this process runs inside a sub-agent ({}=1)", variables::CHILD)));
    }
    Ok(())
}
