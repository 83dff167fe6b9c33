//! The background runs of a door that keeps a log of its own: what it writes there, and how it
//! finds its runs again when it has been reloaded.

use std::collections::HashMap;

use model::RunId;
use serde_json::Value;
use store::{RunDir, Store, StoreError};

use super::registry::get_background;
use super::{
    BackgroundCounts, BackgroundEnding, BackgroundRecord, BackgroundStatus, BackgroundUpdate,
    Notification,
};

/// The kind of the entry that is written when a run was started: a [`BackgroundRecord`].
pub const RUN_ENTRY: &str = "pi-subagents:bg-run";
/// The kind of the entry that is written when a run has ended: a [`BackgroundUpdate`].
pub const UPDATE_ENTRY: &str = "pi-subagents:bg-update";
/// The kind of the message by which the conversation learns of the end.
pub const COMPLETE_MESSAGE: &str = "pi-subagents:bg-complete";

/// The runs that a door has started, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BackgroundBook {
    runs: Vec<BackgroundRecord>,
}

impl BackgroundBook {
    /// The book as far as it was written down: entries with their kinds, in their order. What is
    /// of another kind or cannot be understood is passed over.
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
        // Afterwards, since a branch of the conversation can bring them before their runs.
        for update in updates {
            if let Some(position) = positions.get(&update.run_id) {
                take_over(&mut book.runs[*position], update);
            }
        }
        book
    }

    /// A run was started.
    pub fn start(&mut self, run: BackgroundRecord) {
        match self.runs.iter_mut().find(|known| known.run_id == run.run_id) {
            Some(known) => *known = run,
            None => self.runs.push(run),
        }
    }

    /// A run has ended. False if that is known already, or if the run is not in the book.
    pub fn update(&mut self, update: BackgroundUpdate) -> bool {
        let run = self.runs.iter_mut().find(|known| known.run_id == update.run_id);
        run.is_some_and(|run| take_over(run, update))
    }

    /// All runs, in the order in which they were started.
    pub fn runs(&self) -> &[BackgroundRecord] {
        &self.runs
    }

    /// Those that had not ended as far as is known here: what has to be watched.
    pub fn pending(&self) -> impl Iterator<Item = &BackgroundRecord> {
        self.runs.iter().filter(|run| run.is_running())
    }

    /// How many there are.
    pub fn counts(&self) -> BackgroundCounts {
        BackgroundCounts::of(self.runs.iter().map(|run| run.status))
    }

    /// What to show of them at the edge of the screen; nothing if there are none.
    pub fn footer(&self) -> Option<String> {
        self.counts().footer()
    }
}

/// The first end counts: a run ends once.
fn take_over(run: &mut BackgroundRecord, update: BackgroundUpdate) -> bool {
    let is_new =
        run.status == BackgroundStatus::Running && update.status != BackgroundStatus::Running;
    if is_new {
        run.status = update.status;
        run.ending = update.ending;
    }
    is_new
}

/// What a door has to do when it has been reloaded.
#[derive(Debug, Default)]
pub struct Reloaded {
    /// Entries to write: these runs have ended since.
    pub updates: Vec<BackgroundUpdate>,
    /// What the owner has not been told yet.
    pub notifications: Vec<Notification>,
    /// Runs to watch, with [`runner::Waiting`].
    pub watch: Vec<RunDir>,
}

/// Brings a book up to date that was restored from a log.
pub fn reload(book: &mut BackgroundBook, store: &Store) -> Reloaded {
    let mut reloaded = Reloaded::default();
    let pending: Vec<BackgroundRecord> = book.pending().cloned().collect();
    for known in pending {
        let now = match get_background(store, &known.run_id) {
            Ok(Some(run)) if run.record.is_running() => {
                reloaded.watch.push(run.dir);
                continue;
            }
            Ok(Some(run)) => {
                // Where it cannot be noted, the entry alone keeps it from being told again.
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
