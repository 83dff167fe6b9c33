//! How a call begins: from the name of a tool and its arguments to the answer, or to tasks that run.

use std::time::Duration;

use model::{Lifetime, SessionId};
use plan::{AgentChoice, PlanOptions};
use serde_json::Value;

use super::open_call::OpenCall;
use super::tool_call::ToolCall;
use super::{
    AwaitedSession, CallContext, CallKind, CallReply, CallServer, OpenCallId, Reporting,
    RunningCall, Tool, ToolAnswer, ToolError, Work,
};
use crate::{
    Appearance, BackgroundCounts, BackgroundRecord, CallError, CallOptions, PlannedCall, Retrieved,
    SessionError, StatusArguments, Workspace, background_answer, background_status,
    foreground_launcher, load_background, plan_background, plan_delegation, plan_subagent,
    profiles_answer, running_runs, session_output, session_transcript, similar_sessions,
    start_background,
};

impl CallServer {
    /// Reads what a call needs. There is no cache: a profile that was just changed counts at once.
    pub fn load_workspace(&mut self) -> Workspace {
        let workspace = Workspace::load(self.caller.surroundings.clone(), self.caller.approval);
        self.warn(&workspace.warnings);
        workspace
    }

    /// Calls a tool by its name.
    pub fn call(
        &mut self,
        tool: &str,
        arguments: &Value,
        context: &CallContext,
    ) -> Result<CallReply, ToolError> {
        let workspace = self.load_workspace();
        let max_lines = workspace.settings.max_lines_per_window;
        let answer = |tool, retrieved| ToolAnswer { tool, retrieved, max_lines };
        let answer = match ToolCall::parse(tool, arguments)? {
            ToolCall::Delegate(arguments) => {
                let plan =
                    |options: &CallOptions<'_>| plan_delegation(&workspace, arguments, options);
                let planned = self.plan(&workspace, context, plan)?;
                let call = self.submit(&workspace, CallKind::Delegate, planned, context)?;
                return Ok(CallReply::Pending(call));
            }
            ToolCall::Subagent(arguments) => {
                let plan =
                    |options: &CallOptions<'_>| plan_subagent(&workspace, &arguments, options);
                let planned = self.plan(&workspace, context, plan)?;
                let kind = CallKind::Subagent(arguments);
                return Ok(CallReply::Pending(self.submit(&workspace, kind, planned, context)?));
            }
            ToolCall::Background(arguments) => {
                let plan =
                    |options: &CallOptions<'_>| plan_background(&workspace, arguments, options);
                let record = self.start_background(self.plan(&workspace, context, plan)?)?;
                let counts = self.background_counts()?;
                answer(Tool::Background, background_answer(&record, counts))
            }
            ToolCall::Output(arguments) => {
                let id = &arguments.session_id;
                if let Some(session) = self.unended_session(id, &workspace)? {
                    let call = self.open(&workspace, Work::Session(session), context.reporting);
                    return Ok(CallReply::Pending(call));
                }
                self.session_output(id, max_lines)?
            }
            ToolCall::Transcript(arguments) => {
                let (id, book) = (&arguments.session_id, Some(&self.sessions));
                let transcript = session_transcript(&self.store, book, id, max_lines);
                let transcript = transcript.map_err(|error| self.unknown_session(error))?;
                answer(Tool::Transcript, transcript)
            }
            ToolCall::Profiles => {
                let profiles = profiles_answer(&workspace.profiles, &workspace.surroundings);
                ToolAnswer { max_lines: usize::MAX, ..answer(Tool::Profiles, profiles) }
            }
            ToolCall::Status(arguments) => answer(Tool::Status, self.status(&arguments)?),
        };
        Ok(CallReply::Answer(answer))
    }

    /// Plans a call, with what has to be known about the caller. A session that is to be resumed and is
    /// not found is answered with those that may have been meant.
    pub fn plan(
        &self,
        workspace: &Workspace,
        context: &CallContext,
        plan: impl FnOnce(&CallOptions<'_>) -> Result<PlannedCall, CallError>,
    ) -> Result<PlannedCall, ToolError> {
        let planned = self.options(workspace, context).and_then(|options| plan(&options));
        planned.map_err(|error| match &error {
            CallError::ResumeNotFound(id) => self.no_such_session(id, &error),
            _ => ToolError::Call(error),
        })
    }

    fn options(
        &self,
        workspace: &Workspace,
        context: &CallContext,
    ) -> Result<CallOptions<'_>, CallError> {
        let Workspace { surroundings, settings, .. } = workspace;
        if !surroundings.cwd.is_dir() {
            // The record of the run would make it anew, and an agent would work in nothing.
            return Err(CallError::DirectoryGone(surroundings.cwd.clone()));
        }
        let planning = PlanOptions {
            agent: AgentChoice::new(self.caller.agent.as_deref(), surroundings, settings)?,
            owner: self.caller.owner.clone(),
            lifetime: Lifetime::Foreground,
            // A child never has our own tools.
            all_tools: context.all_tools.as_ref().map(|all| {
                all.iter().filter(|name| Tool::named(name).is_none()).cloned().collect()
            }),
            models: context.models.clone(),
        };
        Ok(CallOptions { planning, book: Some(&self.sessions) })
    }

    /// Queues the tasks of a call that was planned.
    pub fn submit(
        &mut self,
        workspace: &Workspace,
        kind: CallKind,
        planned: PlannedCall,
        context: &CallContext,
    ) -> Result<OpenCallId, ToolError> {
        self.warn(&planned.warnings);
        self.refuse_if_closed()?;
        let launcher = foreground_launcher(&self.caller.surroundings)?;
        let concurrency = context.concurrency.unwrap_or(workspace.settings.max_concurrency);
        let appearance = self.appearance(workspace);
        let submit = |plans| self.dispatcher.submit(launcher, concurrency, plans);
        let call = RunningCall::new(kind, planned, &appearance, submit);
        Ok(self.open(workspace, Work::Tasks(call), context.reporting))
    }

    /// Starts the one task of a call that was planned. It outlives this process.
    pub fn start_background(
        &mut self,
        planned: PlannedCall,
    ) -> Result<BackgroundRecord, ToolError> {
        self.warn(&planned.warnings);
        let (dir, record) = start_background(&mut self.dispatcher, planned)?;
        if let Some(background) = &mut self.background {
            background.start(&record, dir, &mut self.events);
        }
        Ok(record)
    }

    /// How many background runs the caller has.
    pub fn background_counts(&self) -> Result<BackgroundCounts, ToolError> {
        match &self.background {
            Some(background) => Ok(background.book().counts()),
            None => Ok(load_background(&self.store, Some(&self.caller.owner))?.counts()),
        }
    }

    /// What the caller's settings and terminal decide about windows.
    pub fn appearance(&self, workspace: &Workspace) -> Appearance {
        Appearance::new(workspace, self.caller.columns)
    }

    pub(super) fn session_output(
        &self,
        id: &str,
        max_lines: usize,
    ) -> Result<ToolAnswer, ToolError> {
        let output = session_output(&self.store, Some(&self.sessions), id, max_lines);
        let retrieved = output.map_err(|error| self.unknown_session(error))?;
        Ok(ToolAnswer { tool: Tool::Output, retrieved, max_lines })
    }

    fn open(&mut self, workspace: &Workspace, work: Work, reporting: Reporting) -> OpenCallId {
        let id = OpenCallId(self.next_call);
        self.next_call += 1;
        let patience = Duration::from_secs_f64(workspace.settings.mcp_answer_after);
        self.calls.push(OpenCall::new(id, work, reporting, patience));
        id
    }

    /// The session, if the caller can wait for its end.
    fn unended_session(
        &self,
        id: &str,
        workspace: &Workspace,
    ) -> Result<Option<AwaitedSession>, ToolError> {
        let session = SessionId::parse(id).ok().filter(|_| self.caller.waits_for_sessions);
        let Some(session) = session else {
            return Ok(None);
        };
        let unended = running_runs(&self.store, &session)?;
        if unended.is_empty() && self.unended_task(&session).is_none() {
            return Ok(None);
        }
        self.refuse_if_closed()?;
        let max_lines = workspace.settings.max_lines_per_window;
        let appearance = self.appearance(workspace);
        Ok(Some(AwaitedSession::new(session, unended, appearance, max_lines)))
    }

    fn status(&mut self, arguments: &StatusArguments) -> Result<Retrieved, ToolError> {
        let records = if let Some(background) = &mut self.background {
            background.look(&self.store, &mut self.events);
            background.book().runs().to_vec()
        } else {
            let loaded = load_background(&self.store, Some(&self.caller.owner))?;
            self.warn(&loaded.warnings);
            loaded.runs.into_iter().map(|run| run.record).collect()
        };
        Ok(background_status(&self.store, records, arguments)?)
    }

    /// Work that would end at once with the caller is not begun.
    fn refuse_if_closed(&self) -> Result<(), ToolError> {
        if self.is_closed { Err(ToolError::Closed) } else { Ok(()) }
    }

    fn unknown_session(&self, error: SessionError) -> ToolError {
        match &error {
            SessionError::NotFound(id) => self.no_such_session(id, &error),
            SessionError::Ambiguous { .. } | SessionError::Store(_) => ToolError::Session(error),
        }
    }

    fn no_such_session(&self, id: &str, error: &dyn std::error::Error) -> ToolError {
        let similar = similar_sessions(&self.store, id);
        ToolError::UnknownSession { problem: error.to_string(), similar }
    }
}
