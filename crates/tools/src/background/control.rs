//! `background_agent_control`: what is said about a run that was stopped, or about a message to one.

use runner::{Fate, Stopped, Told};
use serde_json::json;
use store::RunDir;

use super::BackgroundRecord;
use crate::Retrieved;
use crate::inline_answers::inline_answer;

/// An agent does not get a message.
#[derive(Debug, thiserror::Error)]
#[error("The message was refused: {reason}. Run: {run_id}.")]
#[expect(missing_docs, reason = "the names say it")]
pub struct MessageRefused {
    pub run_id: String,
    pub reason: String,
}

/// The answer to a call that has told an agent something.
pub fn message_answer(dir: &RunDir, told: Told) -> Result<Retrieved, MessageRefused> {
    let run_id = dir.run_id().to_string();
    let state = match told.fate {
        Fate::Refused(reason) => return Err(MessageRefused { run_id, reason }),
        Fate::Accepted => "accepted",
        Fate::Delivered => "delivered",
    };
    let number = told.number.unwrap_or_default();
    let text = format!("Message {number} to run {run_id}: {state}.");
    let message = json!({"number": number, "state": state});
    let details = json!({"runId": run_id, "status": "running", "message": message});
    Ok(Retrieved { text, details })
}

/// The answer to a call that has stopped a run.
pub fn control_answer(mut record: BackgroundRecord, stopped: Stopped) -> Retrieved {
    let id = record.run_id.clone();
    let title = record.title().to_owned();
    // What `stop_run` says is too late: the run was asked to stop before that.
    let had_ended = !record.is_running();
    let mut text = if had_ended {
        format!("Background agent {title} had ended before (runId: {id}).")
    } else {
        format!("Stopped background agent {title} (runId: {id}).")
    };
    let left = (!stopped.is_proven()).then(|| stopped.words());
    let proven = stopped.is_proven();
    record.end(stopped.result);
    let said = record.ending.final_text.as_deref().unwrap_or_default();
    let said =
        inline_answer(said, || format!("background_agent_status with runId {id} has it all"));
    text.push_str(&format!(" Status: {}.", record.status.word()));
    if let Some(left) = left {
        text.push_str(&format!("\nWarning: {left}."));
    }
    if !said.text.is_empty() {
        text.push_str(&format!("\nIt said:\n{}", said.text));
    }
    // Plain data with string keys always serialises.
    let mut details = serde_json::to_value(&record).unwrap_or_default();
    details["hadEnded"] = had_ended.into();
    details["proven"] = proven.into();
    details["pids"] = stopped.left.into();
    details["unsurePids"] = stopped.unsure.into();
    Retrieved { text, details }
}

#[cfg(test)]
mod tests {
    use store::Store;

    use super::*;
    use crate::testing::{planned, result};

    #[test]
    fn what_is_left_or_may_be_is_said() {
        let top = tempfile::tempdir().unwrap();
        let run = Store::in_project(top.path()).create(&planned(1, 1, "look", None)).unwrap();
        let answer = |left: &[u32], doubt| {
            let record = BackgroundRecord::started(&run.dir, &run.meta);
            let result = result(&run.meta, "said", None);
            let left = left.to_vec();
            let stopped = Stopped { result, had_ended: false, left, unsure: Vec::new(), doubt };
            control_answer(record, stopped)
        };
        let proven = answer(&[], None);
        assert!(!proven.text.contains("Warning"), "{}", proven.text);
        assert_eq!(proven.details["proven"], true);
        let left = answer(&[7], None);
        assert!(left.text.contains("\nWarning: 1 process left: 7.\n"), "{}", left.text);
        assert_eq!((&left.details["proven"], &left.details["pids"][0]), (&false.into(), &7.into()));
        let doubted = answer(&[], Some("it hides"));
        let said = "\nWarning: no process was found, but others may be left, because it hides.\n";
        assert!(doubted.text.contains(said), "{}", doubted.text);
    }
}
