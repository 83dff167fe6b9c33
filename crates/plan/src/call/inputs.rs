//! What is known about one task before it is decided where it is carried out.

use std::path::PathBuf;

use model::{Access, Budget, RunId};
use protocol::Configuration;

use super::{ContinuedSession, Task};
use crate::{Agent, Definition};

/// One task, with its profile or preset and with the session that it continues.
pub(super) struct TaskInputs {
    pub(super) run_id: RunId,
    pub(super) cwd: PathBuf,
    pub(super) task: Task,
    pub(super) agent: Agent,
    /// With what the task changes about it.
    pub(super) definition: Option<Definition>,
    /// The definition in a few words, also if it cannot be used.
    pub(super) summary: Option<String>,
    /// What the task says itself. It counts only without a definition.
    pub(super) plain: Configuration,
    pub(super) session: Option<ContinuedSession>,
    pub(super) access: Access,
    pub(super) budget: Budget,
    /// The model as it was written, where the list of models spells it in another way.
    pub(super) requested_model: Option<String>,
}

impl TaskInputs {
    /// How the agent is configured.
    pub(super) fn configuration(&self) -> &Configuration {
        self.definition.as_ref().map_or(&self.plain, |definition| &definition.configuration)
    }

    /// The definition, if the task names a preset and not a profile.
    pub(super) fn preset(&self) -> Option<&Definition> {
        self.definition.as_ref().filter(|_| self.task.preset.is_some())
    }

    /// The task's prompt, behind what was said before in its session.
    pub(super) fn prompt(&self) -> &str {
        self.session.as_ref().map_or(&self.task.prompt, |session| &session.prompt)
    }
}
