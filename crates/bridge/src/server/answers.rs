//! The seven tools.

use std::fmt::Display;

use plan::ToolFamilies;
use serde_json::Value;
use session::view::{self, Line};
use tools::{
    CallError, CallKind, CallOptions, PlannedCall, Retrieved, RunningCall, SessionArguments,
    ToolCall, Workspace,
};

use super::{Asked, Refusal, Server};
use crate::call::{Answer, Call};
use crate::wire;

impl Server {
    /// The answer to a call of a tool, or nothing if it comes when its tasks have ended.
    pub(super) fn call(&mut self, id: &Value, call: Asked) -> Result<Option<Value>, Refusal> {
        let workspace = self.workspace();
        self.warn(&workspace.warnings);
        let max_lines = workspace.settings.max_lines_per_window;
        let options = || self.options(&workspace, &call);
        let planned = ToolCall::plan(&call.name, &call.arguments, &workspace, options);
        let answer = match planned.map_err(refuse)? {
            ToolCall::Foreground(kind, planned) => {
                self.start((call.call_id, id.clone()), (kind, planned), &workspace)?;
                return Ok(None);
            }
            ToolCall::Background(planned) => {
                self.warn(&planned.warnings);
                let started = tools::start_background(&mut self.dispatcher, planned);
                let (dir, record) = started.map_err(refuse)?;
                self.background.start(&record, dir, &self.client);
                let answer = tools::background_answer(&record, self.background.counts());
                truncated(answer, max_lines)
            }
            ToolCall::Output(SessionArguments { session_id }) => {
                let book = Some(&self.book);
                let output = tools::session_output(&self.store, book, &session_id, max_lines);
                truncated(output.map_err(refuse)?, max_lines)
            }
            ToolCall::Transcript(SessionArguments { session_id }) => {
                let book = Some(&self.book);
                let session = tools::session_transcript(&self.store, book, &session_id, max_lines);
                truncated(session.map_err(refuse)?, max_lines)
            }
            ToolCall::Profiles => truncated(
                tools::profiles_answer(&workspace.profiles, &workspace.surroundings),
                usize::MAX,
            ),
            ToolCall::Status(arguments) => {
                self.background.look(&self.store, &self.client);
                let known = self.background.records();
                let status = tools::background_status(&self.store, known, &arguments);
                truncated(status.map_err(refuse)?, max_lines)
            }
        };
        Ok(Some(answer.into_json()))
    }

    fn options(&self, workspace: &Workspace, call: &Asked) -> Result<CallOptions<'_>, CallError> {
        // Children never have ours.
        let ours = tools::describe_tools(&[], ToolFamilies::All);
        let is_ours = |name: &String| ours.iter().any(|tool| tool.name == name);
        let all_tools = call.all_tools.iter().filter(|name| !is_ours(name)).cloned().collect();
        Ok(CallOptions {
            all_tools: Some(all_tools),
            models: (!call.models.is_empty()).then(|| call.models.clone()),
            ..CallOptions::of_waiting(workspace, self.owner.clone(), &self.book)?
        })
    }

    fn start(
        &mut self,
        request: (String, Value),
        planned: (CallKind, PlannedCall),
        workspace: &Workspace,
    ) -> Result<(), Refusal> {
        self.warn(&planned.1.warnings);
        let launcher = tools::foreground_launcher(&self.surroundings)
            .map_err(|error| refuse(error.with_hint()))?;
        let appearance = self.appearance(workspace);
        let concurrency = workspace.settings.max_concurrency;
        let running =
            RunningCall::submit(&mut self.dispatcher, launcher, concurrency, planned, &appearance);
        let is_drawn = self.hello.mode == "tui";
        self.calls.push(Call::new(request, running, is_drawn));
        Ok(())
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
