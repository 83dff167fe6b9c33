//! The report to the owner that a background run has ended, which is given once.

use model::{Owner, RunId};
use serde::Serialize;
use store::StoreError;

use super::{BackgroundRecord, BackgroundRun, BackgroundRuns, BackgroundStatus};
use crate::subagent::{MOST_BYTES, answer, failure};

/// The report to the owner of a run that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say it")]
pub struct Notification {
    pub run_id: RunId,
    pub status: BackgroundStatus,
    /// One line.
    pub text: String,
    /// For the conversation, with everything that the agent said last.
    pub message: String,
}

/// The longest line about a run, in characters.
const LINE: usize = 200;

impl Notification {
    /// Nothing while the run goes on.
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

    /// The level of pi's notification.
    pub fn level(&self) -> &'static str {
        if self.status == BackgroundStatus::Completed { "info" } else { "error" }
    }
}

impl BackgroundRuns {
    /// Reports the runs of this owner that have ended and were not reported, the earliest end first. Of
    /// any number of programs that ask, one gets each report. What stands in the way becomes a warning.
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
    /// Whether the caller is the first to report the end. A copy of a run is never reported: its
    /// original is.
    pub(super) fn take_notification(&self) -> Result<bool, StoreError> {
        Ok(self.dir.is_original(&self.dir.meta()?) && self.dir.mark_notified()?)
    }
}
