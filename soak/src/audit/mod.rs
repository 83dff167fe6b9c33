//! The proof at the end: every task that was accepted has ended once and in one way, and nothing is left.
//!
//! The audit compares what it finds with the log: a run that no fault has hit must have ended as its script says,
//! and any other end must be explained by a fault that hit this run.

mod batches;
mod endings;
mod messages;
mod questions;
mod records;
mod worktrees;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::log::{Entries, HitKind, Log, Reported};
use crate::plan::{Pace, Project};
use crate::shell::Shell;
use crate::testbed::Testbed;
use records::Record;
pub(crate) use worktrees::Untouched;

/// How many tasks ended in each way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) tasks: usize,
    pub(super) completed: usize,
    /// Ended in another way, and rightly so.
    pub(super) failed: usize,
    /// Not accepted, and rightly so.
    pub(super) refused: usize,
    /// Their record was deleted by the soak.
    pub(super) deleted: usize,
    /// Their door was killed, or their call cancelled, before they were accepted.
    pub(super) never_begun: usize,
    /// Those that had a cgroup of their own.
    pub(super) in_cgroups: usize,
    /// Those whose access was restricted.
    pub(super) restricted: usize,
    /// Those that were shown in a pane of tmux.
    pub(super) in_panes: usize,
    /// Those of the fleet that have a result.
    pub(super) on_fleet: usize,
    /// Those of them that were in batches.
    pub(super) in_batches: usize,
    /// The messages to agents of which a program has told what became.
    pub(super) messages: usize,
    /// Those that agents have read, by their records.
    pub(super) delivered: usize,
    /// What agents have asked, by their records.
    pub(super) questions: usize,
    /// Those that a user has answered: the soak, in a shell or in pi.
    pub(super) answered: usize,
    /// Those that were denied because they had waited too long.
    pub(super) expired: usize,
    /// Files that agents wrote in worktrees of their own, and those that refs have.
    pub(super) written: usize,
    pub(super) in_refs: usize,
}

/// Checks everything, and adds violations to the log.
pub(super) fn audit(testbed: &Testbed, before: &BTreeMap<Project, Untouched>, log: &Log) -> Tally {
    let entries = log.entries().clone();
    let mut records = BTreeMap::<String, Record>::new();
    for (directory, project) in stores(testbed) {
        for run in directory_entries(&directory) {
            if let Some(record) = records::read(&run, project, &entries, log)
                && let Some(other) = records.insert(record.token.clone(), record.clone())
            {
                let about = [record.token.as_str(), &record.run_id, &other.run_id];
                log.report_violation(&about, "one task has two runs");
            }
        }
    }
    let mut tally = Tally::default();
    for (token, entry) in &entries.tasks {
        tally.tasks += 1;
        let record = records.get(token);
        tally.in_cgroups += usize::from(record.is_some_and(|record| record.had_cgroup));
        tally.restricted += usize::from(record.is_some_and(|record| record.is_restricted));
        let is_shown =
            entry.project == Project::Paned && !entry.is_background && testbed.panes.is_some();
        tally.in_panes += usize::from(is_shown && record.is_some_and(|record| record.is_begun));
        let is_elsewhere = testbed.is_elsewhere(entry.project);
        let has_result = record.is_some_and(|record| record.outcome.is_some());
        tally.on_fleet += usize::from(is_elsewhere && has_result);
        endings::check(token, entry, record, &entries, log);
        let outcome = record.and_then(|record| record.outcome.as_deref());
        match (outcome, &entry.reported) {
            (Some("completed"), _) => tally.completed += 1,
            (Some(_), _) => tally.failed += 1,
            (None, Reported::Refused(_)) => tally.refused += 1,
            (None, _) if entry.project == Project::Doomed => tally.deleted += 1,
            (None, _) => tally.never_begun += 1,
        }
    }
    batches::check(&entries, log);
    for result in entries.batches.iter().flat_map(|batch| &batch.results) {
        tally.tasks += 1;
        tally.on_fleet += 1;
        tally.in_batches += 1;
        match result["outcome"].as_str() {
            Some("completed") => tally.completed += 1,
            _ => tally.failed += 1,
        }
    }
    tally.messages = entries.messages.len();
    tally.delivered = records.values().map(|record| record.messages.delivered()).sum();
    messages::check(&entries, records.values(), log);
    for record in records.values() {
        tally.questions += record.questions.count();
        tally.answered +=
            record.questions.answered_by("shell") + record.questions.answered_by("pi");
        tally.expired += record.questions.answered_by("deadline");
    }
    questions::check(&entries, records.values(), log);
    let counted = worktrees::check(testbed, before, (&entries, &records), log);
    (tally.written, tally.in_refs) = (counted.written, counted.in_refs);
    check_notifications(&entries, log);
    check_temporary_files(testbed, &entries, log);
    check_panics(testbed, log);
    check_lists(testbed, log, &records);
    check_slots(testbed, log);
    // The last one, because it removes what the others look for.
    check_cgroups(testbed, log);
    tally
}

/// Every directory with run directories, and its project. Temporary stores belong to the project whose disk was
/// full.
fn stores(testbed: &Testbed) -> Vec<(PathBuf, Project)> {
    let is_store = |path: &PathBuf| name_of(path).starts_with("pi-subagents-runs-");
    let temporary = directory_entries(&testbed.temporary()).into_iter().filter(is_store);
    let temporary = temporary.map(|path| (path, Project::Small));
    let of_projects = Project::ALL.into_iter().map(|project| (testbed.runs(project), project));
    of_projects.chain(temporary).collect()
}

/// The entries of a directory, sorted.
fn directory_entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Checks that the end of each background run was notified once at most.
fn check_notifications(entries: &Entries, log: &Log) {
    for (run_id, count) in entries.notifications.iter().filter(|(_, count)| **count > 1) {
        log.report_violation(&[run_id], format!("its end was notified {count} times"));
    }
}

/// Checks that the temporary directory contains only stores with runs, and empty ones of killed doors. The
/// directory of a restricted run whose supervisor and record are both gone stays until it is an hour old.
fn check_temporary_files(testbed: &Testbed, entries: &Entries, log: &Log) {
    let killed = entries.hits.iter().filter(|hit| hit.kind == HitKind::DoorKilled).count();
    let (mut empty, mut sockets, mut parcels) = (0, 0, 0);
    for path in directory_entries(&testbed.temporary()) {
        let run_id = name_of(&path).strip_prefix("subagent-").map(str::to_owned);
        let is_doomed = run_id.is_some_and(|run_id| {
            !stores(testbed).iter().any(|(store, _)| store.join(&run_id).exists())
        });
        if is_doomed {
            continue;
        }
        let is_store = name_of(&path).starts_with("pi-subagents-runs-") && path.is_dir();
        let inside: Vec<String> =
            directory_entries(&path).iter().map(|path| name_of(path)).collect();
        let is_empty = inside.iter().all(|name| name.starts_with('.'));
        empty += usize::from(is_store && is_empty);
        // The way to a pane that a door was opening.
        let is_socket = inside == ["socket"] && name_of(&path).starts_with("pi-subagents-");
        sockets += usize::from(is_socket);
        // What `fleet submit` was packing when it was killed.
        let is_parcel = name_of(&path).starts_with(".tmp") && path.is_dir();
        parcels += usize::from(is_parcel);
        let is_known = is_store || is_socket || is_parcel;
        if !is_known || empty > killed || sockets > killed || parcels > killed {
            log.report_violation(&[], format!("a temporary file is left: {}", path.display()));
        }
    }
}

/// Checks that no slot is held and no call waits, after all that were killed with one.
fn check_slots(testbed: &Testbed, log: &Log) {
    let command = testbed.command(Project::Steady, ["status", "--json"]);
    let ended = Shell::new(testbed, log).execute(command, Pace::Eager);
    let status: Value =
        ended.and_then(|ended| serde_json::from_str(&ended.stdout).ok()).unwrap_or_default();
    for held in ["running", "waiting"] {
        if status[held].as_array().is_none_or(|entries| !entries.is_empty()) {
            log.report_violation(&[], format!("`status` says of what is {held}: {}", status[held]));
        }
    }
}

/// Checks that pruning removes the empty cgroups of runs that have neither a supervisor nor a record.
fn check_cgroups(testbed: &Testbed, log: &Log) {
    let shell = Shell::new(testbed, log);
    let ask = |words: &[&str]| -> Value {
        let ended = shell.execute(testbed.command(Project::Steady, words), Pace::Eager);
        ended.and_then(|ended| serde_json::from_str(&ended.stdout).ok()).unwrap_or_default()
    };
    let doctor = ask(&["doctor", "--json"]);
    let empty = doctor["facts"]["store"]["emptyCgroups"].as_array().cloned().unwrap_or_default();
    ask(&["sessions", "prune", "--json"]);
    for cgroup in empty.iter().filter_map(Value::as_str).filter(|path| Path::new(path).exists()) {
        log.report_violation(&[], format!("an empty cgroup is left: {cgroup}"));
    }
}

/// Checks that no server has panicked, nor any process with the same standard error. The output of commands is
/// checked when they end.
fn check_panics(testbed: &Testbed, log: &Log) {
    let files = directory_entries(&testbed.world.path("")).into_iter();
    for file in files.filter(|path| name_of(path).starts_with("stderr-of-")) {
        let text = fs::read(&file).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        for line in text.lines().filter(|line| line.contains("panicked at")) {
            log.report_violation(&[], format!("{}: {line}", file.display()));
        }
    }
}

/// Checks that the lists of the program contain all runs and agree with their records, and that `doctor` finds
/// no problem.
fn check_lists(testbed: &Testbed, log: &Log, records: &BTreeMap<String, Record>) {
    let by_run: BTreeMap<&str, &Record> =
        records.values().map(|record| (record.run_id.as_str(), record)).collect();
    let shell = Shell::new(testbed, log);
    for project in Project::ALL {
        let ask = |words: &[&str]| -> Value {
            let ended = shell.execute(testbed.command(project, words), Pace::Eager);
            ended.and_then(|ended| serde_json::from_str(&ended.stdout).ok()).unwrap_or_else(|| {
                let what =
                    format!("`{}` prints no document in {}", words.join(" "), project.word());
                log.report_violation(&[], what);
                Value::Null
            })
        };
        let sessions = ask(&["sessions", "list", "--json"]);
        let sessions = sessions["sessions"].as_array().cloned().unwrap_or_default();
        let listed = sessions.iter().flat_map(|session| session["runs"].as_array()).flatten();
        let listed: BTreeSet<&str> = listed.filter_map(|run| run["runId"].as_str()).collect();
        for path in directory_entries(&testbed.runs(project)) {
            let run_id = name_of(&path);
            if by_run.contains_key(run_id.as_str()) && !listed.contains(run_id.as_str()) {
                log.report_violation(&[&run_id], "it is not in the list of sessions");
            }
        }
        let of_sessions = sessions.iter().flat_map(|session| session["runs"].as_array());
        let background = ask(&["bg", "list", "--all", "--everyone", "--json"]);
        for run in of_sessions.chain(background["runs"].as_array()).flatten() {
            let id = run["runId"].as_str().unwrap_or_default();
            let recorded = by_run.get(id).and_then(|record| record.outcome.as_deref());
            if recorded.is_some() && run["outcome"].as_str() != recorded {
                let what = format!("its record says {recorded:?}, and a list says {run}");
                log.report_violation(&[id], what);
            }
        }
        let doctor = ask(&["doctor", "--json"]);
        let findings = doctor["findings"].as_array().cloned().unwrap_or_default();
        let is_problem =
            |finding: &&Value| finding["level"] == "problem" && finding["area"] == "runs";
        for finding in findings.iter().filter(is_problem) {
            log.report_violation(&[], format!("doctor in {}: {finding}", project.word()));
        }
    }
}
