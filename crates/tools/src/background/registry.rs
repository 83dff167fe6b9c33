//! The background runs of a project, read from their directories.

use model::{Lifetime, Outcome, Owner, RunId, SessionId};
use serde::{Deserialize, Serialize};
use store::{RunDir, Store, StoreError};

use super::BackgroundRecord;
use super::record::{BackgroundMeta, BackgroundResult};
use crate::sessions::{RunLabel, similar_runs};

/// The state of a background run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum BackgroundStatus {
    #[default]
    Running,
    Completed,
    Failed,
    /// It was stopped on request.
    Aborted,
}

impl BackgroundStatus {
    /// The status of a run that has ended.
    pub fn of(outcome: Outcome) -> BackgroundStatus {
        match outcome {
            Outcome::Completed => BackgroundStatus::Completed,
            Outcome::Cancelled => BackgroundStatus::Aborted,
            _ => BackgroundStatus::Failed,
        }
    }

    /// The word for it, the same in JSON and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            BackgroundStatus::Running => "running",
            BackgroundStatus::Completed => "completed",
            BackgroundStatus::Failed => "failed",
            BackgroundStatus::Aborted => "aborted",
        }
    }
}

/// How many runs there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct BackgroundCounts {
    pub running: usize,
    pub completed: usize,
    pub failed: usize,
    pub aborted: usize,
    pub total: usize,
}

impl BackgroundCounts {
    /// Counts runs by their states.
    pub fn of(statuses: impl IntoIterator<Item = BackgroundStatus>) -> BackgroundCounts {
        let mut counts = BackgroundCounts::default();
        for status in statuses {
            counts.total += 1;
            *match status {
                BackgroundStatus::Running => &mut counts.running,
                BackgroundStatus::Completed => &mut counts.completed,
                BackgroundStatus::Failed => &mut counts.failed,
                BackgroundStatus::Aborted => &mut counts.aborted,
            } += 1;
        }
        counts
    }

    /// All of them in words.
    pub fn words(&self) -> String {
        format!(
            "running={} completed={} failed={} aborted={} total={}",
            self.running, self.completed, self.failed, self.aborted, self.total
        )
    }

    /// The words for the edge of the screen; nothing if nothing runs.
    pub fn footer(&self) -> Option<String> {
        (self.running > 0).then(|| format!("bg: {} running / {} total", self.running, self.total))
    }
}

/// A background run that was read from its directory.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct BackgroundRun {
    pub dir: RunDir,
    pub owner: Owner,
    pub record: BackgroundRecord,
}

/// Background runs, oldest first.
#[derive(Debug, Default)]
pub struct BackgroundRuns {
    /// The runs that could be read.
    pub runs: Vec<BackgroundRun>,
    /// Why others could not.
    pub warnings: Vec<String>,
}

impl BackgroundRuns {
    /// How many runs there are.
    pub fn counts(&self) -> BackgroundCounts {
        BackgroundCounts::of(self.runs.iter().map(|run| run.record.status))
    }
}

/// There is no such background run.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum BackgroundRunError {
    #[error("No run found for runId: {0}")]
    NotFound(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The background runs of a project: those of an owner, or all. Runs that have lost their supervisor are
/// ended on the way. This is a list: of every run it has the beginnings of its texts.
pub fn load_background(store: &Store, owner: Option<&Owner>) -> Result<BackgroundRuns, StoreError> {
    let mut loaded = BackgroundRuns::default();
    for dir in store.runs()? {
        match load(&dir, owner, Extent::Listed) {
            Ok(run) => loaded.runs.extend(run),
            // Another program has pruned it meanwhile.
            Err(_) if !dir.path().exists() => {}
            Err(error) => loaded.warnings.push(error.to_string()),
        }
    }
    Ok(loaded)
}

/// The background run with this id, or the latest of the session with this id. Only a whole id counts: the
/// beginning of one could be that of another run.
pub fn find_background(store: &Store, id: &str) -> Result<BackgroundRun, BackgroundRunError> {
    let run = RunId::parse(id).ok().and_then(|id| store.run(&id));
    let found = match (run, SessionId::parse(id)) {
        (Some(dir), _) => load(&dir, None, Extent::Whole)?,
        (None, Ok(session)) => latest_of(store, &session)?,
        (None, Err(_)) => None,
    };
    found.ok_or_else(|| BackgroundRunError::NotFound(id.to_owned()))
}

/// The background run in this directory, which exists.
pub fn load_background_run(dir: &RunDir) -> Result<BackgroundRun, BackgroundRunError> {
    let run = load(dir, None, Extent::Whole)?;
    run.ok_or_else(|| BackgroundRunError::NotFound(dir.run_id().to_string()))
}

/// The latest background run of a session.
fn latest_of(store: &Store, session: &SessionId) -> Result<Option<BackgroundRun>, StoreError> {
    let of_session = |dir: &RunDir| {
        let label: RunLabel = dir.meta_as().ok()?;
        Some(label.lifetime == Lifetime::Background && label.session_id == *session)
    };
    let runs = store.runs()?;
    let latest = runs.iter().rev().find(|dir| of_session(dir) == Some(true));
    latest.map_or(Ok(None), |dir| load(dir, None, Extent::Whole))
}

/// The ids of background runs that may be meant by a mistyped id, or by the name of a run. This
/// ends no run.
pub fn similar_background(store: &Store, id: &str) -> Vec<String> {
    let runs = store.runs().unwrap_or_default();
    let labels = runs.iter().filter_map(|dir| {
        let label: RunLabel = dir.meta_as().ok()?;
        let is_background = label.lifetime == Lifetime::Background;
        is_background.then(|| (dir.run_id().to_string(), label.name))
    });
    similar_runs(id, &labels.collect::<Vec<_>>())
}

/// The background run in this directory, if there is one.
pub(super) fn get_background(dir: &RunDir) -> Result<Option<BackgroundRun>, StoreError> {
    if dir.path().is_dir() { load(dir, None, Extent::Whole) } else { Ok(None) }
}

/// How much of the texts of a run is wanted.
#[derive(Clone, Copy)]
pub(super) enum Extent {
    Whole,
    /// Their beginnings.
    Listed,
}

/// Nothing if it is no background run, or another owner's.
fn load(
    dir: &RunDir,
    owner: Option<&Owner>,
    extent: Extent,
) -> Result<Option<BackgroundRun>, StoreError> {
    let meta: BackgroundMeta = dir.meta_as()?;
    if meta.lifetime != Lifetime::Background || owner.is_some_and(|owner| *owner != meta.owner) {
        return Ok(None);
    }
    let result = match dir.result_as::<BackgroundResult>()? {
        Some(result) => Some(result),
        None => runner::recover(dir)?.result().map(BackgroundResult::from),
    };
    let owner = meta.owner.clone();
    let (is_running, asks) = (result.is_none(), meta.ask && result.is_none());
    let mut record = BackgroundRecord::new(dir, meta);
    if let Some(result) = result {
        record.end_with(result);
    }
    if is_running {
        record.waiting = runner::waiting(dir)?;
    }
    if asks {
        record.questions = runner::open_questions(dir)?;
    }
    if let Extent::Listed = extent {
        record.shorten();
    }
    Ok(Some(BackgroundRun { dir: dir.clone(), owner, record }))
}
