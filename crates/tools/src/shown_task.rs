//! What the window of a task shows, whether the task runs or ended long ago.

use model::{Meta, RunId};
use runner::{Change, now_ms};
use session::view::{Phase, ProfileView, TaskView};
use session::{Context, PreviewContext, State};
use store::{RunDir, Store, StoreError};

use crate::Workspace;

/// Everything that the window of a task is drawn from.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ShownTask {
    pub meta: Meta,
    pub state: State,
    pub phase: Phase,
}

/// What the settings and the terminal decide about windows.
#[derive(Clone, Debug)]
pub struct Appearance {
    home: Option<String>,
    preview_width: usize,
    window_lines: usize,
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
        }
    }

    fn context(&self, meta: &Meta) -> Context {
        let preview = PreviewContext {
            cwd: meta.cwd.to_string_lossy().into_owned(),
            home: self.home.clone(),
            width: self.preview_width,
        };
        Context { preview, window_lines: self.window_lines }
    }
}

impl ShownTask {
    /// A task that has not been started.
    pub fn queued(meta: Meta, appearance: &Appearance) -> ShownTask {
        let state = State::new(appearance.context(&meta));
        ShownTask { meta, state, phase: Phase::Queued }
    }

    /// A run, read from its directory.
    pub fn recorded(
        store: &Store,
        id: &RunId,
        appearance: &Appearance,
    ) -> Result<ShownTask, StoreError> {
        let dir = RunDir::open(&store.path().join(id.as_str()))?;
        let mut task = ShownTask::queued(dir.meta()?, appearance);
        for record in dir.events()? {
            task.state.apply(&record);
        }
        let is_running = dir.result()?.is_none() && task.state.facts.outcome.is_none();
        task.phase = if is_running { Phase::Running } else { Phase::Ended };
        Ok(task)
    }

    /// Applies what the dispatcher says about the task. Returns the words for an event that has any.
    pub(crate) fn apply(&mut self, change: &Change) -> Option<String> {
        match change {
            Change::Started { .. } => self.phase = Phase::Running,
            Change::Record(record) => return self.state.apply(record),
            Change::Activity(activity) => self.state.observe(*activity, now_ms()),
            Change::Ended(_) => self.phase = Phase::Ended,
        }
        None
    }

    /// What the window shows at the time `now`, in milliseconds since 1970.
    pub fn view(&self, now: u64) -> TaskView<'_> {
        let facts = &self.state.facts;
        let meta = &self.meta;
        let until = facts.ended_at.unwrap_or(now);
        let name = meta.profile.as_deref().or(meta.preset.as_deref());
        let doing_since = self.state.doing.since.max(facts.started_at.unwrap_or(until));
        TaskView {
            name: &meta.name,
            profile: name.map(|name| ProfileView {
                name,
                provider: meta.provider.as_deref(),
                model: meta.model.as_deref(),
                thinking: meta.thinking_level.as_deref(),
            }),
            state: &self.state,
            phase: self.phase,
            elapsed_ms: facts.started_at.map_or(0, |started| until.saturating_sub(started)),
            doing_ms: until.saturating_sub(doing_since),
            timeout_ms: meta.limits.timeout_ms,
            session: &meta.session_id,
        }
    }
}
