//! A task of another machine, planned with the agents, keys and limits of this one.

use std::path::Path;

use model::{AgentKind, Isolation, Lifetime, Limits, Owner, OwnerKind, Plan, RunId};
use plan::{
    AgentChoice, ContinuedSession, DefinitionKind, PlanOptions, Surroundings, Task, Workspace,
    definition_of_text, plan_tasks,
};

use super::WorkerOptions;
use crate::TaskMessage;

/// What became of a task when it was planned.
pub(super) enum Planned {
    /// It can run.
    Ready(Box<Plan>),
    /// Another worker may have what it needs.
    NotHere(String),
    /// No worker can run it.
    Refused(String),
}

/// Plans a task that works in this directory. With a snapshot, the directory is in a repository that has its commit.
pub(super) fn plan_task(
    options: &WorkerOptions,
    message: &TaskMessage,
    directory: &Path,
) -> Planned {
    try_plan(options, message, directory).unwrap_or_else(|problem| problem)
}

fn try_plan(
    options: &WorkerOptions,
    message: &TaskMessage,
    directory: &Path,
) -> Result<Planned, Planned> {
    let refused = |error: &dyn std::fmt::Display| Planned::Refused(error.to_string());
    let remote = &message.task;
    let surroundings = Surroundings { cwd: directory.to_owned(), ..options.surroundings.clone() };
    let mut workspace = Workspace::load(surroundings, None);
    let (mut profile, mut preset) = (None, None);
    let mut has_commands = remote.check.is_some();
    if let Some(sent) = &remote.definition {
        let kind = if sent.is_preset { DefinitionKind::Preset } else { DefinitionKind::Profile };
        let definition = definition_of_text(kind, &sent.text);
        let definition = definition.map_err(|problem| {
            Planned::Refused(format!("the {} of the task cannot be used: {problem}", kind.word()))
        })?;
        let configuration = &definition.configuration;
        has_commands |= definition.prepare.is_some()
            || definition.check.is_some()
            || !configuration.extra_args.is_empty()
            || !configuration.extensions.is_empty();
        let name = Some(definition.name.clone());
        match kind {
            DefinitionKind::Profile => {
                profile = name;
                workspace.profiles.insert(definition);
            }
            DefinitionKind::Preset => {
                preset = name;
                workspace.presets.insert(definition);
            }
        }
    }
    if has_commands && !options.allows_commands {
        return Err(Planned::NotHere(
            "it names commands to prepare or check the work, or arguments for the agent, and this worker runs none \
             (--allow-prepare)"
                .to_owned(),
        ));
    }
    let agent = AgentChoice::new(None, &workspace.surroundings, &workspace.settings);
    let task = Task {
        name: remote.name.clone(),
        prompt: remote.task.clone(),
        cwd: Some(directory.to_string_lossy().into_owned()),
        profile,
        preset,
        model: remote.model.clone(),
        fallback_models: remote.fallback_models.clone(),
        agent: remote.agent.clone(),
        schema: remote.schema.clone(),
        check: remote.check.clone(),
        check_timeout: remote.check_timeout,
        budget: remote.limits.budget,
        ..Task::default()
    };
    // The commit of the snapshot is kept like the result of a run of that name.
    let snapshot = message.snapshot.as_ref().map(|snapshot| RunId::parse(&snapshot.commit));
    let session = ContinuedSession {
        id: message.session_id.clone(),
        prompt: remote.prompt.clone(),
        access: Some(options.access),
        agent: None,
        worktree: snapshot.transpose().map_err(|error| refused(&error))?,
    };
    let planning = PlanOptions {
        access: remote.access.map(|access| access.min(options.access)),
        ask: remote.ask,
        isolation: session.worktree.is_some().then_some(Isolation::Worktree),
        agent_version: runner::agent_version,
        ..PlanOptions::new(
            agent.map_err(|error| refused(&error))?,
            Owner { kind: OwnerKind::Shell, id: None },
            Lifetime::Foreground,
        )
    };
    let planned = plan_tasks(&workspace, &planning, [(task, Some(session))]);
    let planned = planned.map_err(|error| refused(&error))?.tasks.pop();
    let mut planned = planned.ok_or_else(|| refused(&"it could not be planned"))?;
    if let Some(missing) = &planned.missing_agent {
        return Err(Planned::NotHere(format!(
            "the agent \"{}\" is not installed here",
            missing.word()
        )));
    }
    let kind = planned.plan.meta.agent.clone();
    if !offers(options.agents.as_deref(), kind.as_ref()) {
        let word = kind.as_ref().map_or("", |kind| kind.word());
        return Err(Planned::NotHere(format!(
            "this worker does not offer the agent \"{word}\" (--agents)"
        )));
    }
    if let Some(plan::Refusal::UnknownAgent(unknown)) = &planned.refusal {
        return Err(Planned::NotHere(unknown.to_string()));
    }
    if let Some(refusal) = &planned.refusal {
        return Err(refused(refusal));
    }
    let meta = planned.plan.meta_mut();
    meta.limits = Limits { log_bytes: Limits::LOG_BYTES, ..remote.limits };
    Ok(Planned::Ready(planned.plan))
}

fn offers(offered: Option<&[String]>, kind: Option<&AgentKind>) -> bool {
    match (offered, kind) {
        (None, _) => true,
        (Some(offered), Some(kind)) => offered.iter().any(|name| name == kind.word()),
        (Some(_), None) => false,
    }
}
