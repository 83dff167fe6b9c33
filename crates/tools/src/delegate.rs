//! From the tasks of a call to plans, for `delegate_to_subagents` and every other tool.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use model::{InvalidId, Lifetime, Owner, Plan, RunId, SessionId};
use plan::{
    AgentChoice, AgentError, AppliedDefinition, Contradiction, Definition, DefinitionKind,
    InvocationContext, Request, Skills, definition_summary, with_files,
};
use store::{Claim, StoreError};

use crate::{
    DelegateArguments, Session, SessionBook, SessionError, TaskArguments, Workspace, load_sessions,
    resolve_model,
};

/// What the door adds to the arguments.
#[derive(Clone, Debug)]
pub struct CallOptions<'a> {
    /// Which agent tasks get.
    pub agent: AgentChoice,
    /// Who asks.
    pub owner: Owner,
    /// Whether the runs end with whoever starts them.
    pub lifetime: Lifetime,
    /// The names of all tools that a child could have, where the door knows them.
    pub all_tools: Option<Vec<String>>,
    /// The models that there are, as `provider/id`, where the door knows them.
    pub models: Option<Vec<String>>,
    /// The sessions that the caller remembers, where the door has such a thing. They can be
    /// continued even if the store knows nothing of them any more.
    pub book: Option<&'a SessionBook>,
}

impl<'a> CallOptions<'a> {
    /// For whoever waits for the answer, where the caller stands.
    pub fn of_waiting(
        workspace: &Workspace,
        owner: Owner,
        book: &'a SessionBook,
    ) -> Result<CallOptions<'a>, CallError> {
        let cwd = &workspace.surroundings.cwd;
        if !cwd.is_dir() {
            // It would be made anew for the record of the run, and an agent would work in nothing.
            return Err(CallError::DirectoryGone(cwd.clone()));
        }
        let agent = AgentChoice::new(None, &workspace.surroundings, &workspace.settings)?;
        let (all_tools, models) = (None, None);
        let lifetime = Lifetime::Foreground;
        Ok(CallOptions { agent, owner, lifetime, all_tools, models, book: Some(book) })
    }
}

/// A task that is ready to run.
#[derive(Debug)]
pub struct PlannedTask {
    /// What will be run.
    pub plan: Plan,
    /// The profile or preset in a few words.
    pub definition: Option<String>,
}

/// A call that is ready to run.
#[derive(Debug)]
pub struct PlannedCall {
    /// Its tasks, in their order.
    pub tasks: Vec<PlannedTask>,
    /// What people should know about the files that were read for it.
    pub warnings: Vec<String>,
    /// Keep them until the call is over: nobody else continues the same sessions meanwhile.
    pub claims: Vec<Claim>,
}

/// The whole call is refused; nothing has been started.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum CallError {
    #[error("the directory {} is gone", .0.display())]
    DirectoryGone(PathBuf),
    #[error(transparent)]
    Agent(#[from] AgentError),
    #[error(transparent)]
    Contradiction(#[from] Contradiction),
    #[error(
        "Cannot resume: session \"{0}\" not found. The session may have expired or the ID is \
         incorrect."
    )]
    ResumeNotFound(String),
    #[error(
        "Cannot resume: session \"{0}\" is still running. Wait for it to complete before resuming."
    )]
    ResumeRunning(String),
    #[error("Cannot resume: session \"{0}\" is continued by another task of the same call.")]
    ResumedTwice(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Id(#[from] InvalidId),
}

/// How long a delegated task may run if it does not say.
const DEFAULT_TIMEOUT: f64 = 600.0;

/// Plans all tasks of a call. What is wrong with one task becomes its refusal; contradictions in
/// profiles and presets, and sessions that cannot be resumed refuse the whole call.
pub fn plan_delegation(
    workspace: &Workspace,
    arguments: DelegateArguments,
    options: &CallOptions<'_>,
) -> Result<PlannedCall, CallError> {
    let DelegateArguments { tasks, profile: default_profile } = arguments;
    let named = tasks.iter().map(|task| match &task.preset {
        Some(preset) => Some((DefinitionKind::Preset, preset.clone())),
        None => {
            let profile = task.profile.as_ref().or(default_profile.as_ref());
            profile.map(|profile| (DefinitionKind::Profile, profile.clone()))
        }
    });
    let named: Vec<Option<(DefinitionKind, String)>> = named.collect();
    for (kind, name) in named.iter().flatten() {
        if let Ok(definition) = workspace.definitions(*kind).get(name) {
            plan::check_definition(definition)?;
        }
    }
    let (resumed, claims) = claim_sessions(workspace, options.book, &tasks)?;
    let mut planner = Planner { workspace, options, skills: None };
    let tasks = tasks.into_iter().zip(named).zip(resumed);
    let tasks = tasks.map(|((task, named), session)| planner.plan(task, named, session));
    let tasks = tasks.collect::<Result<_, _>>()?;
    let warnings = planner.skills.iter().flat_map(|skills| &skills.warnings);
    Ok(PlannedCall { tasks, warnings: warnings.map(ToString::to_string).collect(), claims })
}

/// A session that a task continues.
enum Past<'a> {
    /// As the store has it.
    Kept(Session),
    /// As the caller remembers it.
    Remembered(SessionId, &'a SessionBook),
}

impl Past<'_> {
    fn resume_prompt(&self, prompt: &str) -> Result<String, CallError> {
        match self {
            Past::Kept(session) => Ok(session.resume_prompt(prompt)?),
            Past::Remembered(id, book) => Ok(book.resume_prompt(id.as_str(), prompt)?),
        }
    }

    fn into_id(self) -> SessionId {
        match self {
            Past::Kept(session) => session.id,
            Past::Remembered(id, _) => id,
        }
    }
}

fn kept<'a>(pasts: &'a [Option<Past<'_>>]) -> impl Iterator<Item = &'a Session> {
    pasts.iter().flatten().filter_map(|past| match past {
        Past::Kept(session) => Some(session),
        Past::Remembered(..) => None,
    })
}

/// The session that each task continues, if it does, and the right to do so.
fn claim_sessions<'a>(
    workspace: &Workspace,
    book: Option<&'a SessionBook>,
    tasks: &[TaskArguments],
) -> Result<(Vec<Option<Past<'a>>>, Vec<Claim>), CallError> {
    loop {
        let sessions = resumed_sessions(workspace, book, tasks)?;
        let mut claims = Vec::new();
        for session in kept(&sessions) {
            let newest = session.runs.last();
            let claim = newest.map(|run| run.dir.claim()).transpose()?.flatten();
            claims.push(claim.ok_or_else(|| CallError::ResumeRunning(session.id.to_string()))?);
        }
        // Somebody else may have continued one between our look and our claim.
        let newest = |sessions: &[Option<Past<'_>>]| -> Vec<RunId> {
            let newest = kept(sessions).filter_map(|session| session.runs.last());
            newest.map(|run| run.meta.run_id.clone()).collect()
        };
        let again = || resumed_sessions(workspace, book, tasks);
        if claims.is_empty() || newest(&again()?) == newest(&sessions) {
            return Ok((sessions, claims));
        }
    }
}

/// The session that each task continues, if it does.
fn resumed_sessions<'a>(
    workspace: &Workspace,
    book: Option<&'a SessionBook>,
    tasks: &[TaskArguments],
) -> Result<Vec<Option<Past<'a>>>, CallError> {
    if tasks.iter().all(|task| task.resume.is_none()) {
        return Ok(tasks.iter().map(|_| None).collect());
    }
    let (mut known, _) = load_sessions(&workspace.store)?;
    let mut taken = BTreeSet::new();
    let mut find = |text: &String| {
        // Only the whole id: the beginning of one could be that of another session.
        let id = SessionId::parse(text).map_err(|_| CallError::ResumeNotFound(text.clone()))?;
        if taken.contains(&id) {
            return Err(CallError::ResumedTwice(text.clone()));
        }
        taken.insert(id.clone());
        match (known.remove(&id), book.filter(|book| book.knows(text))) {
            (Some(session), _) if session.is_running() => {
                Err(CallError::ResumeRunning(text.clone()))
            }
            (Some(session), _) => Ok(Past::Kept(session)),
            (None, Some(book)) if book.is_running(text) => {
                Err(CallError::ResumeRunning(text.clone()))
            }
            (None, Some(book)) => Ok(Past::Remembered(id, book)),
            (None, None) => Err(CallError::ResumeNotFound(text.clone())),
        }
    };
    tasks.iter().map(|task| task.resume.as_ref().map(&mut find).transpose()).collect()
}

struct Planner<'a> {
    workspace: &'a Workspace,
    options: &'a CallOptions<'a>,
    /// Looked for once, and only if somebody names any.
    skills: Option<Skills>,
}

/// The profile or preset that a task names, as far as that goes.
#[derive(Default)]
struct Named {
    applied: Option<AppliedDefinition>,
    /// In a few words.
    summary: Option<String>,
    requested_model: Option<String>,
    timeout: Option<f64>,
    /// Why the task must not start.
    refusal: Option<String>,
}

impl Planner<'_> {
    fn plan(
        &mut self,
        task: TaskArguments,
        named: Option<(DefinitionKind, String)>,
        session: Option<Past<'_>>,
    ) -> Result<PlannedTask, CallError> {
        let surroundings = &self.workspace.surroundings;
        let cwd = task.cwd.as_ref().map_or_else(|| surroundings.cwd.clone(), PathBuf::from);
        let bad_cwd = plan::check_cwd(task.cwd.as_deref()).err();
        let definition = match &named {
            None => Named { timeout: Some(DEFAULT_TIMEOUT), ..Named::default() },
            // Nothing is looked for where the task cannot work.
            Some((_, name)) if bad_cwd.is_some() => {
                Named { summary: Some(name.clone()), ..Named::default() }
            }
            Some((kind, name)) => self.find(*kind, name, task.model.as_deref(), &cwd),
        };
        let refusal = bad_cwd.or(definition.refusal);
        let resumed = session.as_ref().map(|session| session.resume_prompt(&task.prompt));
        let resumed = resumed.transpose()?;
        let prompt = resumed.as_deref().unwrap_or(&task.prompt);
        let files = if refusal.is_some() { &[] } else { task.files.as_slice() };
        let prompt = with_files(files, &cwd, prompt);
        // Background runs are listed with their tasks, and a list reads no prompts.
        let is_listed = self.options.lifetime == Lifetime::Background;
        let original = (is_listed || prompt != task.prompt).then(|| task.prompt.clone());
        let request = Request {
            name: task.name,
            prompt,
            task: original,
            cwd: task.cwd,
            timeout: task.timeout.or(definition.timeout),
            model: task.model,
            requested_model: definition.requested_model,
            named,
            definition: definition.applied,
            session_id: session.map(Past::into_id),
            owner: self.options.owner.clone(),
            lifetime: self.options.lifetime,
            refusal,
        };
        let named = request.definition.as_ref().and_then(|applied| applied.definition.agent);
        let agent = self.options.agent.for_task(named);
        let plan = plan::plan(request, &agent, surroundings, &self.workspace.settings)?;
        Ok(PlannedTask { plan, definition: definition.summary })
    }

    /// What a task names, made ready for it.
    fn find(&mut self, kind: DefinitionKind, name: &str, model: Option<&str>, cwd: &Path) -> Named {
        let mut definition = match self.workspace.definitions(kind).get(name) {
            Ok(definition) => definition.clone(),
            Err(unknown) => {
                let refusal = Some(unknown.to_string());
                return Named { summary: Some(name.to_owned()), refusal, ..Named::default() };
            }
        };
        let timeout = match kind {
            DefinitionKind::Profile => Some(DEFAULT_TIMEOUT),
            DefinitionKind::Preset => definition.timeout,
        };
        let key_provider = definition.provider.clone();
        let chosen = match kind {
            DefinitionKind::Profile => override_model(&mut definition, model).map(|()| None),
            DefinitionKind::Preset => self.choose_model(&mut definition, model),
        };
        let summary = Some(definition_summary(&definition));
        let applied = chosen.and_then(|requested_model| {
            let invocation = self.invocation(&definition, model.is_some(), cwd)?;
            Ok((AppliedDefinition { definition, invocation, key_provider }, requested_model))
        });
        match applied {
            Ok((applied, requested_model)) => {
                Named { applied: Some(applied), summary, requested_model, timeout, refusal: None }
            }
            Err(refusal) => Named { summary, timeout, refusal: Some(refusal), ..Named::default() },
        }
    }

    /// Decides the model of a preset's run: that of the call, else that of the preset, in the
    /// spelling of the list. Returns how it was written, if that was in another way.
    fn choose_model(
        &self,
        preset: &mut Definition,
        model: Option<&str>,
    ) -> Result<Option<String>, String> {
        override_model(preset, model)?;
        let Some(written) = &preset.model else {
            return Err(format!(
                "No model resolved: the call names no model, and neither does {} ({}).",
                preset.label(),
                preset.path.display()
            ));
        };
        let Some(models) = &self.options.models else {
            return Ok(None);
        };
        let requested = match &preset.provider {
            Some(provider) if !written.starts_with(&format!("{provider}/")) => {
                format!("{provider}/{written}")
            }
            _ => written.clone(),
        };
        let resolved = resolve_model(&requested, models).map_err(|error| error.to_string())?;
        let is_respelled = resolved != requested;
        preset.model = Some(resolved);
        preset.provider = None;
        Ok(is_respelled.then_some(requested))
    }

    fn invocation(
        &mut self,
        definition: &Definition,
        is_model_asked_for: bool,
        cwd: &Path,
    ) -> Result<plan::Invocation, String> {
        let names_skills =
            !definition.suggested_skills.is_empty() || !definition.load_skills.is_empty();
        let skills = if names_skills {
            let skills = self.skills.get_or_insert_with(|| self.workspace.skills());
            skills.resolve(definition, cwd).map_err(|error| error.to_string())?
        } else {
            plan::ResolvedSkills::default()
        };
        let context = InvocationContext {
            all_tools: self.options.all_tools.as_deref(),
            skills: &skills,
            trust: self.workspace.trust_in(definition.kind),
            is_model_asked_for,
        };
        plan::invocation(definition, &context).map_err(|error| error.to_string())
    }
}

/// Puts the model that a task names, in the agent's words, with or without a provider, in the place
/// of the definition's.
fn override_model(definition: &mut Definition, model: Option<&str>) -> Result<(), String> {
    let Some(model) = model else {
        return Ok(());
    };
    if definition.api_key.is_some() && definition.provider.is_none() {
        // Nobody can tell whose key it is, and it must not go to a stranger.
        return Err(format!(
            "{} has a key but names no provider, so it cannot be used with another model. Add the \
             provider to the {}.",
            definition.label(),
            definition.kind.word()
        ));
    }
    definition.model = Some(model.to_owned());
    definition.provider = None;
    Ok(())
}

#[cfg(test)]
mod tests;
