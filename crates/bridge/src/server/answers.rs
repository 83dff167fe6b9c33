//! The seven tools.

use std::fmt::Display;

use model::Lifetime;
use plan::AgentChoice;
use plan::ToolFamilies;
use runner::ProcessLauncher;
use serde_json::Value;
use session::view::{self, Line};
use tools::{
    BackgroundArguments, BackgroundRecord, CallOptions, DelegateArguments, MOST_TASKS, NoArguments,
    PlannedCall, Retrieved, SessionArguments, StatusArguments, SubagentArguments, Workspace,
};

use super::{Refusal, Server, ToolCall};
use crate::call::{Answer, Call, CallKind, Tasks};
use crate::wire;

impl Server {
    /// The answer to a call of a tool, or nothing if it comes when its tasks have ended.
    pub(super) fn call(&mut self, id: &Value, call: ToolCall) -> Result<Option<Value>, Refusal> {
        let workspace = self.workspace();
        self.warn(&workspace.warnings);
        let max_lines = workspace.settings.max_lines_per_window;
        let arguments = &call.arguments;
        let answer = match call.name.as_str() {
            "delegate_to_subagents" => {
                let arguments =
                    DelegateArguments::parse(arguments, Some(MOST_TASKS)).map_err(refuse)?;
                let options = self.options(&workspace, &call)?;
                let planned =
                    tools::plan_delegation(&workspace, arguments, &options).map_err(refuse)?;
                self.start(id, call, CallKind::Delegate, planned, &workspace)?;
                return Ok(None);
            }
            "subagent" => {
                let arguments =
                    SubagentArguments::parse(arguments, Some(MOST_TASKS)).map_err(refuse)?;
                let options = self.options(&workspace, &call)?;
                let planned =
                    tools::plan_subagent(&workspace, &arguments, &options).map_err(refuse)?;
                self.start(id, call, CallKind::Subagent(arguments), planned, &workspace)?;
                return Ok(None);
            }
            "get_subagent_output" => {
                let SessionArguments { session_id } =
                    SessionArguments::parse(arguments).map_err(refuse)?;
                let book = Some(&self.book);
                let output = tools::session_output(&self.store, book, &session_id, max_lines);
                truncated(output.map_err(refuse)?, max_lines)
            }
            "get_subagent_session" => {
                let SessionArguments { session_id } =
                    SessionArguments::parse(arguments).map_err(refuse)?;
                let book = Some(&self.book);
                let session = tools::session_transcript(&self.store, book, &session_id, max_lines);
                truncated(session.map_err(refuse)?, max_lines)
            }
            "list_subagent_profiles" => {
                NoArguments::parse(arguments).map_err(refuse)?;
                truncated(
                    tools::profiles_answer(&workspace.profiles, &workspace.surroundings),
                    usize::MAX,
                )
            }
            "background_agent" => {
                let arguments = BackgroundArguments::parse(arguments).map_err(refuse)?;
                let options = self.options(&workspace, &call)?;
                let planned =
                    tools::plan_background(&workspace, arguments, &options).map_err(refuse)?;
                truncated(self.start_background(planned)?, max_lines)
            }
            "background_agent_status" => {
                let arguments = StatusArguments::parse(arguments).map_err(refuse)?;
                self.background.look(&self.store, &self.client);
                let known = self.background.records();
                let status = tools::background_status(&self.store, known, &arguments);
                truncated(status.map_err(refuse)?, max_lines)
            }
            name => return Err(refuse(format!("There is no tool \"{name}\"."))),
        };
        Ok(Some(answer.into_json()))
    }

    fn options(&self, workspace: &Workspace, call: &ToolCall) -> Result<CallOptions<'_>, Refusal> {
        let cwd = &self.surroundings.cwd;
        if !cwd.is_dir() {
            // It would be made anew for the record of the run, and an agent would work in nothing.
            return Err(refuse(format!("the directory {} is gone", cwd.display())));
        }
        let agent =
            AgentChoice::new(None, &self.surroundings, &workspace.settings).map_err(refuse)?;
        // Children never have ours.
        let ours = tools::describe_tools(&[], ToolFamilies::All);
        let is_ours = |name: &String| ours.iter().any(|tool| tool.name == name);
        let all_tools = call.all_tools.iter().filter(|name| !is_ours(name)).cloned().collect();
        Ok(CallOptions {
            agent,
            owner: self.owner.clone(),
            lifetime: Lifetime::Foreground,
            all_tools: Some(all_tools),
            models: (!call.models.is_empty()).then(|| call.models.clone()),
            book: Some(&self.book),
        })
    }

    fn start(
        &mut self,
        id: &Value,
        call: ToolCall,
        kind: CallKind,
        planned: PlannedCall,
        workspace: &Workspace,
    ) -> Result<(), Refusal> {
        self.warn(&planned.warnings);
        let launcher = tools::foreground_launcher(&self.surroundings).map_err(|error| {
            let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            refuse(format!("{error}{hint}"))
        })?;
        let tasks = Tasks::new(&planned.tasks, &self.appearance(workspace));
        let plans = planned.tasks.into_iter().map(|task| task.plan).collect();
        let concurrency = workspace.settings.max_concurrency;
        let submitted = self.dispatcher.submit(launcher, concurrency, plans);
        let is_drawn = self.hello.mode == "tui";
        let request = (call.call_id, id.clone());
        self.calls.push(Call::new(request, kind, tasks, submitted, planned.claims, is_drawn));
        Ok(())
    }

    fn start_background(&mut self, planned: PlannedCall) -> Result<Retrieved, Refusal> {
        self.warn(&planned.warnings);
        let task = planned.tasks.into_iter().next();
        let task = task.ok_or_else(|| refuse("nothing was planned"))?;
        let launcher = ProcessLauncher::own()
            .map_err(|error| refuse(format!("this program cannot find itself: {error}")))?;
        let (dir, meta) = self.dispatcher.start_background(&launcher, task.plan).map_err(refuse)?;
        let record = BackgroundRecord::started(&dir, &meta);
        self.background.start(&record, dir, &self.client);
        Ok(tools::background_answer(&record, self.background.counts()))
    }
}

/// An answer that is shown by its first lines.
fn truncated(retrieved: Retrieved, max_lines: usize) -> Answer {
    let Retrieved { text, mut details } = retrieved;
    let lines: Vec<Line> = view::truncated(&text, max_lines);
    details["lines"] = wire::kept(&lines);
    Answer { text, details, usage: None, is_error: false }
}

/// The call is refused, for the reason that the model is told.
fn refuse(error: impl Display) -> Refusal {
    Refusal::because(&error)
}
