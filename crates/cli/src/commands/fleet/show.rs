//! `fleet show`: what the agent of one task did and said.

use std::time::Duration;

use fleet::{AttemptEvents, BatchEntry, TaskName, TaskResult};
use model::{Record, Status};
use serde_json::json;
use session::transcript;

use super::{at_server, batch_name, no_batch};
use crate::arguments::ServerArguments;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(super) struct Shown<'a> {
    pub(super) batch: &'a str,
    pub(super) key: &'a str,
    pub(super) follow: bool,
    pub(super) json: bool,
}

/// How often a task that runs is looked at.
const LOOK: Duration = Duration::from_millis(500);

pub(super) fn show(
    shown: &Shown<'_>,
    server: &ServerArguments,
    printer: &Printer,
) -> Result<Exit, CommandError> {
    let batch = batch_name(shown.batch)?;
    let key = TaskName::parse(shown.key)?;
    at_server(server, printer, async |fleet| {
        let entries = fleet::batch_entries(&fleet, &batch).await?;
        if entries.is_empty() {
            return Err(no_batch(&batch));
        }
        let entry = entries.into_iter().find(|entry| entry.address.task == key);
        let Some(BatchEntry { address, name, .. }) = entry else {
            let problem = format!("the batch {batch} has no task {:?}", key.as_str());
            return Err(CommandError::usage(problem).hint(format!(
                "`pi-subagents fleet results {batch}` lists those that have ended"
            )));
        };
        let mut printed = String::new();
        let mut is_told = false;
        loop {
            // The result first: what is read after it is everything.
            let result = fleet::task_result(&fleet, &address).await?;
            let attempt = result.as_ref().map(|result| result.attempt);
            let AttemptEvents { records, is_cut } =
                fleet::task_events(&fleet, &address, attempt).await?;
            if is_cut && !is_told {
                printer.note("The agent did too much to show all of it: this is the beginning, and the end of the task.");
                is_told = true;
            }
            if shown.json {
                let state = fleet::task_state(&fleet, &address).await?;
                printer.json(&json!({
                    "batch": batch.as_str(), "key": key.as_str(), "name": name,
                    "result": result.as_ref().map(|result| &result.result),
                    "attempts": state.unwrap_or_default().attempts,
                    "events": records,
                }))?;
                return Ok(Exit::Completed);
            }
            let text = words(result.as_ref(), records);
            // A transcript only grows, but for its end.
            let new =
                text.strip_prefix(printed.trim_end()).unwrap_or(&text).trim_start_matches('\n');
            if !new.trim().is_empty() {
                printer.answer(new)?;
            }
            printed = text;
            match result {
                Some(result) if result.result.error.is_some() => return Ok(Exit::TaskFailed),
                Some(_) => return Ok(Exit::Completed),
                None if !shown.follow => {
                    printer.note("The task has not ended.");
                    return Ok(Exit::Completed);
                }
                None => fleet::pause(LOOK).await,
            }
        }
    })
}

fn words(result: Option<&TaskResult>, records: Vec<Record>) -> String {
    if records.is_empty() && result.is_none() {
        return String::new();
    }
    let status = result.map_or(Status::Running, |result| result.result.status);
    let error = result.and_then(|result| result.result.error.clone());
    transcript(vec![(status, error, records)])
}
