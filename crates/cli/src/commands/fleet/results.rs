//! `fleet results`: what became of the tasks, in the order of submission.

use std::path::Path;

use fleet::{BatchEntry, FleetError, TaskName, TaskResult};
use model::Outcome;
use serde_json::{Value, json};

use super::{at_server, batch_name, no_batch};
use crate::arguments::FleetResults;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(super) fn results(arguments: &FleetResults, printer: &Printer) -> Result<Exit, CommandError> {
    let batch = batch_name(&arguments.batch)?;
    if let Some(directory) = arguments.patches.as_deref() {
        return write_patches(arguments, &batch, directory, printer);
    }
    let directory = arguments.output_dir.as_deref();
    if let Some(directory) = directory {
        store::create_export_directory(directory).map_err(CommandError::usage)?;
    }
    let (mut written, mut failed, mut open) = (0, 0, 0);
    at_server(&arguments.server, printer, async |fleet| {
        let entries = fleet::batch_entries(&fleet, &batch).await?;
        if entries.is_empty() {
            return Err(no_batch(&batch));
        }
        fleet::each_result(&fleet, entries, |entry, result| {
            let Some(result) = result else {
                open += 1;
                return Ok(());
            };
            let is_completed = result.outcome() == Outcome::Completed;
            failed += usize::from(!is_completed);
            match directory {
                Some(directory) if is_completed => {
                    written += 1;
                    write(directory, &entry, &result)
                }
                Some(_) => Ok(()),
                None if arguments.failed && is_completed => Ok(()),
                None => printer.line(&document(&entry, &result).to_string()),
            }
        })
        .await
    })?;
    if let Some(directory) = directory {
        printer.answer(&format!("Wrote {written} answers to {}.", directory.display()))?;
    }
    if failed > 0 && directory.is_some() {
        printer.note(&format!(
            "{failed} tasks failed; `pi-subagents fleet results {batch} --failed` says why."
        ));
    }
    if open > 0 {
        printer.note(&format!("{open} tasks have not ended."));
    }
    Ok(if failed + open == 0 { Exit::Completed } else { Exit::TaskFailed })
}

/// Writes what the agents have changed. Those that failed may have changed something, too.
fn write_patches(
    arguments: &FleetResults,
    batch: &TaskName,
    directory: &Path,
    printer: &Printer,
) -> Result<Exit, CommandError> {
    store::create_export_directory(directory).map_err(CommandError::usage)?;
    let (written, open, refused) = at_server(&arguments.server, printer, async |fleet| {
        let entries = fleet::batch_entries(&fleet, batch).await?;
        if entries.is_empty() {
            return Err(no_batch(batch));
        }
        let (mut ended, mut open, mut written) = (Vec::new(), 0, 0);
        fleet::each_result(&fleet, entries, |entry, result| {
            match result {
                Some(result) if result.commit.is_some() => ended.push((entry, result)),
                Some(_) => {}
                None => open += 1,
            }
            Ok::<(), CommandError>(())
        })
        .await?;
        let patches = fleet::Patches::new()?;
        let mut refused = Vec::new();
        for (entry, result) in ended {
            let patch = match patches.fetch(&fleet, &entry, &result).await {
                Ok(Some(patch)) => patch,
                Ok(None) => continue,
                // The changes of one task do not keep those of the others back.
                Err(error @ FleetError::Changes(_)) => {
                    refused.push(format!("{}: {error}", entry.address.task));
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let path = directory.join(format!("{}.patch", entry.address.task));
            store::write_export(&path, patch)?;
            written += 1;
        }
        Ok((written, open, refused))
    })?;
    printer.answer(&format!("Wrote {written} patches to {}.", directory.display()))?;
    for problem in &refused {
        printer.warning(problem);
    }
    if open > 0 {
        printer.note(&format!("{open} tasks have not ended."));
    }
    Ok(if open == 0 && refused.is_empty() { Exit::Completed } else { Exit::TaskFailed })
}

/// A key is a plain name without slashes that begins with no dot, so that the file is in the directory.
fn write(directory: &Path, entry: &BatchEntry, result: &TaskResult) -> Result<(), CommandError> {
    let path = directory.join(format!("{}.md", entry.address.task));
    let said = session::clean(result.result.output.trim());
    Ok(store::write_export(&path, format!("{said}\n"))?)
}

fn document(entry: &BatchEntry, result: &TaskResult) -> Value {
    let run = &result.result;
    json!({
        "key": entry.address.task.as_str(),
        "number": entry.number,
        "name": entry.name,
        "status": run.status,
        "outcome": run.outcome,
        "error": run.error,
        "output": run.output,
        "value": run.value,
        "model": run.model,
        "usage": run.usage,
        "toolCalls": run.tool_calls,
        "startedAt": run.started_at,
        "endedAt": run.ended_at,
        "durationMs": run.duration_ms,
        "attempt": result.attempt,
        "worker": result.worker,
        "runId": run.run_id.as_str(),
    })
}
