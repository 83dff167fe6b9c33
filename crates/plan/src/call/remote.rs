//! A task that a machine of the fleet carries out: what is sent there, and the program that stands for its agent here.

use std::env;
use std::path::{Path, PathBuf};

use model::{
    Access, AgentKind, Argument, FleetPool, Limits, RemoteDefinition, RemoteTask, paths, variables,
};
use protocol::{Configuration, Invocation};

use super::inputs::TaskInputs;
use super::{Planner, Task, one_line};
use crate::access::AccessWishes;
use crate::agent_choice::AgentReason;
use crate::{
    Definition, DefinitionKind, FleetSettings, Refusal, Scope, Settings, Surroundings, Workspace,
    to_markdown, with_files,
};

/// The file of a run directory that holds what is sent.
const TASK_FILE: &str = "remote-task.json";

impl Planner<'_> {
    /// The pool of the fleet that carries out a task, or why there is no such pool; none if the task is carried out here.
    pub(super) fn pool(&self, inputs: &TaskInputs) -> Option<Result<FleetPool, Refusal>> {
        let of_definition =
            inputs.definition.as_ref().and_then(|definition| definition.on.as_deref());
        let of_task = inputs.task.on.as_deref().or(of_definition);
        match &self.options.on {
            Some(pool) => Some(Ok(pool.clone())),
            None => of_task.map(|word| Ok(FleetPool::parse(word)?)),
        }
    }

    /// What is sent to a machine of the fleet, without its limits.
    pub(super) fn remote_task(&mut self, inputs: &TaskInputs) -> Result<RemoteTask, Refusal> {
        let TaskInputs { task, cwd, .. } = inputs;
        let (definition, session) = (inputs.definition.as_ref(), inputs.session.as_ref());
        let agent = self.remote_agent(inputs)?;
        let sent = definition.map(|definition| self.remote_definition(task, definition));
        let own = definition.filter(|definition| definition.scope == Scope::Global);
        let wishes = AccessWishes {
            flag: self.options.access,
            limit: Access::Full,
            session: session.and_then(|session| session.access),
            definition: definition.and_then(|definition| definition.access),
            task: task.access,
        };
        let settings = self.workspace.settings.access;
        let own = own.and_then(|definition| definition.access);
        let limit = settings.or(own);
        let is_said = limit.is_some()
            || wishes.flag.or(wishes.session).or(wishes.definition).or(wishes.task).is_some();
        let wishes = AccessWishes { limit: limit.unwrap_or_default(), ..wishes };
        Ok(RemoteTask {
            name: one_line(&task.name),
            prompt: with_files(&task.files, cwd, inputs.prompt()),
            task: task.prompt.clone(),
            agent,
            definition: sent.transpose()?,
            model: task.model.clone().filter(|_| definition.is_none()),
            fallback_models: match definition {
                Some(_) => Vec::new(),
                None => task.fallback_models.clone(),
            },
            access: is_said.then(|| wishes.decide()),
            limits: Limits::default(),
            schema: task.schema.clone(),
            check: task.check.clone(),
            check_timeout: task.check_timeout,
            ask: self.asks(),
        })
    }

    /// The name of the agent that a task asks for; none if each machine may use what is usual there. A program cannot be
    /// asked for: what a worker starts is decided on the worker.
    fn remote_agent(&self, inputs: &TaskInputs) -> Result<Option<String>, Refusal> {
        let TaskInputs { task, agent, definition, session, .. } = inputs;
        let has_past = session.as_ref().is_some_and(|session| session.agent.is_some());
        let of_definition =
            definition.as_ref().is_some_and(|definition| definition.agent.is_some());
        let is_usual = !matches!(
            self.options.agent.reason(),
            AgentReason::Asked | AgentReason::Environment | AgentReason::Settings
        );
        if is_usual && task.agent.is_none() && !of_definition && !has_past {
            return Ok(None);
        }
        match agent.kind() {
            AgentKind::Program => Err(Refusal::RemoteProgram),
            kind => Ok(Some(kind.word().to_owned())),
        }
    }

    /// The definition of a task as another machine can use it.
    fn remote_definition(
        &mut self,
        task: &Task,
        definition: &Definition,
    ) -> Result<RemoteDefinition, Refusal> {
        let Configuration { api_key, extensions, .. } = &definition.configuration;
        let label = definition.label();
        if api_key.is_some() {
            return Err(Refusal::RemoteKey { definition: label });
        }
        if !extensions.is_empty() {
            return Err(Refusal::RemoteExtensions { definition: label });
        }
        let mut definition = definition.clone();
        // The texts of those that are loaded are a part of the system prompt by now.
        definition.load_skills.clear();
        if !definition.suggested_skills.is_empty() {
            definition.suggested_skills.clear();
            self.warnings.push(format!(
                "Task \"{}\", {label}: its suggested skills are files of this machine, and are not offered to an agent on \
                 another one",
                one_line(&task.name)
            ));
        }
        definition.on = None;
        Ok(RemoteDefinition {
            is_preset: definition.kind == DefinitionKind::Preset,
            name: definition.name.clone(),
            text: to_markdown(&definition),
        })
    }

    /// The program that stands for the agent here, with the task that it sends.
    pub(super) fn relay(&self, pool: &FleetPool, task: &RemoteTask) -> Result<Invocation, Refusal> {
        let Workspace { settings, surroundings, .. } = self.workspace;
        let named = named_server(settings, surroundings);
        let url = self.options.fleet.clone().or(named.url).ok_or(Refusal::NoFleet)?;
        let mut command = [paths::OWN_PROGRAM, "relay", "--pool", pool.name(), "--fleet"]
            .map(Argument::from)
            .to_vec();
        command.push(url.into());
        for (option, file) in [("--credentials", named.credentials), ("--ca", named.ca)] {
            if let Some(file) = file {
                let file = self.workspace.surroundings.cwd.join(file);
                command.extend([option.into(), file.to_string_lossy().into_owned().into()]);
            }
        }
        command.push(Argument::File(TASK_FILE.to_owned()));
        let text = serde_json::to_string(task).unwrap_or_default();
        let files = [(TASK_FILE.to_owned(), text)].into();
        Ok(Invocation { command, files, ..Invocation::default() })
    }
}

/// The server of the fleet that the environment names, else the settings of the agent directory, with what it takes to reach it.
pub fn named_server(settings: &Settings, surroundings: &Surroundings) -> FleetSettings {
    let variable = |name| env::var(name).ok().filter(|value| !value.is_empty());
    let home = surroundings.home.as_deref();
    let path = |name, of_settings: &Option<PathBuf>| {
        let of_settings = of_settings.as_ref().map(|path| in_home(path, home));
        variable(name).map(PathBuf::from).or(of_settings)
    };
    let FleetSettings { url, credentials, ca } = &settings.fleet;
    FleetSettings {
        url: variable(variables::FLEET).or_else(|| url.clone()),
        credentials: path(variables::FLEET_CREDENTIALS, credentials),
        ca: path(variables::FLEET_CA, ca),
    }
}

/// The rules that stop an agent are applied where it works. Its relay here waits for it, perhaps in a queue.
pub(super) fn relay_limits(limits: Limits) -> Limits {
    Limits { timeout_ms: None, looping_tool_count: 0, ..limits }
}

/// Whether a directory is in a repository of git, as far as can be told without git.
pub(super) fn is_in_repository(directory: &Path) -> bool {
    directory.ancestors().any(|ancestor| ancestor.join(".git").exists())
}

fn in_home(path: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}
