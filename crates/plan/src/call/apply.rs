//! What a task's profile or preset comes to: the agent, the model, and the rest of the definition.

use std::path::Path;

use model::{AgentKind, Lifetime};

use super::{ContinuedSession, Planner, Task, one_line};
use crate::definition::{Target, adapt, check_trust};
use crate::{
    Agent, Definition, DefinitionKind, Refusal, UnknownAgent, definition_summary, discover_skills,
    resolve_model,
};

/// What a task's profile or preset comes to.
pub(super) struct Applied {
    pub(super) agent: Agent,
    /// With what the task changes about it.
    pub(super) definition: Option<Definition>,
    pub(super) summary: Option<String>,
    /// The model as it was written, where the list of models spells it in another way.
    pub(super) requested_model: Option<String>,
    pub(super) refusal: Option<Refusal>,
}

impl Planner<'_> {
    /// Looks the task's profile or preset up, and puts in what the task changes about it.
    pub(super) fn apply(
        &mut self,
        task: &mut Task,
        cwd: &Path,
        session: Option<&ContinuedSession>,
    ) -> Applied {
        let directory = match &task.refusal {
            Some(refusal) => Err(refusal.clone()),
            None => check_cwd(task.cwd.as_deref(), self.options.lifetime),
        };
        let mut applied = Applied {
            agent: self.options.agent.usual().clone(),
            definition: None,
            summary: None,
            requested_model: None,
            refusal: None,
        };
        let past = session.and_then(|session| session.agent.as_ref());
        let chosen = directory.and_then(|()| self.choose(task, cwd, past, &mut applied));
        match chosen {
            Ok(requested_model) => applied.requested_model = requested_model,
            Err(refusal) => (applied.refusal, applied.definition) = (Some(refusal), None),
        }
        applied
    }

    /// Chooses the agent, the model and the rest of the definition. Returns how the model was written, if
    /// the list of models spells it in another way.
    fn choose(
        &mut self,
        task: &mut Task,
        cwd: &Path,
        past: Option<&AgentKind>,
        applied: &mut Applied,
    ) -> Result<Option<String>, Refusal> {
        let Some((kind, name)) = task.definition() else {
            applied.agent = self.choose_agent(task, None, past)?;
            return match (&mut task.model, self.models_of(&applied.agent)) {
                (Some(model), Some(models)) => respell(model, models),
                _ => Ok(None),
            };
        };
        applied.summary = Some(name.to_owned());
        let mut definition = self.workspace.definitions(kind).get(name)?.clone();
        applied.summary = Some(definition_summary(&definition));
        applied.agent = self.choose_agent(task, definition.agent.as_deref(), past)?;
        self.fit(&mut definition, task, &applied.agent);
        let chosen = self.choose_model(&mut definition, task.model.as_deref(), &applied.agent);
        applied.summary = Some(definition_summary(&definition));
        let requested_model = chosen?;
        self.add_skills(&mut definition, task, cwd)?;
        let trust = self.workspace.trust_in(kind);
        let fallback_models = match task.fallback_models.as_slice() {
            [] => definition.configuration.fallback_models.clone(),
            // What the user names needs no trust.
            named => {
                definition.configuration.fallback_models.clear();
                named.to_vec()
            }
        };
        check_trust(&definition, trust, task.model.is_some())?;
        definition.configuration.fallback_models = fallback_models;
        applied.definition = Some(definition);
        Ok(requested_model)
    }

    /// The agent that is named, else that of the session which the task continues, else the usual one.
    fn choose_agent(
        &mut self,
        task: &Task,
        of_definition: Option<&str>,
        past: Option<&AgentKind>,
    ) -> Result<Agent, UnknownAgent> {
        let (choice, settings) = (&self.options.agent, &self.workspace.settings);
        let is_named = task.agent.is_some() || of_definition.is_some() || choice.is_asked_for();
        if !is_named && let Some(agent) = past.and_then(|kind| Agent::of_kind(kind, settings)) {
            return Ok(agent);
        }
        let agent = choice.for_task(task.agent.as_deref(), of_definition, settings)?;
        if let Some(past) = past.filter(|past| **past != agent.kind()) {
            self.warnings.push(format!(
                "Task \"{}\" continues a session of the agent \"{}\" with \"{}\"",
                one_line(&task.name),
                past.word(),
                agent.kind().word()
            ));
        }
        Ok(agent)
    }

    /// Fits the definition of another program to the agent.
    fn fit(&mut self, definition: &mut Definition, task: &Task, agent: &Agent) {
        let target = Target {
            agent,
            models: self.models_of(agent),
            default_provider: self.workspace.default_provider.as_deref(),
            has_other_model: task.model.is_some(),
        };
        for lost in adapt(definition, &target) {
            self.warn_about(task, definition, &lost);
        }
    }

    fn warn_about(&mut self, task: &Task, definition: &Definition, warning: &str) {
        let (task, kind, name) = (one_line(&task.name), definition.kind.word(), &definition.name);
        self.warnings.push(format!("Task \"{task}\", {kind} \"{name}\": {warning}"));
    }

    /// The models from which the agent can choose, where they are known. Those that pi knows say nothing
    /// of what another agent knows.
    fn models_of(&self, agent: &Agent) -> Option<&[String]> {
        self.options.models.as_deref().filter(|_| agent.protocol().is_of_pi())
    }

    /// Decides the model: that of the task, else that of the definition. That of a task or a preset must
    /// be known, and is spelled as in the list of models. Returns how it was written, if that was in
    /// another way.
    fn choose_model(
        &self,
        definition: &mut Definition,
        model: Option<&str>,
        agent: &Agent,
    ) -> Result<Option<String>, Refusal> {
        let (label, kind) = (definition.label(), definition.kind);
        let configuration = &mut definition.configuration;
        configuration.key_provider = configuration.provider.clone();
        if let Some(model) = model {
            if configuration.api_key.is_some() && configuration.provider.is_none() {
                // Nothing says whose key it is, and it must not go to another provider.
                return Err(Refusal::KeyWithoutProvider { definition: label, kind });
            }
            configuration.model = Some(model.to_owned());
            configuration.provider = None;
        }
        if kind == DefinitionKind::Profile && model.is_none() {
            return Ok(None);
        }
        let Some(written) = &configuration.model else {
            if !agent.protocol().is_of_pi() {
                // It has a model of its own choice, which its user has set there.
                return Ok(None);
            }
            return Err(Refusal::NoModel { preset: label, path: definition.path.clone() });
        };
        let Some(models) = self.models_of(agent) else {
            return Ok(None);
        };
        let mut model = match &configuration.provider {
            Some(provider) if !written.starts_with(&format!("{provider}/")) => {
                format!("{provider}/{written}")
            }
            _ => written.clone(),
        };
        let requested = respell(&mut model, models)?;
        configuration.model = Some(model);
        configuration.provider = None;
        Ok(requested)
    }

    fn add_skills(
        &mut self,
        definition: &mut Definition,
        task: &Task,
        cwd: &Path,
    ) -> Result<(), Refusal> {
        if definition.suggested_skills.is_empty() && definition.load_skills.is_empty() {
            return Ok(());
        }
        let workspace = self.workspace;
        let discover = || discover_skills(&workspace.surroundings, workspace.trust);
        let skills = self.skills.get_or_insert_with(discover);
        let mut missing = Vec::new();
        if !definition.is_own() {
            // They were meant for another program, which has skills of its own.
            let is_known = |name: &String| skills.iter().any(|skill| skill.name == *name);
            missing = definition.load_skills.extract_if(.., |name| !is_known(name)).collect();
        }
        let added = skills.add_to(definition, cwd);
        for skill in &missing {
            self.warn_about(task, definition, &format!("its skill \"{skill}\" was not found"));
        }
        Ok(added?)
    }
}

/// Spells a model as the list of models does. Returns how it was written, if that was in another way.
fn respell(model: &mut String, models: &[String]) -> Result<Option<String>, Refusal> {
    let resolved = resolve_model(model, models)?;
    let written = std::mem::replace(model, resolved);
    Ok((written != *model).then_some(written))
}

/// A working directory is taken as it was given, never resolved first. The end of a background run may be
/// read long after its start, so that a directory that does not exist is refused at once.
fn check_cwd(cwd: Option<&str>, lifetime: Lifetime) -> Result<(), Refusal> {
    match cwd {
        Some(cwd) if !cwd.starts_with('/') => Err(Refusal::RelativeDirectory),
        Some(cwd) if cwd.split('/').any(|segment| segment == "..") => {
            Err(Refusal::AscendingDirectory)
        }
        Some(cwd) if lifetime == Lifetime::Background && !Path::new(cwd).is_dir() => {
            Err(Refusal::NoDirectory(cwd.into()))
        }
        _ => Ok(()),
    }
}
