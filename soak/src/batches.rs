//! Batches of the fleet, which no process here waits for: submitted now and then, and looked at when the faults are over.

use std::fs;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use serde_json::{Value, json};

use crate::log::{Batch, Log};
use crate::plan::{Pace, Planned, Project};
use crate::shell::Shell;
use crate::task::Task;
use crate::testbed::Testbed;

/// How often a submission is repeated that was killed.
const TRIES: usize = 20;

/// Submits each batch at its time, until the end.
pub(crate) fn submit_all(
    testbed: &Testbed,
    log: &Log,
    batches: &[Planned<Vec<Task>>],
    end: &Receiver<()>,
) {
    for (number, Planned { at, what }) in batches.iter().enumerate() {
        let wait = at.saturating_sub(log.now());
        if !matches!(end.recv_timeout(wait), Err(RecvTimeoutError::Timeout)) {
            return;
        }
        submit(testbed, log, &format!("batch-{number}"), what);
    }
}

/// Submits a batch again until all of it is there, as its user does when a submission is cut off.
fn submit(testbed: &Testbed, log: &Log, name: &str, tasks: &[Task]) {
    let path = testbed.world.path(&format!("{name}.jsonl"));
    let lines: String = tasks.iter().map(|task| format!("{}\n", line(task))).collect();
    if let Err(error) = fs::write(&path, lines) {
        return log.report_violation(&[name], format!("{}: {error}", path.display()));
    }
    let (tasks, submitted_at) = (tasks.to_vec(), log.now());
    let batch = Batch { name: name.to_owned(), tasks, submitted_at, results: Vec::new() };
    log.note(format!("{name} is submitted: {:?}", batch.tasks));
    log.entries().batches.push(batch);
    let shell = Shell::new(testbed, log);
    for _ in 0..TRIES {
        let mut command = testbed.command(Project::Sent, ["fleet", "submit", "--name", name]);
        command.arg(&path);
        let Some(ended) = shell.execute(command, Pace::Eager) else { break };
        if !shell.is_cut_off(&ended) {
            if !ended.is_success() {
                log.report_violation(&[name], format!("it was refused: {}", ended.stderr));
            }
            return;
        }
    }
    log.report_violation(&[name], "it was not submitted");
}

/// A task as a line of a batch has it.
fn line(task: &Task) -> Value {
    let mut line = json!({
        "key": task.token, "prompt": task.prompt(), "profile": task.definition(),
    });
    if let Some(seconds) = task.timeout() {
        line["timeout"] = json!(seconds);
    }
    line
}

/// Waits until each batch has ended, and notes its results.
pub(crate) fn collect(testbed: &Testbed, log: &Log) {
    let shell = Shell::new(testbed, log);
    let names: Vec<String> = log.entries().batches.iter().map(|batch| batch.name.clone()).collect();
    for (index, name) in names.iter().enumerate() {
        // It ends with the batch.
        let watch = testbed.command(Project::Sent, ["fleet", "watch", name]);
        let results = testbed.command(Project::Sent, ["fleet", "results", name]);
        let ended = shell.execute(watch, Pace::Eager);
        let ended = ended.and_then(|_| shell.execute(results, Pace::Eager));
        let stdout = ended.map(|ended| ended.stdout).unwrap_or_default();
        let results = stdout.lines().filter_map(|line| serde_json::from_str(line).ok());
        log.entries().batches[index].results = results.collect();
    }
}
