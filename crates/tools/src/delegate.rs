//! `delegate_to_subagents`: from arguments to plans.

use std::collections::BTreeSet;
use std::path::PathBuf;

use model::{InvalidId, Lifetime, Owner, Plan, SessionId};
use plan::{
    Agent, AppliedProfile, Contradiction, InvocationContext, Profile, Request, Skills,
    profile_summary, with_files,
};
use store::StoreError;

use crate::{DelegateArguments, Session, TaskArguments, Workspace, load_sessions};

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

/// A call that is ready to run.
#[derive(Debug)]
pub struct PlannedCall {
    /// Its tasks, in their order.
    pub tasks: Vec<PlannedTask>,
    /// What people should know about the files that were read for it.
    pub warnings: Vec<String>,
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
) -> Result<PlannedCall, CallError> {
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
    let tasks = tasks.map(|((task, profile), session)| planner.plan(task, profile, session));
    let tasks = tasks.collect::<Result<_, _>>()?;
    let warnings = planner.skills.iter().flat_map(|skills| &skills.warnings);
    Ok(PlannedCall { tasks, warnings: warnings.map(ToString::to_string).collect() })
}

/// The session that each task continues, if it does.
fn resumed_sessions(
    workspace: &Workspace,
    tasks: &[TaskArguments],
) -> Result<Vec<Option<Session>>, CallError> {
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
        match known.remove(&id) {
            Some(session) if session.is_running() => Err(CallError::ResumeRunning(text.clone())),
            Some(session) => {
                taken.insert(id);
                Ok(session)
            }
            None => Err(CallError::ResumeNotFound(text.clone())),
        }
    };
    tasks.iter().map(|task| task.resume.as_ref().map(&mut find).transpose()).collect()
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
        let bad_cwd = plan::check_cwd(task.cwd.as_deref()).err();
        let applied = profile_name.as_ref().map(|name| match bad_cwd {
            // Nothing is looked for where the task cannot work.
            Some(_) => (None, name.clone(), None),
            None => match self.apply(name, task.model.as_deref(), &cwd) {
                Ok((applied, summary)) => (Some(applied), summary, None),
                Err((refusal, summary)) => (None, summary, Some(refusal)),
            },
        });
        let (applied, summary, refusal) = match applied {
            None => (None, None, None),
            Some((applied, summary, refusal)) => (applied, Some(summary), refusal),
        };
        let refusal = bad_cwd.or(refusal);
        let resumed = session.as_ref().map(|session| session.resume_prompt(&task.prompt));
        let resumed = resumed.transpose()?;
        let prompt = resumed.as_deref().unwrap_or(&task.prompt);
        let files = if refusal.is_some() { &[] } else { task.files.as_slice() };
        let prompt = with_files(files, &cwd, prompt);
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
        let mut plan =
            plan::plan(request, &self.options.agent, surroundings, &self.workspace.settings)?;
        // Also of a task that is refused because of it.
        plan.meta.profile = profile_name;
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
        let key_provider = profile.provider.clone();
        if let Some(model) = model {
            if profile.api_key.is_some() && key_provider.is_none() {
                // Nobody can tell whose key it is, and it must not go to a stranger.
                let refusal = format!(
                    "Profile \"{name}\" has a key but names no provider, so it cannot be used with \
                     another model. Add the provider to the profile."
                );
                return Err((refusal, profile_summary(&profile)));
            }
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
        Ok((AppliedProfile { profile, invocation, key_provider }, summary))
    }
}

#[cfg(test)]
mod tests;
