//! `bg wait`.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use model::RunId;
use process::SignalPipe;
use runner::{EndedRun, FollowedQuestions, Waiting};
use serde::Serialize;
use store::{RunDir, Store};
use tools::{BackgroundRecord, BackgroundRun, BackgroundStatus};

use super::look::question;
use super::{find_all, print_warnings};
use crate::arguments::Wait;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(super) fn wait(
    arguments: &Wait,
    store: &Store,
    printer: &mut Printer,
) -> Result<Exit, CommandError> {
    let runs = find_all(store, &arguments.ids)?;
    let title = match runs.as_slice() {
        [run] => run.record.title().to_owned(),
        runs => format!("{} runs", runs.len()),
    };
    let waited = wait_for(runs, arguments, printer);
    arguments
        .notify
        .tell(&title, waited.as_ref().map_or_else(CommandError::exit_code, |exit| *exit));
    waited
}

fn wait_for(
    mut runs: Vec<BackgroundRun>,
    arguments: &Wait,
    printer: &mut Printer,
) -> Result<Exit, CommandError> {
    let mut signals = SignalPipe::for_quitting()
        .map_err(|error| CommandError::failure(format!("signals cannot be caught: {error}")))?;
    printer.listen_to(&signals);
    let limit = arguments.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
    let is_only = runs.len() == 1;
    let show = |run: &BackgroundRecord| {
        if arguments.json {
            return Ok(());
        }
        print_warnings(run, printer);
        if is_only { answer(run, printer) } else { printer.answer(&summary(run)) }
    };
    for run in runs.iter().filter(|run| !run.record.is_running()) {
        show(&run.record)?;
    }
    let pending = runs.iter().filter(|run| run.record.is_running());
    let pending: Vec<RunDir> = pending.map(|run| run.dir.clone()).collect();
    let mut asking = Asking::new(&pending);
    let mut waiting = Waiting::new(pending);
    let (mut is_lost, mut is_interrupted) = (false, false);
    while !waiting.pending().is_empty() {
        for EndedRun { dir, result } in waiting.wait(&[signals.as_fd()], deadline) {
            let Some(run) = runs.iter_mut().find(|run| run.dir == dir) else {
                continue;
            };
            match result {
                Ok(result) => {
                    run.record.end(result);
                    show(&run.record)?;
                }
                Err(error) => {
                    is_lost = true;
                    printer.warning(&format!("nothing is known about {}: {error}", dir.run_id()));
                }
            }
        }
        asking.tell(waiting.pending(), &runs, arguments, printer);
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
        let runs = runs.iter().map(|run| &run.record).collect();
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
    // An answer that cannot be printed is an error, also if the agent gave one.
    let is_answered = |run: &BackgroundRecord| {
        run.status == BackgroundStatus::Completed && !run.ending.is_answer_lost()
    };
    let all_completed = !is_lost && runs.iter().all(|run| is_answered(&run.record));
    Ok(if all_completed { Exit::Completed } else { Exit::TaskFailed })
}

/// What the runs ask while their end is waited for. Each question is told once.
struct Asking(BTreeMap<RunId, FollowedQuestions>);

impl Asking {
    fn new(pending: &[RunDir]) -> Asking {
        Asking(
            pending.iter().map(|dir| (dir.run_id().clone(), FollowedQuestions::new(dir))).collect(),
        )
    }

    fn tell(
        &mut self,
        pending: &[RunDir],
        runs: &[BackgroundRun],
        arguments: &Wait,
        printer: &Printer,
    ) {
        for dir in pending {
            let run = runs.iter().find(|run| run.dir == *dir);
            let (Some(run), Some(followed)) = (run, self.0.get_mut(dir.run_id())) else {
                continue;
            };
            // What cannot be read now is told when its end is.
            for open in followed.read().unwrap_or_default() {
                printer.note(&question(&run.record, &open));
                arguments.notify.tell_question(run.record.title());
            }
        }
    }
}

/// Prints a single run as `run` does: the answer alone on standard output.
fn answer(run: &BackgroundRecord, printer: &Printer) -> Result<(), CommandError> {
    printer.summary(&summary(run), run.status == BackgroundStatus::Completed);
    match run.ending.final_text.as_deref().filter(|text| !text.trim().is_empty()) {
        Some(text) => printer.answer(text),
        None => Ok(()),
    }
}

fn summary(run: &BackgroundRecord) -> String {
    let error = run.ending.error.as_ref().map(|error| format!(" — {error}")).unwrap_or_default();
    let status = run.status.word();
    format!("{}  {status:<9}  {}{error}", run.run_id, run.title())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    runs: Vec<&'a BackgroundRecord>,
    timed_out: bool,
}
