//! From the tasks of a call to plans.

mod apply;
mod demands;
mod fallbacks;
mod remote;
mod shared;

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use model::{
    Access, AgentKind, Budget, CallId, FORMAT, FleetPool, InvalidId, Isolation, Lifetime, Limits,
    Meta, Owner, OwnerKind, Plan, RemoteTask, RunId, SessionId,
};
use protocol::{Configuration, Invocation, Origin, Protocol, Start, Version, VersionQuestion};
use serde_json::Value;
use uuid::Uuid;

use crate::access::{AccessWishes, access_paths};
use demands::{budget, check};
use fallbacks::plan_fallbacks;
pub use remote::named_server;
use remote::{is_in_repository, relay_limits};
use shared::Shared;

use crate::{
    Agent, AgentChoice, Contradiction, Definition, DefinitionKind, FileSpec, FileWarning, Refusal,
    Scope, Skills, Workspace, check_definition, new_id, with_files,
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
    /// The most that the agents may change, where the user says so for this call.
    pub access: Option<Access>,
    /// The most that the tasks of this call may spend together. The program that runs them keeps it.
    pub budget: Budget,
    /// Whether the user wants to be asked what the agents of this call ask.
    pub ask: bool,
    /// How the agents of all tasks are kept apart, where the user says so for this call.
    pub isolation: Option<Isolation>,
    /// The machines of the fleet that carry out all tasks, where the user says so for this call.
    pub on: Option<FleetPool>,
    /// The server of the fleet, where the user names it for this call.
    pub fleet: Option<String>,
    /// Finds the version of an agent's program, on which some arguments depend.
    pub agent_version: fn(&VersionQuestion<'_>) -> Option<Version>,
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
    /// The models that the agent continues with when the one before has failed for good, in their order.
    /// Only the user names them here; they win over those of the profile or preset.
    pub fallback_models: Vec<String>,
    /// Wins over every other agent.
    pub agent: Option<String>,
    /// Seconds until it is stopped.
    pub timeout: Option<f64>,
    /// The id of the session that it continues. The caller, who has the sessions, looks it up and
    /// hands it over as a [`ContinuedSession`].
    pub resume: Option<String>,
    /// What is put in front of the prompt.
    pub files: Vec<FileSpec>,
    /// The most that the agent may change. It raises nothing that the user has limited.
    pub access: Option<Access>,
    /// The JSON Schema that the answer must fit. It was found to be one.
    pub schema: Option<Value>,
    /// A command that judges the work when the agent has finished. Only the user names one here; it wins over
    /// that of the profile or preset.
    pub check: Option<String>,
    /// Seconds until the check is stopped.
    pub check_timeout: Option<f64>,
    /// How the agent is kept apart from other work on the same files.
    pub isolation: Option<Isolation>,
    /// Where it is carried out, if not on this machine: `fleet` or `fleet:POOL`. Only the user says it here; it wins over
    /// the profile or preset.
    pub on: Option<String>,
    /// The most that it may spend. Only the user says so here, and wins over the user's own profile or preset.
    pub budget: Budget,
    /// Why it must not start, if its arguments say so already.
    pub refusal: Option<Refusal>,
}

/// The session that a task continues.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ContinuedSession {
    pub id: SessionId,
    /// The task's prompt behind everything that was said in the session before.
    pub prompt: String,
    /// What the session's agent could change, where that is known. It cannot change more now.
    pub access: Option<Access>,
    /// The session's agent, where that is known. It goes on, unless the user names another.
    pub agent: Option<AgentKind>,
    /// The run whose changes it goes on with, if its agent worked in a worktree.
    pub worktree: Option<RunId>,
}

/// A task for which everything has been decided.
#[derive(Clone, Debug)]
pub struct PlannedTask {
    /// A call can have thousands, and each is freed when it is started.
    pub plan: Box<Plan>,
    /// The profile or preset in a few words.
    pub definition: Option<String>,
    /// Why it must not start; the plan has the same in words.
    pub refusal: Option<Refusal>,
    /// The agent whose program was not found, if it was not.
    pub missing_agent: Option<AgentKind>,
    /// What is sent to a machine of the fleet, and to which of them, if one carries it out.
    pub remote: Option<Box<(FleetPool, RemoteTask)>>,
}

/// The tasks of one call, for which everything has been decided.
#[derive(Debug)]
pub struct PlannedTasks {
    /// In their order.
    pub tasks: Vec<PlannedTask>,
    /// What the user should know about them and the files that were read for them.
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
    let call_id = CallId::parse(&new_id().to_string())?;
    let shared = Shared::new(workspace);
    let (skills, warnings) = (None, Vec::new());
    let mut planner = Planner { workspace, options, call_id, skills, warnings, shared };
    let tasks: Vec<_> = tasks.into_iter().collect();
    let named = tasks.iter().filter_map(|(task, _)| task.definition());
    let of_files = file_warnings(workspace, &named.collect::<Vec<_>>());
    // Not collected: the small results would stay in the place of the large tasks.
    let mut planned = Vec::with_capacity(tasks.len());
    for (task, session) in tasks {
        planned.push(planner.plan(task, session)?);
    }
    let mut warnings = of_files;
    warnings.append(&mut planner.warnings);
    let of_skills = planner.skills.iter().flat_map(|skills| &skills.warnings);
    warnings.extend(of_skills.map(ToString::to_string));
    Ok(PlannedTasks { tasks: planned, warnings })
}

/// What is wrong with the files of these definitions, and in one line that there are others: a task
/// does not depend on those, and they must not hide what concerns it.
fn file_warnings(workspace: &Workspace, named: &[(DefinitionKind, &str)]) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut others: Vec<&FileWarning> = Vec::new();
    for kind in [DefinitionKind::Profile, DefinitionKind::Preset] {
        let definitions = workspace.definitions(kind);
        let is_meant = |warning: &FileWarning| {
            let names = named.iter().filter(|(of_kind, _)| *of_kind == kind);
            names.map(|(_, name)| *name).any(|name| {
                // A file that cannot be loaded is known by its name alone.
                definitions.get(name).is_ok_and(|definition| definition.path == warning.path)
                    || warning.path.file_stem().is_some_and(|stem| stem == name)
            })
        };
        let (meant, rest): (Vec<_>, Vec<_>) =
            definitions.warnings.iter().partition(|warning| is_meant(warning));
        let is_foreign = |(of_kind, name): &(DefinitionKind, &str)| {
            *of_kind == kind && !definitions.has_own(name)
        };
        let foreign: &[FileWarning] =
            if named.iter().any(is_foreign) { definitions.foreign_warnings() } else { &[] };
        let foreign = foreign.iter().filter(|warning| is_meant(warning));
        warnings.extend(meant.into_iter().chain(foreign).map(ToString::to_string));
        others.extend(rest);
    }
    match others.as_slice() {
        [] => {}
        [only] => warnings.push(only.to_string()),
        [first, ..] => warnings.push(format!(
            "There are {} warnings about the files of other profiles and presets, such as {}; \
             `pi-subagents doctor` lists them",
            others.len(),
            first.path.display()
        )),
    }
    warnings
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
        match (&self.refusal, &self.missing_agent) {
            (Some(refusal), _) => refusal.hint(),
            (None, Some(_)) => {
                Some("see --agent, PI_SUBAGENTS_AGENT and `subagents.agent` in the settings")
            }
            (None, None) => None,
        }
    }

    /// Refuses the task if its agent has a name and is not there. A program of the user's own choice
    /// fails when it is started.
    pub fn refuse_missing_agent(&mut self) {
        let Some(missing) = &self.missing_agent else { return };
        if self.refusal.is_none() && *missing != AgentKind::Program {
            let refusal = Refusal::MissingAgent(missing.clone());
            self.plan.refusal = Some(refusal.to_string());
            self.refusal = Some(refusal);
        }
    }
}

struct Planner<'a> {
    workspace: &'a Workspace,
    options: &'a PlanOptions,
    call_id: CallId,
    /// Looked for once, and only if a task needs them.
    skills: Option<Skills>,
    warnings: Vec<String>,
    shared: Shared,
}

impl Planner<'_> {
    fn plan(
        &mut self,
        task: Task,
        session: Option<ContinuedSession>,
    ) -> Result<PlannedTask, InvalidId> {
        let run_id = RunId::parse(&new_id().to_string())?;
        let Workspace { surroundings, settings, .. } = self.workspace;
        let PlanOptions { owner, lifetime, .. } = self.options;
        let cwd = task.cwd.as_ref().map_or_else(|| surroundings.cwd.clone(), PathBuf::from);
        let mut task = task;
        let applied = self.apply(&mut task, &cwd, session.as_ref());
        let (agent, definition) = (applied.agent, applied.definition.as_ref());
        let plain = Configuration {
            model: task.model.clone(),
            fallback_models: task.fallback_models.clone(),
            ..Configuration::default()
        };
        let configuration = definition.map_or(&plain, |definition| &definition.configuration);
        let allowed = self.access(&task, &agent, definition, session.as_ref());
        let access = *allowed.as_ref().unwrap_or(&Access::Read);
        let pool = self.pool(&task, definition);
        let is_remote = !matches!(pool, Ok(None));
        let protocol = match is_remote {
            true => Protocol::Events,
            false => agent.protocol().with_arguments(&configuration.extra_args),
        };
        let budget = budget(&task, definition);
        // An agent elsewhere must keep to its budget itself.
        let priced = self.check_price(budget, agent.protocol(), &agent);
        let prompt = session.as_ref().map_or(&task.prompt, |session| &session.prompt);
        let preset = definition.filter(|_| task.preset.is_some());
        // A profile that was not found has no limits.
        let is_found = task.profile.is_none() || definition.is_some();
        let is_limited = task.preset.is_none() && is_found && *lifetime == Lifetime::Foreground;
        let default_timeout = is_limited.then_some(DEFAULT_TIMEOUT);
        let timeout = preset.and_then(|preset| preset.timeout).or(default_timeout);
        let limits = Limits {
            timeout_ms: task.timeout.or(timeout).map(to_ms),
            extend_timeout_debounce_ms: to_ms(settings.extend_timeout_debounce),
            looping_tool_count: settings.looping_tool_count,
            question_timeout_ms: to_ms(settings.question_timeout),
            budget,
            log_bytes: Limits::LOG_BYTES,
        };
        let mut remote = None;
        let started = match (applied.refusal, allowed.and(priced), pool) {
            (Some(refusal), ..) | (None, Err(refusal), _) | (None, Ok(()), Err(refusal)) => {
                Err(refusal)
            }
            (None, Ok(()), Ok(Some(pool))) => {
                let planned = self.remote_task(&task, &agent, definition, session.as_ref(), &cwd);
                planned.and_then(|planned| {
                    let planned = RemoteTask { limits, ..planned };
                    let invocation = self.relay(&pool, &planned)?;
                    remote = Some(Box::new((pool, planned)));
                    Ok((invocation, Vec::new()))
                })
            }
            (None, Ok(()), Ok(None)) => {
                let start = |configuration: &Configuration| {
                    let bounds = (access, budget);
                    self.start(&task, &agent, protocol, definition, configuration, bounds)
                };
                start(configuration).and_then(|mut invocation| {
                    let fallbacks = plan_fallbacks(&agent, configuration, &mut invocation, start)?;
                    Ok((invocation, fallbacks))
                })
            }
        };
        let ((invocation, fallbacks), refusal) = match started {
            Ok(started) => (started, None),
            Err(refusal) => (Default::default(), Some(refusal)),
        };
        // What an agent elsewhere changes arrives in a worktree here.
        let comes_back = is_remote && is_in_repository(&cwd);
        let planned = self.worktree(
            &task,
            definition,
            session.as_ref(),
            &run_id,
            is_remote.then_some(comes_back),
        );
        let (worktree, refusal) = match (planned, refusal) {
            (Err(problem), None) => (None, Some(problem)),
            (planned, refusal) => (planned.unwrap_or_default(), refusal),
        };
        let files = if refusal.is_some() { &[] } else { task.files.as_slice() };
        let prompt = with_files(files, &cwd, prompt);
        let prompt = match invocation.preamble {
            Some(preamble) => format!("{preamble}\n\n{prompt}"),
            None => prompt,
        };
        let prompt = match task.schema.as_ref().filter(|_| !is_remote) {
            Some(schema) => format!("{prompt}\n\n{}", schema_words(schema)),
            None => prompt,
        };
        let warned = invocation.warnings.iter();
        let name = one_line(&task.name);
        if let Some(reason) = protocol.voice().err().filter(|_| self.options.ask) {
            self.warnings.push(format!("Task \"{name}\": nothing will be asked: {reason}"));
        }
        self.warnings.extend(warned.map(|warning| format!("Task \"{name}\": {warning}")));
        let session_id = match session {
            Some(session) => session.id,
            None => SessionId::parse(&Uuid::new_v4().simple().to_string()[..16])?,
        };
        let state = invocation.state;
        let access_paths = match is_remote {
            true => None,
            false => access_paths(access, &run_id, state, settings, surroundings),
        };
        let limits = if is_remote { relay_limits(limits) } else { limits };
        let check = check(&task, definition);
        let meta = Meta {
            format: FORMAT,
            run_id,
            session_id,
            call_id: Some(self.call_id.clone()),
            name: one_line(&task.name),
            owner: owner.clone(),
            lifetime: *lifetime,
            agent: match &remote {
                Some(remote) => remote.1.agent.clone().map(AgentKind::from),
                None => Some(agent.kind()),
            },
            protocol: Some(protocol.word().to_owned()),
            // It is known once the run has a directory.
            command: Vec::new(),
            cwd,
            // The program that starts the run knows its own cgroup.
            cgroup: None,
            environment: self.shared.environment.of(invocation.environment),
            access,
            worktree,
            access_paths,
            model: configuration.model.clone(),
            provider: configuration.provider.clone(),
            thinking_level: configuration.thinking_level.map(|level| level.word().to_owned()),
            fallback_models: configuration.fallback_models.clone(),
            // They are known once the run has a directory.
            fallback_starts: Vec::new(),
            requested_model: applied.requested_model.or_else(|| configuration.model.clone()),
            profile: task.profile.filter(|_| task.preset.is_none()),
            preset_source: preset.map(|preset| preset.scope.word().to_owned()),
            tools: preset.map(|preset| preset.configuration.tools.clone()).unwrap_or_default(),
            preset: task.preset,
            // They are known once the run has a directory.
            system_prompt: None,
            system_prompt_path: None,
            task: Some(task.prompt),
            limits,
            check,
            schema: task.schema,
            ledger: Some(Arc::clone(&self.shared.ledger)),
            // A relay takes next to nothing of this machine; the worker's machine governs its agent.
            admission: (!is_remote).then(|| Arc::clone(&self.shared.admission)),
            takes_messages: true,
            ask: self.asks(),
            created_at: now_ms(),
        };
        let missing_agent = (!is_remote && agent.is_missing(surroundings)).then(|| agent.kind());
        let plan = Box::new(Plan {
            meta: Arc::new(meta),
            prompt,
            command: self.shared.command.of(invocation.command),
            fallbacks,
            files: invocation.files,
            file_variables: invocation.file_variables,
            secrets: invocation.secrets,
            refusal: refusal.as_ref().map(ToString::to_string),
        });
        Ok(PlannedTask { plan, definition: applied.summary, refusal, missing_agent, remote })
    }

    /// Whether a limit of money can be kept, if there is one.
    fn check_price(
        &self,
        budget: Budget,
        protocol: Protocol,
        agent: &Agent,
    ) -> Result<(), Refusal> {
        match (budget.lowered(self.options.budget).cost_usd, protocol.price()) {
            (Some(_), Err(reason)) => {
                Err(Refusal::NoPrice { agent: agent.kind().word().to_owned(), reason })
            }
            _ => Ok(()),
        }
    }

    /// Whether the user wants to be asked what the agent asks.
    fn asks(&self) -> bool {
        self.options.ask || self.workspace.settings.ask
    }

    /// What the agent may change: what is usual for it, unless the user has said something else. A task
    /// that asks for more than it gets is a warning.
    fn access(
        &mut self,
        task: &Task,
        agent: &Agent,
        definition: Option<&Definition>,
        session: Option<&ContinuedSession>,
    ) -> Result<Access, Refusal> {
        let (flag, settings) = (self.options.access, &self.workspace.settings);
        if let (None, Some(problem)) = (flag, &settings.unknown_access) {
            return Err(Refusal::UnknownAccess(problem.clone()));
        }
        let own = definition.filter(|definition| definition.scope == Scope::Global);
        let own = own.and_then(|definition| definition.access);
        let usual = || agent.protocol().default_access();
        let access = AccessWishes {
            flag,
            limit: settings.access.or(own).unwrap_or_else(usual),
            session: session.and_then(|session| session.access),
            definition: definition.and_then(|definition| definition.access),
            task: task.access,
        };
        let decided = access.decide();
        if let Some(asked) = task.access.filter(|asked| *asked > decided) {
            self.warnings.push(format!(
                "Task \"{}\" asks for access \"{}\" and gets \"{}\", the most that the user, its \
                 profile or its session allows",
                one_line(&task.name),
                asked.word(),
                decided.word()
            ));
        }
        if decided == Access::Workspace && self.is_led_elsewhere(task) {
            return Err(Refusal::WorkspaceElsewhere);
        }
        Ok(decided)
    }

    /// Whether a model asks for another workspace than the one in which its user works. To choose any directory
    /// would be to choose what can be changed.
    fn is_led_elsewhere(&self, task: &Task) -> bool {
        let is_of_model = self.options.owner.kind != OwnerKind::Shell;
        let Some(cwd) = task.cwd.as_ref().filter(|_| is_of_model) else { return false };
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let surroundings = &self.workspace.surroundings;
        let own = [surroundings.project_root(), &surroundings.cwd].map(real);
        let cwd = real(Path::new(cwd));
        !own.iter().any(|own| cwd.starts_with(own))
    }

    fn start(
        &self,
        task: &Task,
        agent: &Agent,
        protocol: Protocol,
        definition: Option<&Definition>,
        configuration: &Configuration,
        (access, budget): (Access, Budget),
    ) -> Result<Invocation, Refusal> {
        let origin = match definition {
            Some(definition) => Origin { title: definition.label(), kind: definition.kind.word() },
            None => Origin { title: "The task".to_owned(), kind: "task" },
        };
        let surroundings = &self.workspace.surroundings;
        let program = agent.command(surroundings);
        let question = VersionQuestion {
            command: &program,
            protocol,
            may_be_asked: *agent == Agent::Pi,
            agent_dir: &surroundings.agent_dir,
        };
        let matters = *agent != Agent::Builtin && protocol.depends_on_version(configuration);
        let version = if matters { (self.options.agent_version)(&question) } else { None };
        let start = Start {
            agent: agent.kind(),
            program,
            version,
            configuration,
            origin,
            keeps_conversation: task.preset.is_some(),
            all_tools: self.options.all_tools.as_deref(),
            agent_dir: &surroundings.agent_dir,
            home: surroundings.home.as_deref(),
            variable: |name| env::var(name).ok(),
            access,
            max_cost_usd: budget.lowered(self.options.budget).cost_usd,
            ask: self.asks(),
            default_provider: self.workspace.default_provider.as_deref(),
            schema: task.schema.as_ref(),
        };
        Ok(protocol.invocation(start)?)
    }
}

/// What every agent is told of the schema, also one that has a way of its own for it.
fn schema_words(schema: &Value) -> String {
    format!(
        "Your last message must be one JSON value that fits this JSON Schema, alone or in one fenced block:\n\n\
         ```json\n{schema}\n```"
    )
}

/// A name is shown at the beginning of lines.
fn one_line(name: &str) -> String {
    name.split(|character: char| character.is_control()).collect::<Vec<_>>().join(" ")
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
