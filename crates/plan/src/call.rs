//! From the tasks of a call to plans.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use model::{
    AgentKind, CallId, FORMAT, InvalidId, Lifetime, Limits, Meta, Owner, Plan, RunId, SessionId,
    variables,
};
use protocol::{Configuration, Invocation, Origin, Start};
use uuid::Uuid;

use crate::definition::check_trust;
use crate::{
    Agent, AgentChoice, Contradiction, Definition, DefinitionKind, FileSpec, Refusal, Skills,
    Workspace, check_definition, definition_summary, discover_skills, resolve_model, with_files,
};

/// What the tasks of one call share, besides the workspace.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct PlanOptions {
    pub agent: AgentChoice,
    pub owner: Owner,
    pub lifetime: Lifetime,
    /// The names of all tools that an agent could have, where the caller knows them.
    pub all_tools: Option<Vec<String>>,
    /// The available models, as `provider/id`, where the caller knows them.
    pub models: Option<Vec<String>>,
}

/// What is asked for in one task.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Task {
    pub name: String,
    pub prompt: String,
    /// Where the agent works; the caller's directory if absent.
    pub cwd: Option<String>,
    pub profile: Option<String>,
    /// Wins over the profile.
    pub preset: Option<String>,
    /// Wins over the model of the profile or preset.
    pub model: Option<String>,
    /// Seconds until it is stopped.
    pub timeout: Option<f64>,
    /// The id of the session that it continues. The caller, who has the sessions, looks it up and
    /// hands it over as a [`ContinuedSession`].
    pub resume: Option<String>,
    /// What is put in front of the prompt.
    pub files: Vec<FileSpec>,
}

/// The session that a task continues.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ContinuedSession {
    pub id: SessionId,
    /// The task's prompt behind everything that was said in the session before.
    pub prompt: String,
}

/// A task for which everything has been decided.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct PlannedTask {
    pub plan: Plan,
    /// The profile or preset in a few words.
    pub definition: Option<String>,
    /// Why it must not start; the plan has the same in words.
    pub refusal: Option<Refusal>,
    /// The agent whose program was not found, if it was not.
    pub missing_agent: Option<AgentKind>,
}

/// The tasks of one call, for which everything has been decided.
#[derive(Debug)]
pub struct PlannedTasks {
    /// In their order.
    pub tasks: Vec<PlannedTask>,
    /// What the user should know about the files that were read for them.
    pub warnings: Vec<String>,
}

/// How long a delegated task may run if it does not say.
const DEFAULT_TIMEOUT: f64 = 600.0;

/// Makes sure that no profile or preset that a task names contradicts itself.
pub fn check_tasks(workspace: &Workspace, tasks: &[Task]) -> Result<(), Contradiction> {
    let named = tasks.iter().filter_map(Task::definition);
    let mut definitions =
        named.filter_map(|(kind, name)| workspace.definitions(kind).get(name).ok());
    definitions.try_for_each(check_definition)
}

/// Decides everything about the tasks of a call. What is wrong with one task becomes its refusal.
pub fn plan_tasks(
    workspace: &Workspace,
    options: &PlanOptions,
    tasks: impl IntoIterator<Item = (Task, Option<ContinuedSession>)>,
) -> Result<PlannedTasks, InvalidId> {
    let call_id = CallId::parse(&Uuid::now_v7().to_string())?;
    let mut planner = Planner { workspace, options, call_id, skills: None };
    let tasks = tasks.into_iter().map(|(task, session)| planner.plan(task, session));
    let tasks = tasks.collect::<Result<_, _>>()?;
    let warnings = planner.skills.iter().flat_map(|skills| &skills.warnings);
    Ok(PlannedTasks { tasks, warnings: warnings.map(ToString::to_string).collect() })
}

impl Task {
    /// The profile or preset that it names, whether or not there is such a thing.
    fn definition(&self) -> Option<(DefinitionKind, &str)> {
        let preset = self.preset.as_deref().map(|name| (DefinitionKind::Preset, name));
        preset.or_else(|| Some((DefinitionKind::Profile, self.profile.as_deref()?)))
    }
}

impl PlannedTask {
    /// What to do on the command line if the task could not be started, where there is something
    /// to do.
    pub fn start_hint(&self) -> Option<&'static str> {
        match (&self.refusal, self.missing_agent) {
            (Some(refusal), _) => refusal.hint(),
            (None, Some(AgentKind::Pi)) => Some(
                "use `--agent builtin`, which is always there, or install pi with \
                 `npm install -g @earendil-works/pi-coding-agent`",
            ),
            (None, Some(_)) => {
                Some("see --agent, PI_SUBAGENTS_AGENT and `subagents.agent` in the settings")
            }
            (None, None) => None,
        }
    }
}

struct Planner<'a> {
    workspace: &'a Workspace,
    options: &'a PlanOptions,
    call_id: CallId,
    /// Looked for once, and only if a task needs them.
    skills: Option<Skills>,
}

/// What a task's profile or preset comes to.
#[derive(Default)]
struct Applied {
    /// With what the task changes about it.
    definition: Option<Definition>,
    summary: Option<String>,
    /// The model as it was written, where the list of models spells it in another way.
    requested_model: Option<String>,
    refusal: Option<Refusal>,
}

impl Planner<'_> {
    fn plan(
        &mut self,
        task: Task,
        session: Option<ContinuedSession>,
    ) -> Result<PlannedTask, InvalidId> {
        let run_id = RunId::parse(&Uuid::now_v7().to_string())?;
        let Workspace { surroundings, settings, .. } = self.workspace;
        let PlanOptions { owner, lifetime, .. } = self.options;
        let cwd = task.cwd.as_ref().map_or_else(|| surroundings.cwd.clone(), PathBuf::from);
        let applied = self.apply(&task, &cwd);
        let definition = applied.definition.as_ref();
        let agent = self.options.agent.for_task(definition.and_then(|definition| definition.agent));
        let plain = Configuration { model: task.model.clone(), ..Configuration::default() };
        let configuration = definition.map_or(&plain, |definition| &definition.configuration);
        let started = match applied.refusal {
            Some(refusal) => Err(refusal),
            None => self.start(&task, &agent, definition, configuration),
        };
        let (invocation, refusal) = match started {
            Ok(invocation) => (invocation, None),
            Err(refusal) => (Invocation::default(), Some(refusal)),
        };
        let files = if refusal.is_some() { &[] } else { task.files.as_slice() };
        let prompt = session.as_ref().map_or(&task.prompt, |session| &session.prompt);
        let prompt = with_files(files, &cwd, prompt);
        // Background runs are listed with their tasks, and a list reads no prompts.
        let is_listed = *lifetime == Lifetime::Background;
        let original = (is_listed || prompt != task.prompt).then_some(task.prompt);
        let session_id = match session {
            Some(session) => session.id,
            None => SessionId::parse(&Uuid::new_v4().simple().to_string()[..16])?,
        };
        let preset = definition.filter(|_| task.preset.is_some());
        // A profile that was not found has no limits.
        let is_limited = task.preset.is_none() && (task.profile.is_none() || definition.is_some());
        let default_timeout = is_limited.then_some(DEFAULT_TIMEOUT);
        let timeout = preset.and_then(|preset| preset.timeout).or(default_timeout);
        let mut environment = invocation.environment;
        environment.insert(variables::CHILD.to_owned(), Some("1".to_owned()));
        environment.insert(variables::RUN.to_owned(), Some(run_id.to_string()));
        let meta = Meta {
            format: FORMAT,
            run_id,
            session_id,
            call_id: Some(self.call_id.clone()),
            name: one_line(&task.name),
            owner: owner.clone(),
            lifetime: *lifetime,
            agent: Some(agent.kind()),
            protocol: Some(agent.protocol().word().to_owned()),
            // It is known once the run has a directory.
            command: Vec::new(),
            cwd,
            environment,
            model: configuration.model.clone(),
            provider: configuration.provider.clone(),
            thinking_level: configuration.thinking_level.map(|level| level.word().to_owned()),
            requested_model: applied.requested_model,
            profile: task.profile.filter(|_| task.preset.is_none()),
            preset_source: preset.map(|preset| preset.scope.word().to_owned()),
            tools: preset.map(|preset| preset.configuration.tools.clone()).unwrap_or_default(),
            preset: task.preset,
            task: original,
            limits: Limits {
                timeout_ms: task.timeout.or(timeout).map(to_ms),
                extend_timeout_debounce_ms: to_ms(settings.extend_timeout_debounce),
                looping_tool_count: settings.looping_tool_count,
                log_bytes: Limits::LOG_BYTES,
            },
            created_at: now_ms(),
        };
        let plan = Plan {
            meta,
            prompt,
            command: invocation.command,
            files: invocation.files,
            secrets: invocation.secrets,
            refusal: refusal.as_ref().map(ToString::to_string),
        };
        let missing_agent = agent.is_missing(surroundings).then(|| agent.kind());
        Ok(PlannedTask { plan, definition: applied.summary, refusal, missing_agent })
    }

    /// Looks the task's profile or preset up, and puts in what the task changes about it.
    fn apply(&mut self, task: &Task, cwd: &Path) -> Applied {
        let directory = check_cwd(task.cwd.as_deref());
        let Some((kind, name)) = task.definition() else {
            return Applied { refusal: directory.err(), ..Applied::default() };
        };
        // Nothing is looked for where the task cannot work.
        let definitions = self.workspace.definitions(kind);
        let found = directory.and_then(|()| Ok(definitions.get(name)?.clone()));
        let mut definition = match found {
            Ok(definition) => definition,
            Err(refusal) => {
                let (summary, refusal) = (Some(name.to_owned()), Some(refusal));
                return Applied { summary, refusal, ..Applied::default() };
            }
        };
        let chosen = self.choose_model(&mut definition, task.model.as_deref());
        let summary = Some(definition_summary(&definition));
        let completed = chosen.and_then(|requested_model| {
            self.add_skills(&mut definition, cwd)?;
            let trust = self.workspace.trust_in(kind);
            check_trust(&definition, trust, task.model.is_some())?;
            Ok(requested_model)
        });
        match completed {
            Ok(requested_model) => {
                Applied { definition: Some(definition), summary, requested_model, refusal: None }
            }
            Err(refusal) => Applied { summary, refusal: Some(refusal), ..Applied::default() },
        }
    }

    /// Decides the model: that of the task, else that of the definition. That of a preset must be
    /// known, and is spelled as in the list of models. Returns how it was written, if that was in
    /// another way.
    fn choose_model(
        &self,
        definition: &mut Definition,
        model: Option<&str>,
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
        if kind == DefinitionKind::Profile {
            return Ok(None);
        }
        let Some(written) = &configuration.model else {
            return Err(Refusal::NoModel { preset: label, path: definition.path.clone() });
        };
        let Some(models) = &self.options.models else {
            return Ok(None);
        };
        let requested = match &configuration.provider {
            Some(provider) if !written.starts_with(&format!("{provider}/")) => {
                format!("{provider}/{written}")
            }
            _ => written.clone(),
        };
        let resolved = resolve_model(&requested, models)?;
        let is_respelled = resolved != requested;
        configuration.model = Some(resolved);
        configuration.provider = None;
        Ok(is_respelled.then_some(requested))
    }

    fn add_skills(&mut self, definition: &mut Definition, cwd: &Path) -> Result<(), Refusal> {
        if definition.suggested_skills.is_empty() && definition.load_skills.is_empty() {
            return Ok(());
        }
        let workspace = self.workspace;
        let discover = || discover_skills(&workspace.surroundings, workspace.trust);
        let skills = self.skills.get_or_insert_with(discover);
        Ok(skills.add_to(definition, cwd)?)
    }

    fn start(
        &self,
        task: &Task,
        agent: &Agent,
        definition: Option<&Definition>,
        configuration: &Configuration,
    ) -> Result<Invocation, Refusal> {
        let origin = match definition {
            Some(definition) => Origin { title: definition.label(), kind: definition.kind.word() },
            None => Origin { title: "The task".to_owned(), kind: "task" },
        };
        let surroundings = &self.workspace.surroundings;
        let start = Start {
            agent: agent.kind(),
            program: agent.command(surroundings),
            configuration,
            origin,
            keeps_conversation: task.preset.is_some(),
            all_tools: self.options.all_tools.as_deref(),
            agent_dir: &surroundings.agent_dir,
        };
        Ok(agent.protocol().invocation(start)?)
    }
}

/// A name is shown at the beginning of lines.
fn one_line(name: &str) -> String {
    name.split(|character: char| character.is_control()).collect::<Vec<_>>().join(" ")
}

/// A working directory is taken as it was given, never resolved first.
fn check_cwd(cwd: Option<&str>) -> Result<(), Refusal> {
    match cwd {
        Some(cwd) if !cwd.starts_with('/') => Err(Refusal::RelativeDirectory),
        Some(cwd) if cwd.split('/').any(|segment| segment == "..") => {
            Err(Refusal::AscendingDirectory)
        }
        _ => Ok(()),
    }
}

/// A cast of a float to an integer saturates, so that every number of seconds is safe.
fn to_ms(seconds: f64) -> u64 {
    (seconds * 1000.0) as u64
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
#[path = "call_tests.rs"]
mod tests;
