//! How a call begins: from the name of a tool and its arguments to the answer, or to tasks that run.

use std::time::Duration;

use model::{Budget, Lifetime, Message, MessageTiming, Plan, RunId};
use plan::{AgentChoice, PlanOptions, PlannedTask};
use serde_json::Value;

use super::open_call::OpenCall;
use super::tool_call::ToolCall;
use super::{
    AwaitedSession, CallContext, CallKind, CallReply, CallServer, ControlledRun, OpenCallId,
    Reporting, RunningCall, Tool, ToolAnswer, ToolError, Work,
};
use crate::agents::{continuing, find_agent};
use crate::retrieval::session_id;
use crate::{
    Appearance, BackgroundArguments, BackgroundCounts, BackgroundRecord, BackgroundRunError,
    CallError, CallOptions, ControlAction, ControlArguments, ListedAgent, PlannedCall, Retrieved,
    SessionError, StatusArguments, Workspace, background_answer, background_status,
    find_background, foreground_launcher, list_agents, load_background, plan_background,
    plan_delegation, plan_subagent, profiles_answer, running_runs, session_output,
    session_transcript, similar_background, similar_sessions, start_background,
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
        let answer = |tool, retrieved| ToolAnswer { tool, retrieved, max_lines: Some(max_lines) };
        let (tool_call, ignored) = ToolCall::parse(tool, arguments)?;
        let answer = match tool_call {
            ToolCall::Delegate(arguments) => {
                let plan =
                    |options: &CallOptions<'_>| plan_delegation(&workspace, arguments, options);
                let mut planned = self.plan(&workspace, context, plan)?;
                planned.ignored = ignored;
                let call = self.submit(&workspace, CallKind::Delegate, planned, context)?;
                return Ok(CallReply::Pending(call));
            }
            ToolCall::Subagent(arguments) => {
                let plan =
                    |options: &CallOptions<'_>| plan_subagent(&workspace, &arguments, options);
                let mut planned = self.plan(&workspace, context, plan)?;
                planned.ignored = ignored;
                let kind = CallKind::Subagent(arguments);
                return Ok(CallReply::Pending(self.submit(&workspace, kind, planned, context)?));
            }
            ToolCall::Background(arguments) => {
                let plan =
                    |options: &CallOptions<'_>| plan_background(&workspace, *arguments, options);
                let record = self.start_background(self.plan(&workspace, context, plan)?)?;
                let counts = self.background_counts()?;
                answer(Tool::Background, background_answer(&record, counts))
            }
            ToolCall::Output(arguments) => {
                let id = &arguments.session_id;
                if let Some(session) = self.unended_session(id, &workspace)? {
                    let work = Work::Session(session);
                    let call = self.open(&workspace, work, context.reporting, ignored);
                    return Ok(CallReply::Pending(call));
                }
                self.session_output(id, max_lines)?
            }
            ToolCall::Transcript(arguments) => {
                let (id, book) = (&arguments.session_id, self.sessions.as_ref());
                let transcript = session_transcript(&self.store, book, id, max_lines);
                let transcript = transcript.map_err(|error| self.unknown_session(error))?;
                answer(Tool::Transcript, transcript)
            }
            ToolCall::Profiles => {
                self.warn(&workspace.all_warnings());
                let profiles = profiles_answer(&workspace.profiles, &workspace.surroundings);
                ToolAnswer { max_lines: None, ..answer(Tool::Profiles, profiles) }
            }
            ToolCall::Control(ControlArguments { run_id, action, message }) => {
                let run = find_background(&self.store, &run_id)
                    .map_err(|error| self.no_such_run(error))?;
                self.refuse_if_closed()?;
                let controlled = match action {
                    ControlAction::Stop => ControlledRun::stop(run),
                    ControlAction::Message => {
                        let text = message.ok_or(ToolError::NoMessage)?;
                        let message = Message { text, timing: MessageTiming::Steer };
                        ControlledRun::tell(run.dir, message)
                    }
                };
                let work = Work::Control(Box::new(controlled.map_err(ToolError::Wait)?));
                let call = self.open(&workspace, work, context.reporting, ignored);
                return Ok(CallReply::Pending(call));
            }
            ToolCall::Status(arguments) => answer(Tool::Status, self.status(&arguments)?),
        };
        Ok(CallReply::Answer(answer.with_warnings(&ignored)))
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
        let refuse_missing = |mut planned: PlannedCall| {
            planned.tasks.iter_mut().for_each(PlannedTask::refuse_missing_agent);
            planned
        };
        planned.map(refuse_missing).map_err(|error| match &error {
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
            access: self.caller.access,
            ask: self.caller.ask,
            isolation: self.caller.isolation,
            on: self.caller.on.clone(),
            fleet: self.caller.fleet.clone(),
            budget: self.caller.budget,
            agent_version: runner::agent_version,
        };
        Ok(CallOptions { planning, book: self.sessions.as_ref() })
    }

    /// Limits what the tasks of each later call may spend together.
    pub fn limit_calls(&mut self, budget: Budget) {
        self.caller.budget = budget;
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
        let submit = |plans: &mut dyn Iterator<Item = Box<Plan>>| {
            let submitted = self.dispatcher.submit(launcher, concurrency, plans);
            self.dispatcher.limit(submitted.lane, self.caller.budget);
            submitted
        };
        let inline = workspace.settings.inline_answers;
        let call = RunningCall::new(kind, planned, inline, &appearance, submit);
        // The tasks have the warnings.
        Ok(self.open(workspace, Work::Tasks(Box::new(call)), context.reporting, Vec::new()))
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

    /// Continues the session of a run in the background.
    pub fn resume(
        &mut self,
        run: &str,
        prompt: &str,
        context: &CallContext,
    ) -> Result<BackgroundRecord, ToolError> {
        let meta = find_agent(&self.store, run)?.meta()?;
        let workspace = self.load_workspace();
        let arguments = BackgroundArguments { task: continuing(&meta, prompt) };
        let plan = |options: &CallOptions<'_>| plan_background(&workspace, arguments, options);
        let planned = self.plan(&workspace, context, plan)?;
        self.start_background(planned)
    }

    /// The runs of the caller, and those of others in its project.
    pub fn agents(&mut self) -> Result<Vec<ListedAgent>, ToolError> {
        let workspace = self.load_workspace();
        Ok(list_agents(&self.store, &self.caller.owner, &self.appearance(&workspace))?)
    }

    /// Tells the agent of any run something, whichever program started it. The call is over when its
    /// supervisor has accepted or refused the message.
    pub fn tell(&mut self, run_id: &str, message: Message) -> Result<OpenCallId, ToolError> {
        let dir = RunId::parse(run_id).ok().and_then(|id| self.store.run(&id));
        let dir =
            dir.ok_or_else(|| self.no_such_run(BackgroundRunError::NotFound(run_id.to_owned())))?;
        self.refuse_if_closed()?;
        let workspace = self.load_workspace();
        let controlled = ControlledRun::tell(dir, message).map_err(ToolError::Wait)?;
        let work = Work::Control(Box::new(controlled));
        Ok(self.open(&workspace, work, Reporting::Unpaced, Vec::new()))
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
        let appearance = Appearance::new(workspace, self.caller.columns);
        if self.caller.has_windows { appearance } else { appearance.without_windows() }
    }

    pub(super) fn session_output(
        &self,
        id: &str,
        max_lines: usize,
    ) -> Result<ToolAnswer, ToolError> {
        let output = session_output(&self.store, self.sessions.as_ref(), id, max_lines);
        let retrieved = output.map_err(|error| self.unknown_session(error))?;
        Ok(ToolAnswer { tool: Tool::Output, retrieved, max_lines: Some(max_lines) })
    }

    fn open(
        &mut self,
        workspace: &Workspace,
        work: Work,
        reporting: Reporting,
        ignored: Vec<String>,
    ) -> OpenCallId {
        let id = OpenCallId(self.next_call);
        self.next_call += 1;
        let patience = Duration::from_secs_f64(workspace.settings.mcp_answer_after);
        self.calls.push(OpenCall::new(id, work, reporting, patience, ignored));
        id
    }

    /// The session, if the caller can wait for its end.
    fn unended_session(
        &self,
        id: &str,
        workspace: &Workspace,
    ) -> Result<Option<AwaitedSession>, ToolError> {
        let session = session_id(&self.store, id).filter(|_| self.caller.waits_for_sessions);
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
            SessionError::Store(_) => ToolError::Session(error),
        }
    }

    fn no_such_run(&self, error: BackgroundRunError) -> ToolError {
        match error {
            BackgroundRunError::Store(error) => ToolError::Store(error),
            BackgroundRunError::NotFound(id) => {
                let similar = similar_background(&self.store, &id);
                ToolError::UnknownRun { problem: format!("No run found for runId: {id}."), similar }
            }
        }
    }

    fn no_such_session(&self, id: &str, error: &dyn std::error::Error) -> ToolError {
        let similar = similar_sessions(&self.store, id);
        ToolError::UnknownSession { problem: error.to_string(), similar }
    }
}
