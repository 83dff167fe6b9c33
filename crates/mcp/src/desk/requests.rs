//! The tools.

use std::fmt::Display;
use std::time::Duration;

use model::SessionId;
use serde_json::Value;
use session::view::{self, Phase};
use tools::{
    Appearance, CallKind, CallOptions, PlannedCall, RunningCall, SessionArguments, SessionError,
    ShownTask, ToolCall, ToolError, Whose, Workspace, now_ms,
};

use super::{Asked, Service};
use crate::answer::{self, Answer, Refusal, Reply};
use crate::pending::{AwaitedSession, Pending, Work};

/// How many tasks are told of one by one.
const MOST_TOLD: usize = 4;

/// What becomes of a call.
enum Done {
    Answer(Answer),
    Later(Work),
}

impl Service<'_> {
    /// Answers a call at once, or takes it up.
    pub(super) fn call(&mut self, asked: Asked) {
        let Asked { number, name, arguments, is_full, caller } = asked;
        let workspace = self.workspace();
        self.warn(&workspace.warnings);
        let reply = match self.carry_out(&workspace, &name, &arguments, is_full) {
            Ok(Done::Answer(answer)) => Ok(answer),
            Ok(Done::Later(work)) => {
                let patience = Duration::from_secs_f64(workspace.settings.mcp_answer_after);
                self.pending.push(Pending::new(number, work, caller, patience));
                return;
            }
            Err(refusal) => Err(refusal),
        };
        // A caller that is gone is told so elsewhere.
        let _ = caller.answer.send(reply);
    }

    fn carry_out(
        &mut self,
        workspace: &Workspace,
        name: &str,
        arguments: &Value,
        is_full: bool,
    ) -> Result<Done, Refusal> {
        let max_lines = workspace.settings.max_lines_per_window;
        let options = || CallOptions::of_waiting(workspace, self.owner.clone(), &self.book);
        let answer = match ToolCall::plan(name, arguments, workspace, options)? {
            ToolCall::Foreground(kind, planned) => {
                return self.start(workspace, kind, planned).map(Done::Later);
            }
            ToolCall::Background(planned) => {
                self.warn(&planned.warnings);
                let started = tools::start_background(&mut self.dispatcher, planned);
                let (_, record) = started.map_err(failed)?;
                let runs = tools::load_background(&self.store, Whose::Of(&self.owner));
                let counts = runs.map_err(failed)?.counts();
                answer::of_background(tools::background_answer(&record, counts))
            }
            ToolCall::Output(SessionArguments { session_id }) => {
                return self.output(&session_id, is_full, max_lines);
            }
            ToolCall::Transcript(SessionArguments { session_id }) => {
                let book = Some(&self.book);
                let transcript =
                    tools::session_transcript(&self.store, book, &session_id, max_lines);
                let transcript = transcript.map_err(|error| self.unknown_session(&error))?;
                answer::of_transcript(transcript, is_full, &self.store)
            }
            ToolCall::Profiles => answer::of_profiles(tools::profiles_answer(
                &workspace.profiles,
                &workspace.surroundings,
            )),
            ToolCall::Status(arguments) => {
                let runs = tools::load_background(&self.store, Whose::Of(&self.owner));
                let runs = runs.map_err(failed)?;
                self.warn(&runs.warnings);
                let records = runs.runs.into_iter().map(|run| run.record).collect();
                let status = tools::background_status(&self.store, records, &arguments);
                answer::of_status(status.map_err(failed)?)
            }
        };
        Ok(Done::Answer(answer))
    }

    fn start(
        &mut self,
        workspace: &Workspace,
        kind: CallKind,
        planned: PlannedCall,
    ) -> Result<Work, Refusal> {
        self.warn(&planned.warnings);
        self.refuse_if_closed()?;
        let launcher = tools::foreground_launcher(&self.surroundings)
            .map_err(|error| Refusal::Failed(error.with_hint()))?;
        let call = RunningCall::submit(
            &mut self.dispatcher,
            launcher,
            workspace.settings.max_concurrency,
            (kind, planned),
            &Appearance::new(workspace, None),
        );
        Ok(Work::Tasks(call))
    }

    /// The answer of a session, or its end, which is waited for.
    fn output(&mut self, id: &str, is_full: bool, max_lines: usize) -> Result<Done, Refusal> {
        if let Ok(session) = SessionId::parse(id) {
            let running = tools::running_runs(&self.store, &session).map_err(failed)?;
            if self.is_own_running(&session) || !running.is_empty() {
                self.refuse_if_closed()?;
                let awaited = AwaitedSession::new(session, running, is_full);
                return Ok(Done::Later(Work::Session(awaited)));
            }
        }
        let output = tools::session_output(&self.store, Some(&self.book), id, max_lines);
        let output = output.map_err(|error| self.unknown_session(&error))?;
        Ok(Done::Answer(answer::of_output(output, is_full, &self.store)))
    }

    /// What would end at once with the client is not begun.
    fn refuse_if_closed(&self) -> Result<(), Refusal> {
        if self.is_closed {
            return Err(Refusal::Failed("the client has closed the conversation".to_owned()));
        }
        Ok(())
    }

    fn unknown_session(&self, error: &SessionError) -> Refusal {
        let SessionError::NotFound(id) = error else {
            return failed(error);
        };
        let meant = plan::did_you_mean(&tools::similar_sessions(&self.store, id));
        Refusal::Failed(format!("{error}{meant}"))
    }

    /// The answer when there is nothing more to wait for.
    pub(super) fn final_answer(&self, work: &Work) -> Reply {
        match work {
            Work::Tasks(call) => Ok(answer::of_tasks(call)),
            Work::Session(session) => {
                let (id, book) = (session.id.as_str(), Some(&self.book));
                let max_lines = self.workspace().settings.max_lines_per_window;
                let output = tools::session_output(&self.store, book, id, max_lines);
                let output = output.map_err(|error| self.unknown_session(&error))?;
                Ok(answer::of_output(output, session.is_full, &self.store))
            }
        }
    }

    /// The answer to somebody who has waited long enough without hearing anything.
    pub(super) fn answer_so_far(&self, work: &Work, waited: Duration) -> Answer {
        match work {
            Work::Tasks(call) => answer::of_tasks_so_far(call, waited),
            Work::Session(session) => {
                answer::of_session_so_far(session.id.as_str(), &self.words(work), waited)
            }
        }
    }

    /// How the work stands, in a line.
    pub(super) fn words(&self, work: &Work) -> String {
        match work {
            Work::Tasks(call) => {
                let overview = view::overview(&call.views()).text();
                let running = call.tasks().filter(|task| task.phase == Phase::Running);
                let running = running.take(MOST_TOLD).map(words_of);
                [overview].into_iter().chain(running).collect::<Vec<String>>().join(" | ")
            }
            Work::Session(session) => {
                if let Some(task) = self.own_task(&session.id) {
                    return words_of(task);
                }
                let appearance = Appearance::new(&self.workspace(), None);
                let recorded = session
                    .latest()
                    .and_then(|run| ShownTask::recorded(&self.store, run, &appearance).ok());
                recorded.as_ref().map_or_else(|| "waiting".to_owned(), words_of)
            }
        }
    }
}

fn words_of(task: &ShownTask) -> String {
    view::compact_line(&task.view(now_ms())).text()
}

fn failed(error: impl Display) -> Refusal {
    Refusal::Failed(error.to_string())
}

impl From<ToolError> for Refusal {
    fn from(error: ToolError) -> Refusal {
        match &error {
            ToolError::Unknown(_) | ToolError::Argument(_) => Refusal::Arguments(error.to_string()),
            ToolError::Call(_) => Refusal::Failed(error.to_string()),
        }
    }
}
