//! What a task and its definition demand together: a budget, limits, a check, and a worktree.

use std::env;

use model::{Budget, Lifetime, Limits, ShellCommand, WorktreePlan, paths};

use super::inputs::TaskInputs;
use super::placement::WorktreeNeed;
use super::{Planner, Task, to_ms};
use crate::{Agent, Definition, Refusal, Scope};

/// How long a delegated task may run if it does not say.
const DEFAULT_TIMEOUT: f64 = 600.0;

impl Planner<'_> {
    /// When the agent is stopped, wherever it works.
    pub(super) fn limits(&self, inputs: &TaskInputs) -> Limits {
        let TaskInputs { task, definition, budget, .. } = inputs;
        let settings = &self.workspace.settings;
        // A profile that was not found has no limits.
        let is_found = task.profile.is_none() || definition.is_some();
        let is_foreground = self.options.lifetime == Lifetime::Foreground;
        let is_limited = task.preset.is_none() && is_found && is_foreground;
        let default_timeout = is_limited.then_some(DEFAULT_TIMEOUT);
        let timeout = inputs.preset().and_then(|preset| preset.timeout).or(default_timeout);
        Limits {
            timeout_ms: task.timeout.or(timeout).map(to_ms),
            extend_timeout_debounce_ms: to_ms(settings.extend_timeout_debounce),
            looping_tool_count: settings.looping_tool_count,
            question_timeout_ms: to_ms(settings.question_timeout),
            budget: *budget,
            log_bytes: Limits::LOG_BYTES,
        }
    }

    /// Whether a limit of money can be kept, if there is one. An agent elsewhere must tell what it costs, too.
    pub(super) fn check_price(&self, agent: &Agent, budget: Budget) -> Result<(), Refusal> {
        match (budget.lowered(self.options.budget).cost_usd, agent.protocol().cost_support()) {
            (Some(_), Err(reason)) => {
                Err(Refusal::NoPrice { agent: agent.kind().word().to_owned(), reason })
            }
            _ => Ok(()),
        }
    }

    /// The worktree of the task on this machine, if it has one.
    pub(super) fn worktree(
        &self,
        inputs: &TaskInputs,
        need: WorktreeNeed,
    ) -> Result<Option<Box<WorktreePlan>>, Refusal> {
        let TaskInputs { run_id, task, definition, session, .. } = inputs;
        let definition = definition.as_ref();
        let of_definition = definition.and_then(|definition| definition.isolation);
        let isolation = self.options.isolation.or(task.isolation).or(of_definition);
        let continues = session.as_ref().and_then(|session| session.worktree.clone());
        let has_worktree = match need {
            WorktreeNeed::IfAsked => isolation.is_some() || continues.is_some(),
            WorktreeNeed::Always => true,
            WorktreeNeed::Never => false,
        };
        if !has_worktree {
            return Ok(None);
        }
        let home = self.workspace.surroundings.home.as_deref();
        let worktrees = paths::worktrees(|name| env::var_os(name), home);
        let directory = worktrees.ok_or(Refusal::NoStateDirectory)?.join(run_id.as_str());
        let prepare = match need {
            WorktreeNeed::IfAsked => definition.and_then(preparation),
            // An agent elsewhere has it run there.
            WorktreeNeed::Always | WorktreeNeed::Never => None,
        };
        let shares_base = self.has_many_tasks && continues.is_none();
        Ok(Some(Box::new(WorktreePlan { directory, continues, shares_base, prepare })))
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
