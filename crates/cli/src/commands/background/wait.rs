//! `bg wait`.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use process::SignalPipe;
use runner::{EndedRun, Waiting};
use serde::Serialize;
use store::{RunDir, Store};
use tools::{BackgroundRecord, BackgroundStatus, KnownRun};

use super::find_all;
use crate::arguments::Wait;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(super) fn wait(
    arguments: &Wait,
    store: &Store,
    printer: &mut Printer,
) -> Result<Exit, CommandError> {
    let mut runs = find_all(store, &arguments.ids)?;
    let mut signals = SignalPipe::for_quitting()
        .map_err(|error| CommandError::failure(format!("signals cannot be caught: {error}")))?;
    printer.listen_to(&signals);
    let limit = arguments.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
    let show = |run: &KnownRun| if arguments.json { Ok(()) } else { summary(run, printer) };
    for run in runs.iter().filter(|run| run.result.is_some()) {
        show(run)?;
    }
    let pending: Vec<RunDir> =
        runs.iter().filter(|run| run.result.is_none()).map(|run| run.dir.clone()).collect();
    let mut waiting = Waiting::new(pending);
    let (mut is_lost, mut is_interrupted) = (false, false);
    while !waiting.pending().is_empty() {
        for EndedRun { dir, result } in waiting.wait(&[signals.as_fd()], deadline) {
            let Some(run) = runs.iter_mut().find(|run| run.dir == dir) else {
                continue;
            };
            match result {
                Ok(result) => {
                    run.result = Some(result);
                    show(run)?;
                }
                Err(error) => {
                    is_lost = true;
                    printer.warning(&format!("nothing is known about {}: {error}", dir.run_id()));
                }
            }
        }
        if signals.drain().next().is_some() {
            printer.hurry();
            is_interrupted = true;
            break;
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            break;
        }
    }
    let pending = waiting.pending().iter().map(|dir| dir.run_id().to_string());
    let pending: Vec<String> = pending.collect();
    let is_timed_out = !pending.is_empty() && !is_interrupted;
    if arguments.json {
        let runs = runs.iter().map(BackgroundRecord::of).collect();
        printer.json(&Document { runs, timed_out: is_timed_out })?;
    }
    if is_interrupted {
        printer.note("Not waiting any more. The runs go on.");
        return Ok(Exit::Interrupted);
    }
    if is_timed_out {
        let seconds = arguments.timeout.unwrap_or_default();
        let pending = pending.join(", ");
        return Err(CommandError::failure(format!(
            "the time is over after {seconds}s; still running: {pending}"
        ))
        .hint("the runs go on; wait again, or stop them with `pi-subagents bg stop ID`"));
    }
    let is_completed = |run: &KnownRun| run.background_status() == BackgroundStatus::Completed;
    let all_completed = !is_lost && runs.iter().all(is_completed);
    Ok(if all_completed { Exit::Completed } else { Exit::TaskFailed })
}

fn summary(run: &KnownRun, printer: &Printer) -> Result<(), CommandError> {
    let (meta, status) = (&run.meta, run.background_status().word());
    let error = run.error().map(|error| format!(" — {error}")).unwrap_or_default();
    printer.answer(&format!("{}  {status:<9}  {}{error}", meta.run_id, meta.name))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    runs: Vec<BackgroundRecord>,
    timed_out: bool,
}
