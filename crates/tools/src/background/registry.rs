//! The background runs of a project, as their directories tell.

use model::{Lifetime, Outcome, Owner, RunId};
use serde::{Deserialize, Serialize};
use store::{RunDir, Store, StoreError};

use super::BackgroundRecord;
use super::record::{SomeMeta, SomeResult};

/// Where a background run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackgroundStatus {
    /// It has not ended.
    #[default]
    Running,
    /// It ended well.
    Completed,
    /// It ended in any other way.
    Failed,
    /// It was stopped on request.
    Aborted,
}

impl BackgroundStatus {
    /// Of a run that has ended like this.
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
    /// Counts runs by where they stand.
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

    /// What a door shows of them at the edge of the screen; nothing if there are none.
    pub fn footer(&self) -> Option<String> {
        (self.total > 0).then(|| format!("bg: {} running / {} total", self.running, self.total))
    }
}

/// Whose runs are asked for.
#[derive(Clone, Copy, Debug)]
pub enum Whose<'a> {
    /// Those of one owner.
    Of(&'a Owner),
    /// All.
    Everyone,
}

impl Whose<'_> {
    fn includes(self, owner: &Owner) -> bool {
        match self {
            Whose::Of(asking) => asking == owner,
            Whose::Everyone => true,
        }
    }
}

/// One background run, as it stands.
#[derive(Debug)]
pub struct BackgroundRun {
    /// Where it is recorded.
    pub dir: RunDir,
    /// Who asked for it.
    pub owner: Owner,
    /// Everything else about it.
    pub record: BackgroundRecord,
}

/// Background runs, oldest first.
#[derive(Debug, Default)]
pub struct BackgroundRuns {
    /// The runs.
    pub runs: Vec<BackgroundRun>,
    /// What could not be read.
    pub warnings: Vec<String>,
}

impl BackgroundRuns {
    /// How many there are.
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

/// The background runs of a project. Those that have lost their supervisor are ended on the way.
pub fn load_background(store: &Store, whose: Whose<'_>) -> Result<BackgroundRuns, StoreError> {
    let mut loaded = BackgroundRuns::default();
    for dir in store.runs()? {
        match load(&dir, whose) {
            Ok(run) => loaded.runs.extend(run),
            // Another program may have pruned it meanwhile.
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
    // By name: of what does not match, nothing has to be read.
    let named = store.runs()?.into_iter().filter(|dir| dir.run_id().as_str().starts_with(id));
    let mut named: Vec<RunDir> = named.collect();
    if let Some(exact) = named.iter().position(|dir| dir.run_id().as_str() == id) {
        named = vec![named.swap_remove(exact)];
    }
    let mut matches = Vec::new();
    for dir in named {
        matches.extend(load(&dir, Whose::Everyone)?);
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

/// The ids of background runs that could have been meant by one that there is not, or by the name of
/// a run. Only looks: nothing is ended on the way.
pub fn similar_background(store: &Store, id: &str) -> Vec<String> {
    let runs = store.runs().unwrap_or_default();
    let known: Vec<(&RunId, SomeMeta)> = runs
        .iter()
        .filter_map(|dir| Some((dir.run_id(), dir.meta_as::<SomeMeta>().ok()?)))
        .filter(|(_, meta)| meta.lifetime == Lifetime::Background)
        .collect();
    let named = known.iter().rev().filter(|(_, meta)| meta.name.eq_ignore_ascii_case(id));
    let named: Vec<String> = named.take(3).map(|(id, _)| id.to_string()).collect();
    if named.is_empty() {
        plan::similar_ids(id, known.iter().map(|(id, _)| id.as_str()))
    } else {
        named
    }
}

/// The background run with exactly this id.
pub(super) fn get_background(
    store: &Store,
    id: &RunId,
) -> Result<Option<BackgroundRun>, StoreError> {
    let dir = RunDir::open(&store.path().join(id.as_str()))?;
    if dir.path().is_dir() { load(&dir, Whose::Everyone) } else { Ok(None) }
}

/// Nothing if it is no background run, or not theirs.
fn load(dir: &RunDir, whose: Whose<'_>) -> Result<Option<BackgroundRun>, StoreError> {
    let meta: SomeMeta = dir.meta_as()?;
    if meta.lifetime != Lifetime::Background || !whose.includes(&meta.owner) {
        return Ok(None);
    }
    let result = match dir.result_as::<SomeResult>()? {
        Some(result) => Some(result),
        None => runner::recover(dir)?.result().map(SomeResult::from),
    };
    let owner = meta.owner.clone();
    let mut record = BackgroundRecord::new(dir, meta);
    if let Some(result) = result {
        record.end_with(result);
    }
    Ok(Some(BackgroundRun { dir: dir.clone(), owner, record }))
}
