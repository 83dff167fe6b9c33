//! The report to the owner that a background run has ended, which is given once.

use model::{Owner, RunId};
use serde::Serialize;
use session::view::{Block, ended_row};
use store::StoreError;

use super::registry::get_background;
use super::{BackgroundRecord, BackgroundRun, BackgroundRuns, BackgroundStatus};
use crate::inline_answers::{failure, inline_answer};

/// The report to the owner of a run that has ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say it")]
pub struct Notification {
    pub run_id: RunId,
    pub status: BackgroundStatus,
    /// One line.
    pub text: String,
    /// For the conversation, with everything that the agent said last, and the warnings of the run.
    pub message: String,
    /// One short line, for a screen that also shows the message.
    #[serde(skip)]
    pub notice: String,
    /// What a screen shows in place of the first words of the message.
    #[serde(skip)]
    pub heading: Block,
    /// Where in the message the words of the agent begin, in bytes.
    #[serde(skip)]
    pub answer_from: usize,
}

/// The longest line about a run, in characters.
const LINE: usize = 200;
/// The longest reason in a short line, in characters.
const REASON: usize = 60;

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
        let said = inline_answer(ending.final_text.as_deref().unwrap_or_default(), || {
            format!("background_agent_status with runId {} has all of it", record.run_id)
        });
        let what = match (record.status, ending.error.as_deref()) {
            (BackgroundStatus::Completed, _) => said.or_nothing().to_owned(),
            (_, Some(error)) => failure(error, &said),
            (status, None) => failure(status.word(), &said),
        };
        let warnings: Vec<String> =
            ending.warnings.iter().map(|warning| format!("Warning: {warning}")).collect();
        let what = match warnings.is_empty() {
            true => what,
            // It would look as if the agent had said nothing.
            false if ending.is_answer_lost() => warnings.join("\n"),
            false => format!("{what}\n{}", warnings.join("\n")),
        };
        let first = what.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let cut = |line: &str, most| {
            let shown = session::cut_chars(line, most);
            format!("{shown}{}", if shown.len() < line.len() { "..." } else { "" })
        };
        let title = record.title();
        let beginning = format!("Background agent {title} {verb}");
        let reason = ending.error.as_deref().and_then(|error| error.lines().next());
        let reason = reason.filter(|_| record.status != BackgroundStatus::Completed);
        let reason = reason.map(|reason| format!(": {}", cut(reason, REASON)));
        let before = format!("{beginning} ({}): ", record.run_id);
        let elapsed_ms = ending.end_time.map_or(0, |end| end.saturating_sub(record.start_time));
        let is_done = record.status == BackgroundStatus::Completed;
        Some(Notification {
            run_id: record.run_id.clone(),
            status: record.status,
            text: format!("{beginning}: {}", cut(first, LINE)),
            notice: format!("{beginning}{}", reason.unwrap_or_default()),
            heading: Block::Row(ended_row(is_done, title, elapsed_ms, &record.usage, &record.task)),
            answer_from: before.len(),
            message: before + &what,
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
                // A list has only the beginning of what the agent said.
                Ok(true) => match get_background(&run.dir) {
                    Ok(Some(whole)) => taken.push(whole.record),
                    Ok(None) | Err(_) => taken.push(run.record.clone()),
                },
                Ok(false) => {}
                Err(error) => self.warnings.push(error.to_string()),
            }
        }
        taken.sort_by_key(|record| record.ending.end_time);
        taken.iter().filter_map(Notification::of).collect()
    }
}

impl BackgroundRun {
    /// Whether the caller is the first to report the end. A copy of a run is never reported: its
    /// original is.
    pub(super) fn take_notification(&self) -> Result<bool, StoreError> {
        Ok(self.dir.is_original(&self.dir.meta()?) && self.dir.mark_notified()?)
    }
}
