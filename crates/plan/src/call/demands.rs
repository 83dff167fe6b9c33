//! What a task and its definition demand together: a budget, a check, and a place of its own.

use std::env;

use model::{Budget, RunId, ShellCommand, WorktreePlan, paths};

use super::{ContinuedSession, Planner, Task, to_ms};
use crate::{Definition, Refusal, Scope};

impl Planner<'_> {
    /// The worktree in which the agent works, if it works in one: because the user, the task, its profile or its preset says
    /// so, or because the session did before.
    pub(super) fn worktree(
        &self,
        task: &Task,
        definition: Option<&Definition>,
        session: Option<&ContinuedSession>,
        run: &RunId,
        comes_back: Option<bool>,
    ) -> Result<Option<Box<WorktreePlan>>, Refusal> {
        if comes_back == Some(false) {
            return Ok(None);
        }
        let of_definition = definition.and_then(|definition| definition.isolation);
        let isolation = self.options.isolation.or(task.isolation).or(of_definition);
        let continues = session.and_then(|session| session.worktree.clone());
        if isolation.is_none() && continues.is_none() && comes_back.is_none() {
            return Ok(None);
        }
        let home = self.workspace.surroundings.home.as_deref();
        let worktrees = paths::worktrees(|name| env::var_os(name), home);
        let directory = worktrees.ok_or(Refusal::NoStateDirectory)?.join(run.as_str());
        // An agent elsewhere has it run there.
        let prepare = definition.filter(|_| comes_back.is_none()).and_then(preparation);
        Ok(Some(Box::new(WorktreePlan { directory, continues, prepare })))
    }
}

/// What the task may spend: as the user says for it or in an own profile or preset. That of a project can only lower it.
pub(super) fn budget(task: &Task, definition: Option<&Definition>) -> Budget {
    let Some((scope, of_definition)) =
        definition.and_then(|definition| Some((definition.scope, definition.budget?)))
    else {
        return task.budget;
    };
    match scope {
        Scope::Global => task.budget.or(of_definition),
        Scope::Project => task.budget.lowered(of_definition),
    }
}

/// The check of the task, else that of its profile or preset.
pub(super) fn check(task: &Task, definition: Option<&Definition>) -> Option<ShellCommand> {
    let of_definition = definition.and_then(|definition| definition.check.clone());
    let command = task.check.clone().or(of_definition)?;
    let seconds =
        task.check_timeout.or_else(|| definition.and_then(|definition| definition.check_timeout));
    Some(shell_command(command, seconds))
}

/// What is run in a new worktree before the agent.
fn preparation(definition: &Definition) -> Option<ShellCommand> {
    Some(shell_command(definition.prepare.clone()?, definition.prepare_timeout))
}

fn shell_command(command: String, seconds: Option<f64>) -> ShellCommand {
    ShellCommand { command, timeout_ms: seconds.map_or(ShellCommand::TIMEOUT_MS, to_ms) }
}
