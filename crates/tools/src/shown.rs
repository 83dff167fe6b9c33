//! A task as it is shown, whether it runs or ran long ago.

use model::{Meta, RunId};
use session::view::{Phase, ProfileView, TaskView};
use session::{Context, PreviewContext, State};
use store::{RunDir, Store, StoreError};

use crate::Workspace;

/// What a window is made of.
#[derive(Debug)]
pub struct ShownTask {
    /// What was asked for.
    pub meta: Meta,
    /// What happened so far.
    pub state: State,
    /// Where it stands.
    pub phase: Phase,
}

/// How windows look where the caller stands.
#[derive(Clone, Debug)]
pub struct Appearance {
    home: Option<String>,
    preview_width: usize,
    window_lines: usize,
}

impl Appearance {
    /// The preview of a command is at most so wide where there is no terminal.
    const WITHOUT_TERMINAL: usize = 160;
    /// And at least so wide.
    const NARROWEST: usize = 20;

    /// As the settings say, for a terminal that is so wide, if there is one.
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
    /// A task that waits for its turn.
    pub fn queued(meta: Meta, appearance: &Appearance) -> ShownTask {
        let state = State::new(appearance.context(&meta));
        ShownTask { meta, state, phase: Phase::Queued }
    }

    /// A run, as its directory tells.
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

    /// How it looks at a time, in milliseconds since 1970.
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
