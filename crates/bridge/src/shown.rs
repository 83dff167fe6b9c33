//! A task as it is shown, whether it runs or ran long ago.

use std::time::{SystemTime, UNIX_EPOCH};

use model::{Meta, RunId};
use session::view::{Phase, ProfileView, TaskView};
use session::{Context, PreviewContext, State};
use store::{RunDir, Store, StoreError};

/// What a window is made of.
#[derive(Debug)]
pub(crate) struct ShownTask {
    pub(crate) meta: Meta,
    pub(crate) state: State,
    pub(crate) phase: Phase,
}

/// How windows look where the caller stands.
#[derive(Clone, Debug)]
pub(crate) struct Appearance {
    pub(crate) home: Option<String>,
    pub(crate) preview_width: usize,
    pub(crate) window_lines: usize,
}

impl Appearance {
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
    pub(crate) fn queued(meta: Meta, appearance: &Appearance) -> ShownTask {
        let state = State::new(appearance.context(&meta));
        ShownTask { meta, state, phase: Phase::Queued }
    }

    /// A run, as its directory tells.
    pub(crate) fn recorded(
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
    pub(crate) fn view(&self, now: u64) -> TaskView<'_> {
        let facts = &self.state.facts;
        let meta = &self.meta;
        let until = facts.ended_at.unwrap_or(now);
        let name = meta.profile.as_deref().or(meta.preset.as_deref());
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
            timeout_ms: meta.limits.timeout_ms,
            session: &meta.session_id,
        }
    }
}

/// The wall clock, in milliseconds since 1970: records are stamped with it.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
