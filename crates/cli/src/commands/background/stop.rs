//! `bg stop`.

use runner::{StopForce, stop_run};
use serde::Serialize;
use store::Store;
use tools::BackgroundRecord;

use super::{find_all, print_warnings};
use crate::arguments::Stop;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(super) fn stop(
    arguments: &Stop,
    store: &Store,
    printer: &Printer,
) -> Result<Exit, CommandError> {
    let runs = find_all(store, &arguments.ids)?;
    let force = if arguments.now { StopForce::AtOnce } else { StopForce::Gracefully };
    // First all are asked and then all are waited for, so that many need no longer than one.
    for run in runs.iter().filter(|run| run.record.is_running()) {
        // `stop_run` reports what stands in the way.
        let _ = run.dir.request_stop(force);
    }
    let mut stopped_runs = Vec::new();
    let mut is_failed = false;
    for run in runs {
        match stop_run(&run.dir, force) {
            Ok(stopped) => {
                is_failed |= !stopped.is_proven();
                let mut record = run.record;
                let report = StopReport {
                    had_ended: !record.is_running(),
                    left: stopped.left.len(),
                    proven: stopped.is_proven(),
                    words: stopped.words(),
                    pids: stopped.left,
                    unsure_pids: stopped.unsure,
                    record: {
                        record.end(stopped.result);
                        record
                    },
                };
                if !arguments.json {
                    print_warnings(&report.record, printer);
                    printer.answer(&report.words())?;
                }
                stopped_runs.push(report);
            }
            Err(error) => {
                is_failed = true;
                printer.warning(&format!("{} was not stopped: {error}", run.dir.run_id()));
            }
        }
    }
    if arguments.json {
        printer.json(&Document { runs: stopped_runs })?;
    }
    Ok(if is_failed { Exit::TaskFailed } else { Exit::Completed })
}

#[derive(Serialize)]
struct Document {
    runs: Vec<StopReport>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StopReport {
    #[serde(flatten)]
    record: BackgroundRecord,
    had_ended: bool,
    left: usize,
    /// Whether it is proven that nothing else is left.
    proven: bool,
    /// The processes that are left.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pids: Vec<u32>,
    /// Processes that may be left of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unsure_pids: Vec<u32>,
    #[serde(skip)]
    words: String,
}

impl StopReport {
    fn words(&self) -> String {
        let had = if self.had_ended { " (it had ended before)" } else { "" };
        format!(
            "{}  {:<9}  {}{had}: {}",
            self.record.run_id,
            self.record.status.word(),
            self.record.title(),
            self.words
        )
    }
}
