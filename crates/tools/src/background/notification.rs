//! Telling the owner how a background run ended, once.

use model::{Owner, RunId};
use serde::Serialize;
use store::{Store, StoreError};

use super::{
    BackgroundRecord, BackgroundRun, BackgroundRuns, BackgroundStatus, Whose, load_background,
};
use crate::subagent::{MOST_BYTES, answer, failure};

/// What the owner of a run is told when it has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Notification {
    /// The run.
    pub run_id: RunId,
    /// How it ended.
    pub status: BackgroundStatus,
    /// In a line.
    pub text: String,
    /// With everything that the agent said last, for the conversation.
    pub message: String,
}

/// How long a line about a run is at most, in characters.
const LINE: usize = 200;

impl Notification {
    /// What is to be told about a run; nothing while it goes on.
    pub fn of(record: &BackgroundRecord) -> Option<Notification> {
        let verb = match record.status {
            BackgroundStatus::Running => return None,
            BackgroundStatus::Completed => "finished",
            BackgroundStatus::Failed => "failed",
            BackgroundStatus::Aborted => "aborted",
        };
        let ending = &record.ending;
        let said = ending.final_text.as_deref().unwrap_or_default();
        let what = match (record.status, ending.error.as_deref()) {
            (BackgroundStatus::Completed, _) => answer(said, MOST_BYTES),
            (_, Some(error)) => failure(error, said, MOST_BYTES),
            (status, None) => failure(status.word(), said, MOST_BYTES),
        };
        let first = what.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let shown = session::cut_chars(first, LINE);
        let dots = if shown.len() < first.len() { "..." } else { "" };
        let title = record.title();
        Some(Notification {
            run_id: record.run_id.clone(),
            status: record.status,
            text: format!("Background agent {title} {verb}: {shown}{dots}"),
            message: format!("Background agent {title} {verb} ({}): {what}", record.run_id),
        })
    }

    /// How pi's notifications are graded.
    pub fn level(&self) -> &'static str {
        if self.status == BackgroundStatus::Completed { "info" } else { "error" }
    }
}

/// The runs of this owner that have ended and that were not reported yet, the earliest end first;
/// and what could not be read. Of any number of programs that ask, one is told about each.
pub fn take_notifications(
    store: &Store,
    owner: &Owner,
) -> Result<(Vec<Notification>, Vec<String>), StoreError> {
    let mut loaded = load_background(store, Whose::Of(owner))?;
    let notifications = loaded.take_notifications(owner);
    Ok((notifications, loaded.warnings))
}

impl BackgroundRuns {
    /// Those of this owner that have ended and that were not reported yet, the earliest end
    /// first. What stands in the way becomes a warning.
    pub fn take_notifications(&mut self, owner: &Owner) -> Vec<Notification> {
        let mut taken = Vec::new();
        let of_owner = self.runs.iter().filter(|run| run.owner == *owner);
        for run in of_owner.filter(|run| !run.record.is_running() && !run.dir.is_notified()) {
            match run.take_notification() {
                Ok(true) => taken.push(&run.record),
                Ok(false) => {}
                Err(error) => self.warnings.push(error.to_string()),
            }
        }
        taken.sort_by_key(|record| record.ending.end_time);
        taken.into_iter().filter_map(Notification::of).collect()
    }
}

impl BackgroundRun {
    /// Whether it is on the caller to tell the owner how it ended. A copy of a run is not written,
    /// and its original has its own owner to tell.
    pub(super) fn take_notification(&self) -> Result<bool, StoreError> {
        Ok(self.dir.is_original(&self.dir.meta()?) && self.dir.mark_notified()?)
    }
}
