//! From the tasks of a call to plans, for `delegate_to_subagents` and every other tool: the sessions
//! that tasks continue are found here, everything else is decided by the crate `plan`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use model::{InvalidId, RunId, SessionId};
use plan::{
    AgentError, ContinuedSession, Contradiction, PlanOptions, PlannedTask, Workspace, check_tasks,
    plan_tasks,
};
use store::{Claim, Store, StoreError};

use crate::retrieval::session_id;
use crate::{
    DelegateArguments, KnownRun, Session, SessionBook, SessionError, TaskArguments, load_sessions,
};

/// What a door adds to the arguments.
#[derive(Clone, Debug)]
pub struct CallOptions<'a> {
    /// What is the same for all tasks.
    pub planning: PlanOptions,
    /// The sessions that the door remembers for its caller. They can be continued even if the store
    /// does not have them any more.
    pub book: Option<&'a SessionBook>,
}

/// A call that is ready to run.
#[derive(Debug)]
pub struct PlannedCall {
    /// Its tasks, in their order.
    pub tasks: Vec<PlannedTask>,
    /// What the user should know about the files that were read for it.
    pub warnings: Vec<String>,
    /// What the caller should know about fields that were left out.
    pub ignored: Vec<String>,
    /// Keep them until the call is over: no other program continues the same sessions meanwhile.
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

/// The runs of the caller's project.
pub fn project_store(workspace: &Workspace) -> Store {
    Store::in_project(workspace.surroundings.project_root())
}

/// Plans all tasks of a call. What is wrong with one task becomes its refusal; contradictions in
/// profiles and presets, and sessions that cannot be resumed refuse the whole call.
pub fn plan_delegation(
    workspace: &Workspace,
    arguments: DelegateArguments,
    options: &CallOptions<'_>,
) -> Result<PlannedCall, CallError> {
    let DelegateArguments { mut tasks, profile: default_profile } = arguments;
    for task in &mut tasks {
        task.profile = task.profile.take().or_else(|| default_profile.clone());
    }
    check_tasks(workspace, &tasks)?;
    let (sessions, claims) = claim_sessions(workspace, options.book, &tasks)?;
    let tasks = tasks.into_iter().zip(sessions).map(|(task, session)| {
        let session = session.map(|session| session.continued(&task.prompt)).transpose()?;
        Ok((task, session))
    });
    let tasks: Vec<_> = tasks.collect::<Result<_, CallError>>()?;
    let planned = plan_tasks(workspace, &options.planning, tasks)?;
    let ignored = Vec::new();
    Ok(PlannedCall { tasks: planned.tasks, warnings: planned.warnings, ignored, claims })
}

/// A session that a task continues.
enum Past<'a> {
    /// As the store has it.
    Kept(Session),
    /// As the door remembers it for its caller.
    Remembered(SessionId, &'a SessionBook),
}

impl Past<'_> {
    fn continued(self, prompt: &str) -> Result<ContinuedSession, CallError> {
        Ok(match self {
            Past::Kept(session) => ContinuedSession {
                id: session.id.clone(),
                prompt: session.resume_prompt(prompt)?,
                access: session.runs.last().map(|run| run.meta.access),
                agent: session.runs.last().and_then(|run| run.meta.agent.clone()),
                worktree: session.runs.iter().rev().find_map(kept_changes),
            },
            Past::Remembered(id, book) => ContinuedSession {
                prompt: book.resume_prompt(id.as_str(), prompt)?,
                access: book.access(id.as_str()),
                agent: None,
                worktree: None,
                id,
            },
        })
    }
}

/// The run, if its changes are kept as a ref.
fn kept_changes(run: &KnownRun) -> Option<RunId> {
    run.result.as_ref()?.changes.as_ref()?.reference.as_ref()?;
    Some(run.meta.run_id.clone())
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
        // Another program may have continued one between our look and our claim.
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
    let store = project_store(workspace);
    let (mut known, _) = load_sessions(&store)?;
    let mut taken = BTreeSet::new();
    let mut find = |text: &String| {
        let id = session_id(&store, text);
        let id = id.ok_or_else(|| CallError::ResumeNotFound(text.clone()))?;
        if taken.contains(&id) {
            return Err(CallError::ResumedTwice(text.clone()));
        }
        taken.insert(id.clone());
        match (known.remove(&id), book.filter(|book| book.knows(id.as_str()))) {
            (Some(session), _) if session.is_running() => {
                Err(CallError::ResumeRunning(text.clone()))
            }
            (Some(session), _) => Ok(Past::Kept(session)),
            (None, Some(book)) if book.is_running(id.as_str()) => {
                Err(CallError::ResumeRunning(text.clone()))
            }
            (None, Some(book)) => Ok(Past::Remembered(id, book)),
            (None, None) => Err(CallError::ResumeNotFound(text.clone())),
        }
    };
    tasks.iter().map(|task| task.resume.as_ref().map(&mut find).transpose()).collect()
}

#[cfg(test)]
mod tests;
