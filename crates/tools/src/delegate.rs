//! `delegate_to_subagents`: from arguments to plans.

use std::path::PathBuf;

use model::{InvalidId, Lifetime, Owner, Plan, SessionId};
use plan::{
    Agent, AppliedProfile, Contradiction, InvocationContext, Profile, Request, Skills,
    profile_summary, with_files,
};
use store::StoreError;

use crate::{DelegateArguments, Session, SessionError, TaskArguments, Workspace, find_session};

/// What the door adds to the arguments.
#[derive(Clone, Debug)]
pub struct DelegateOptions {
    /// The agent of every task.
    pub agent: Agent,
    /// Who asks.
    pub owner: Owner,
    /// The names of all tools that a child could have, where the door knows them.
    pub all_tools: Option<Vec<String>>,
}

/// A task that is ready to run.
#[derive(Debug)]
pub struct PlannedTask {
    /// What will be run.
    pub plan: Plan,
    /// The profile in a few words.
    pub profile: Option<String>,
}

/// The whole call is refused; nothing has been started.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum CallError {
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
    Session(SessionError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Id(#[from] InvalidId),
}

/// How long a delegated task may run if it does not say.
const DEFAULT_TIMEOUT: f64 = 600.0;

/// Plans all tasks of a call. What is wrong with one task becomes its refusal; contradictions in
/// profiles and sessions that cannot be resumed refuse the whole call.
pub fn plan_delegation(
    workspace: &Workspace,
    arguments: DelegateArguments,
    options: &DelegateOptions,
) -> Result<Vec<PlannedTask>, CallError> {
    let DelegateArguments { tasks, profile: default_profile } = arguments;
    let profile_names: Vec<Option<String>> =
        tasks.iter().map(|task| task.profile.clone().or_else(|| default_profile.clone())).collect();
    for name in profile_names.iter().flatten() {
        if let Ok(profile) = workspace.profiles.get(name) {
            plan::check_profile(profile)?;
        }
    }
    let resumed = resumed_sessions(workspace, &tasks)?;
    let mut planner = Planner { workspace, options, skills: None };
    let tasks = tasks.into_iter().zip(profile_names).zip(resumed);
    tasks.map(|((task, profile), session)| planner.plan(task, profile, session)).collect()
}

fn resumed_sessions(
    workspace: &Workspace,
    tasks: &[TaskArguments],
) -> Result<Vec<Option<Session>>, CallError> {
    let mut sessions: Vec<Option<Session>> = Vec::new();
    for task in tasks {
        let session = task.resume.as_ref().map(|id| match find_session(&workspace.store, id) {
            Ok(session) if session.is_running() => Err(CallError::ResumeRunning(id.clone())),
            Ok(session) => Ok(session),
            Err(SessionError::NotFound(id)) => Err(CallError::ResumeNotFound(id)),
            Err(error) => Err(CallError::Session(error)),
        });
        let session = session.transpose()?;
        let is_taken = |id: &SessionId| sessions.iter().flatten().any(|other| other.id == *id);
        if let Some(session) = session.as_ref().filter(|session| is_taken(&session.id)) {
            return Err(CallError::ResumedTwice(session.id.to_string()));
        }
        sessions.push(session);
    }
    Ok(sessions)
}

struct Planner<'a> {
    workspace: &'a Workspace,
    options: &'a DelegateOptions,
    /// Looked for once, and only if a profile names any.
    skills: Option<Skills>,
}

impl Planner<'_> {
    fn plan(
        &mut self,
        task: TaskArguments,
        profile_name: Option<String>,
        session: Option<Session>,
    ) -> Result<PlannedTask, CallError> {
        let surroundings = &self.workspace.surroundings;
        let cwd = task.cwd.as_ref().map_or_else(|| surroundings.cwd.clone(), PathBuf::from);
        let (applied, summary, refusal) = match profile_name {
            None => (None, None, None),
            Some(name) => match self.apply(&name, task.model.as_deref(), &cwd) {
                Ok((applied, summary)) => (Some(applied), Some(summary), None),
                Err((refusal, summary)) => (None, Some(summary), Some(refusal)),
            },
        };
        let resumed = session.as_ref().map(|session| session.resume_prompt(&task.prompt));
        let resumed = resumed.transpose()?;
        let prompt = with_files(&task.files, &cwd, resumed.as_deref().unwrap_or(&task.prompt));
        let original = (prompt != task.prompt).then(|| task.prompt.clone());
        let request = Request {
            name: task.name,
            prompt,
            task: original,
            cwd: task.cwd,
            timeout: Some(task.timeout.unwrap_or(DEFAULT_TIMEOUT)),
            model: task.model,
            profile: applied,
            session_id: session.map(|session| session.id),
            owner: self.options.owner.clone(),
            lifetime: Lifetime::Foreground,
            refusal,
        };
        let plan =
            plan::plan(request, &self.options.agent, surroundings, &self.workspace.settings)?;
        Ok(PlannedTask { plan, profile: summary })
    }

    /// The profile for one task and its summary, or why the task must not start.
    fn apply(
        &mut self,
        name: &str,
        model: Option<&str>,
        cwd: &std::path::Path,
    ) -> Result<(AppliedProfile, String), (String, String)> {
        let profile = match self.workspace.profiles.get(name) {
            Ok(profile) => profile,
            Err(unknown) => return Err((unknown.to_string(), name.to_owned())),
        };
        let mut profile: Profile = profile.clone();
        if let Some(model) = model {
            // The task names a model of its own, in the agent's words, with or without a provider.
            profile.model = Some(model.to_owned());
            profile.provider = None;
        }
        let summary = profile_summary(&profile);
        let refuse = |error: String| (error, summary.clone());
        let names_skills = !profile.suggested_skills.is_empty() || !profile.load_skills.is_empty();
        let skills = if names_skills {
            let skills = self.skills.get_or_insert_with(|| self.workspace.skills());
            skills.resolve(&profile, cwd).map_err(|error| refuse(error.to_string()))?
        } else {
            plan::ResolvedSkills::default()
        };
        let context = InvocationContext {
            all_tools: self.options.all_tools.as_deref(),
            skills: &skills,
            trust: self.workspace.trust,
        };
        let invocation =
            plan::invocation(&profile, &context).map_err(|error| refuse(error.to_string()))?;
        Ok((AppliedProfile { profile, invocation }, summary))
    }
}

#[cfg(test)]
mod tests;
