//! What the window of a task shows, whether the task runs or ended long ago.

use std::sync::Arc;

use model::{AgentKind, Meta, RunId, RunResult};
use runner::{Change, now_ms};
use session::view::{Phase, ProfileView, TaskView};
use session::{Context, Conversation, Facts, PreviewContext, State};
use store::{RunDir, Store, StoreError};

use crate::Workspace;

/// Everything that the window of a task is drawn from.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ShownTask {
    /// Without what only the start of the child needs, unless it waits to be started.
    pub meta: Arc<Meta>,
    pub state: State,
    pub phase: Phase,
    /// Where the run is recorded, as soon as it is.
    pub dir: Option<RunDir>,
}

/// What the settings and the terminal decide about windows.
#[derive(Clone, Debug)]
pub struct Appearance {
    home: Option<String>,
    preview_width: usize,
    window_lines: usize,
    has_windows: bool,
}

impl Appearance {
    /// The width of a command's preview where there is no terminal.
    const WITHOUT_TERMINAL: usize = 160;
    /// The width of a command's preview in the narrowest terminal.
    const NARROWEST: usize = 20;

    /// `columns` is the width of the terminal, if there is one.
    pub fn new(workspace: &Workspace, columns: Option<usize>) -> Appearance {
        let settings = &workspace.settings;
        let of_terminal = columns.map(|columns| columns.saturating_sub(4));
        let width = settings.command_preview_width.or(of_terminal);
        let width = width.unwrap_or(Appearance::WITHOUT_TERMINAL);
        let home = workspace.surroundings.home.as_ref();
        Appearance {
            home: home.map(|home| home.to_string_lossy().into_owned()),
            preview_width: width.max(Appearance::NARROWEST),
            window_lines: settings.max_lines_per_window,
            has_windows: true,
        }
    }

    /// The same for a caller that shows no windows, but only words.
    #[must_use]
    pub fn without_windows(self) -> Appearance {
        Appearance { has_windows: false, ..self }
    }

    fn context(&self, meta: &Meta) -> Context {
        let preview = PreviewContext {
            cwd: meta.cwd.to_string_lossy().into_owned(),
            home: self.home.clone(),
            width: self.preview_width,
        };
        let has_window = self.has_windows;
        Context { preview, window_lines: self.window_lines, has_window }
    }
}

impl ShownTask {
    /// A task that has not been started.
    pub fn queued(meta: impl Into<Arc<Meta>>, appearance: &Appearance) -> ShownTask {
        let meta = meta.into();
        let state = State::new(appearance.context(&meta));
        let mut task = ShownTask { meta, state, phase: Phase::Queued, dir: None };
        task.forget_start();
        task
    }

    /// A run, read from its directory.
    pub fn recorded(
        store: &Store,
        id: &RunId,
        appearance: &Appearance,
    ) -> Result<ShownTask, StoreError> {
        let dir = RunDir::open(&store.path().join(id.as_str()))?;
        ShownTask::of_run(dir, appearance)
    }

    /// A run, read from its directory.
    pub fn of_run(dir: RunDir, appearance: &Appearance) -> Result<ShownTask, StoreError> {
        let mut task = ShownTask::queued(dir.meta()?, appearance);
        for record in dir.events()? {
            task.state.apply(&record);
        }
        let is_running = dir.result()?.is_none() && task.state.facts.outcome.is_none();
        task.phase = if is_running { Phase::Running } else { Phase::Ended };
        task.dir = Some(dir);
        Ok(task)
    }

    /// A run that has ended, as its result has it: without what was said and done before the answer.
    pub(crate) fn of_result(
        dir: RunDir,
        meta: Meta,
        result: RunResult,
        appearance: &Appearance,
    ) -> ShownTask {
        let mut task = ShownTask::queued(meta, appearance);
        task.state.facts = Facts {
            started_at: result.started_at,
            ended_at: Some(result.ended_at),
            outcome: Some(result.outcome),
            error: result.error,
            model: result.model,
            output: result.output,
            usage: result.usage,
            tool_calls: result.tool_calls,
            changes: result.changes,
            ..Facts::default()
        };
        task.phase = Phase::Ended;
        task.dir = Some(dir);
        task
    }

    /// Forgets what only the start of the child needs, if no plan waits that shares it.
    fn forget_start(&mut self) {
        if let Some(meta) = Arc::get_mut(&mut self.meta) {
            meta.forget_start();
        }
    }

    /// What its agent was asked to do, as far as that can be read.
    pub fn asked(&self) -> Option<String> {
        let of_file = || self.dir.as_ref()?.prompt().ok();
        self.meta.task.clone().or_else(of_file)
    }

    /// Applies what the dispatcher says about the task. Returns the words for an event that has any.
    pub(crate) fn apply(&mut self, change: &Change) -> Option<String> {
        match change {
            Change::Waiting(waiting) => {
                self.state.facts.waiting = Some(Box::new(waiting.clone()));
            }
            Change::Started { run_dir } => {
                self.state.facts.waiting = None;
                self.phase = Phase::Running;
                self.dir = RunDir::open(run_dir).ok();
            }
            Change::Record(record) => return self.state.apply(record),
            Change::Activity(activity) => self.state.observe(*activity, now_ms()),
            Change::Ended(report) => {
                self.phase = Phase::Ended;
                self.state.facts.waiting = None;
                self.forget_start();
                // A supervisor that was killed may have recorded the end, but not told it to its parent.
                let facts = &mut self.state.facts;
                if facts.outcome.is_none() {
                    facts.outcome = Some(report.result.outcome);
                    facts.error.clone_from(&report.result.error);
                }
            }
        }
        None
    }

    /// Everything that was asked, said and done so far, as the run directory has it; `None` before
    /// the run is recorded.
    pub fn conversation(&self) -> Option<Conversation> {
        let dir = self.dir.as_ref()?;
        let prompt = self.asked().unwrap_or_default();
        let mut conversation = Conversation::with_prompt(&prompt, self.meta.created_at);
        for record in dir.events().ok()? {
            conversation.apply(&record, &self.state.context().preview);
        }
        Some(conversation)
    }

    /// What the window shows at the time `now`, in milliseconds since 1970.
    pub fn view(&self, now: u64) -> TaskView<'_> {
        let facts = &self.state.facts;
        let meta = &self.meta;
        let until = facts.ended_at.unwrap_or(now);
        let name = meta.profile.as_deref().or(meta.preset.as_deref());
        let asking = facts.asking_since.map_or(0, |since| until.saturating_sub(since));
        let waited = facts.waited_ms + asking;
        let doing_since = match &facts.waiting {
            Some(waiting) => waiting.since,
            None => self.state.doing.since.max(facts.started_at.unwrap_or(until)),
        };
        TaskView {
            name: &meta.name,
            profile: name.map(|name| ProfileView {
                name,
                provider: meta.provider.as_deref(),
                model: meta.model.as_deref(),
                thinking: meta.thinking_level.as_deref(),
            }),
            agent: meta.agent.as_ref().map(AgentKind::word),
            model: meta.model.as_deref(),
            thinking: meta.thinking_level.as_deref(),
            state: &self.state,
            phase: self.phase,
            elapsed_ms: facts.started_at.map_or(0, |started| until.saturating_sub(started)),
            doing_ms: until.saturating_sub(doing_since),
            // The clock stood still while questions waited.
            budget: meta.limits.budget,
            timeout_ms: meta.limits.timeout_ms.map(|limit| limit.saturating_add(waited)),
            session: &meta.session_id,
            access: meta.access,
        }
    }
}

#[cfg(test)]
mod tests {
    use runner::Report;
    use session::view::Standing;

    use super::*;
    use crate::testing::{World, planned, result};

    /// The supervisor was killed when it had written the result, before it passed the last event on.
    #[test]
    fn an_end_that_no_event_tells_is_taken_from_the_result() {
        let appearance = Appearance::new(&World::new().workspace(None), None);
        for (error, standing) in [(None, Standing::Done), (Some("no luck"), Standing::Failed)] {
            let mut task = ShownTask::queued(planned(1, 1, "Go.", None).meta, &appearance);
            let result = result(&task.meta, "done", error);
            let report = Report { result, run_dir: None, warnings: Vec::new() };
            task.apply(&Change::Ended(Box::new(report)));
            assert_eq!(task.view(0).standing(), standing);
            assert_eq!(task.state.facts.error.as_deref(), error);
        }
    }
}
