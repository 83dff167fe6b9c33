//! The background runs of a project, read from their directories.

use model::{Lifetime, Outcome, Owner, RunId};
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

    /// The words for the edge of the screen; nothing if there are no runs.
    pub fn footer(&self) -> Option<String> {
        (self.total > 0).then(|| format!("bg: {} running / {} total", self.running, self.total))
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
    #[error("\"{id}\" is the beginning of {count} run ids, such as {}", matches.join(", "))]
    Ambiguous { id: String, count: usize, matches: Vec<String> },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The background runs of a project: those of an owner, or all. Runs that have lost their supervisor are
/// ended on the way.
pub fn load_background(store: &Store, owner: Option<&Owner>) -> Result<BackgroundRuns, StoreError> {
    let mut loaded = BackgroundRuns::default();
    for dir in store.runs()? {
        match load(&dir, owner) {
            Ok(run) => loaded.runs.extend(run),
            // Another program has pruned it meanwhile.
            Err(_) if !dir.path().exists() => {}
            Err(error) => loaded.warnings.push(error.to_string()),
        }
    }
    Ok(loaded)
}

/// The background run with this id, or the only one whose id begins so, of any owner.
pub fn find_background(store: &Store, id: &str) -> Result<BackgroundRun, BackgroundRunError> {
    let not_found = || BackgroundRunError::NotFound(id.to_owned());
    if id.is_empty() {
        return Err(not_found());
    }
    // The id is the name of the directory: of what does not match, nothing has to be read.
    let named = store.runs()?.into_iter().filter(|dir| dir.run_id().as_str().starts_with(id));
    let mut named: Vec<RunDir> = named.collect();
    if let Some(exact) = named.iter().position(|dir| dir.run_id().as_str() == id) {
        named = vec![named.swap_remove(exact)];
    }
    let mut matches = Vec::new();
    for dir in named {
        matches.extend(load(&dir, None)?);
    }
    match matches.len() {
        0 | 1 => matches.pop().ok_or_else(not_found),
        count => {
            let ids = matches.iter().take(5).map(|run| run.dir.run_id().to_string());
            let matches = ids.collect();
            Err(BackgroundRunError::Ambiguous { id: id.to_owned(), count, matches })
        }
    }
}

/// The ids of background runs that may be meant by a mistyped id, or by the name of a run. Unlike
/// [`find_background`], this ends no run.
pub fn similar_background(store: &Store, id: &str) -> Vec<String> {
    let runs = store.runs().unwrap_or_default();
    let labels = runs.iter().filter_map(|dir| {
        let label: RunLabel = dir.meta_as().ok()?;
        let is_background = label.lifetime == Lifetime::Background;
        is_background.then(|| (dir.run_id().to_string(), label.name))
    });
    similar_runs(id, &labels.collect::<Vec<_>>())
}

/// The background run with exactly this id.
pub(super) fn get_background(
    store: &Store,
    id: &RunId,
) -> Result<Option<BackgroundRun>, StoreError> {
    let dir = RunDir::open(&store.path().join(id.as_str()))?;
    if dir.path().is_dir() { load(&dir, None) } else { Ok(None) }
}

/// Nothing if it is no background run, or another owner's.
fn load(dir: &RunDir, owner: Option<&Owner>) -> Result<Option<BackgroundRun>, StoreError> {
    let meta: BackgroundMeta = dir.meta_as()?;
    if meta.lifetime != Lifetime::Background || owner.is_some_and(|owner| *owner != meta.owner) {
        return Ok(None);
    }
    let result = match dir.result_as::<BackgroundResult>()? {
        Some(result) => Some(result),
        None => runner::recover(dir)?.result().map(BackgroundResult::from),
    };
    let owner = meta.owner.clone();
    let mut record = BackgroundRecord::new(dir, meta);
    if let Some(result) = result {
        record.end_with(result);
    }
    Ok(Some(BackgroundRun { dir: dir.clone(), owner, record }))
}
