//! The background runs of a caller that keeps a log: what the log holds, and how the runs are found again
//! from it.

use std::collections::HashMap;

use model::RunId;
use serde_json::Value;
use store::{RunDir, Store, StoreError};

use super::registry::get_background;
use super::{
    BackgroundCounts, BackgroundEnding, BackgroundRecord, BackgroundRun, BackgroundStatus,
    BackgroundUpdate, Notification,
};

/// The kind of the log entry for a run that was started: a [`BackgroundRecord`].
pub const RUN_ENTRY: &str = "pi-subagents:bg-run";
/// The kind of the log entry for a run that has ended: a [`BackgroundUpdate`].
pub const UPDATE_ENTRY: &str = "pi-subagents:bg-update";
/// The kind of the message to the conversation that a run has ended.
pub const COMPLETE_MESSAGE: &str = "pi-subagents:bg-complete";

/// The runs that a caller has started, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BackgroundBook {
    runs: Vec<BackgroundRecord>,
}

impl BackgroundBook {
    /// Reads the entries of a log, with their kinds. Entries of another kind, or that cannot be read, are
    /// ignored.
    pub fn restore<'a>(entries: impl IntoIterator<Item = (&'a str, &'a Value)>) -> BackgroundBook {
        let (mut book, mut updates) = (BackgroundBook::default(), Vec::new());
        let mut positions: HashMap<RunId, usize> = HashMap::new();
        for (kind, entry) in entries {
            match kind {
                RUN_ENTRY => {
                    let Ok(run) = serde_json::from_value::<BackgroundRecord>(entry.clone()) else {
                        continue;
                    };
                    let position = *positions.entry(run.run_id.clone()).or_insert(book.runs.len());
                    match book.runs.get_mut(position) {
                        Some(known) => *known = run,
                        None => book.runs.push(run),
                    }
                }
                UPDATE_ENTRY => {
                    updates.extend(serde_json::from_value::<BackgroundUpdate>(entry.clone()));
                }
                _ => {}
            }
        }
        // Afterwards, because a branch of the conversation can have them before their runs.
        for update in updates {
            if let Some(position) = positions.get(&update.run_id) {
                take_over(&mut book.runs[*position], update);
            }
        }
        book
    }

    /// Adds a run that was started.
    pub fn start(&mut self, run: BackgroundRecord) {
        match self.runs.iter_mut().find(|known| known.run_id == run.run_id) {
            Some(known) => *known = run,
            None => self.runs.push(run),
        }
    }

    /// Adds how a run ended. False if that is nothing new, or if the run is unknown.
    pub fn update(&mut self, update: BackgroundUpdate) -> bool {
        let run = self.runs.iter_mut().find(|known| known.run_id == update.run_id);
        run.is_some_and(|run| take_over(run, update))
    }

    /// All runs, in the order in which they were started.
    pub fn runs(&self) -> &[BackgroundRecord] {
        &self.runs
    }

    /// The runs that have not ended as far as the book knows.
    pub fn pending(&self) -> impl Iterator<Item = &BackgroundRecord> {
        self.runs.iter().filter(|run| run.is_running())
    }

    /// How many runs there are.
    pub fn counts(&self) -> BackgroundCounts {
        BackgroundCounts::of(self.runs.iter().map(|run| run.status))
    }
}

/// The first end counts, because a run ends once.
fn take_over(run: &mut BackgroundRecord, update: BackgroundUpdate) -> bool {
    let is_new =
        run.status == BackgroundStatus::Running && update.status != BackgroundStatus::Running;
    if is_new {
        run.status = update.status;
        run.ending = update.ending;
    }
    is_new
}

/// What has become of the runs of a book.
#[derive(Debug, Default)]
pub struct Reloaded {
    /// The runs that have ended: entries for the log.
    pub updates: Vec<BackgroundUpdate>,
    /// The ends that were not reported to the owner.
    pub notifications: Vec<Notification>,
    /// The runs that have not ended.
    pub watch: Vec<RunDir>,
    /// Those of them that ask something.
    pub asking: Vec<BackgroundRun>,
}

/// Brings a book up to date with the run directories.
pub fn reload(book: &mut BackgroundBook, store: &Store) -> Reloaded {
    let mut reloaded = Reloaded::default();
    let pending: Vec<BackgroundRecord> = book.pending().cloned().collect();
    for known in pending {
        let dir = RunDir::open(&store.path().join(known.run_id.as_str()));
        let now = match dir.and_then(|dir| get_background(&dir)) {
            Ok(Some(run)) if run.record.is_running() => {
                reloaded.watch.push(run.dir.clone());
                reloaded.asking.extend(Some(run).filter(|run| !run.record.questions.is_empty()));
                continue;
            }
            Ok(Some(run)) => {
                // Where the directory cannot be marked, the log entry keeps the end from being reported again.
                if run.take_notification().unwrap_or(true) {
                    reloaded.notifications.extend(Notification::of(&run.record));
                }
                run.record
            }
            // What cannot be read now can perhaps be read the next time.
            Err(StoreError::Io { .. }) if store.path().join(known.run_id.as_str()).exists() => {
                reloaded.watch.extend(RunDir::open(&store.path().join(known.run_id.as_str())));
                continue;
            }
            gone => {
                let reason = gone.err().map_or_else(
                    || "its run directory is gone".to_owned(),
                    |error| error.to_string(),
                );
                let ending =
                    BackgroundEnding { error: Some(reason), ..BackgroundEnding::default() };
                let now = BackgroundRecord { status: BackgroundStatus::Failed, ending, ..known };
                reloaded.notifications.extend(Notification::of(&now));
                now
            }
        };
        let update = now.update();
        book.update(update.clone());
        reloaded.updates.push(update);
    }
    reloaded
}
