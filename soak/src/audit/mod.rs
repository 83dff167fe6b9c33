//! The proof at the end: every task that was accepted has ended once and in one way, and nothing is left.
//!
//! What is found is held against what the ledger knows: a run that nobody touched must have ended as
//! its script says, and a run that did not must have been touched by something that explains it.

mod endings;
mod records;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::ledger::{BlowKind, Fate, Ledger, Pages};
use crate::place::Place;
use crate::plan::{Pace, Project};
use crate::shell::Shell;
use records::Record;

/// What the proof was about.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) tasks: usize,
    pub(super) completed: usize,
    /// Ended in another way, as they should have.
    pub(super) failed: usize,
    /// Not taken in, and rightly so.
    pub(super) refused: usize,
    /// Their record was deleted by us.
    pub(super) deleted: usize,
    /// Their door was killed, or told to forget them, before it took them in.
    pub(super) never_begun: usize,
}

/// Looks at everything. What is wrong is in the ledger afterwards.
pub(super) fn audit(place: &Place, ledger: &Ledger) -> Tally {
    let pages = ledger.pages().clone();
    let mut records = BTreeMap::<String, Record>::new();
    for (directory, project) in stores(place) {
        for run in entries(&directory) {
            if let Some(record) = records::read(&run, project, &pages, ledger)
                && let Some(other) = records.insert(record.token.clone(), record.clone())
            {
                let about = [record.token.as_str(), &record.run_id, &other.run_id];
                ledger.complain(&about, "one task has two runs");
            }
        }
    }
    let mut tally = Tally::default();
    for (token, account) in &pages.accounts {
        tally.tasks += 1;
        let record = records.get(token);
        endings::check(token, account, record, &pages, ledger);
        let outcome = record.and_then(|record| record.outcome.as_deref());
        match (outcome, &account.fate) {
            (Some("completed"), _) => tally.completed += 1,
            (Some(_), _) => tally.failed += 1,
            (None, Fate::Refused(_)) => tally.refused += 1,
            (None, _) if account.project == Project::Doomed => tally.deleted += 1,
            (None, _) => tally.never_begun += 1,
        }
    }
    check_notifications(&pages, ledger);
    check_temporary_files(place, &pages, ledger);
    check_panics(place, ledger);
    check_lists(place, ledger, &records);
    tally
}

/// Every directory that holds run directories, with the project whose they are. Temporary stores are
/// those of the project that was full.
fn stores(place: &Place) -> Vec<(PathBuf, Project)> {
    let temporary = entries(&place.temporary()).into_iter().map(|path| (path, Project::Small));
    let of_projects = Project::ALL.into_iter().map(|project| (place.runs(project), project));
    of_projects.chain(temporary).collect()
}

/// What is in a directory, in order.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// An owner is told once at most, ever.
fn check_notifications(pages: &Pages, ledger: &Ledger) {
    for (run_id, count) in pages.told.iter().filter(|(_, count)| **count > 1) {
        ledger.complain(&[run_id], format!("its end was told {count} times"));
    }
}

/// Nothing is in the temporary directory but stores that hold runs, and those that a killed door had
/// no time to use.
fn check_temporary_files(place: &Place, pages: &Pages, ledger: &Ledger) {
    let killed = pages.blows.iter().filter(|blow| blow.kind == BlowKind::DoorKilled).count();
    let mut empty = 0;
    for path in entries(&place.temporary()) {
        let is_store = name_of(&path).starts_with("pi-subagents-") && path.is_dir();
        let is_empty = entries(&path).iter().all(|path| name_of(path).starts_with('.'));
        empty += usize::from(is_store && is_empty);
        if !is_store || empty > killed {
            ledger.complain(&[], format!("a temporary file is left: {}", path.display()));
        }
    }
}

/// No server has panicked, nor anything that shares its standard error. Commands are listened to as they
/// run.
fn check_panics(place: &Place, ledger: &Ledger) {
    let logs = entries(&place.world.path("")).into_iter();
    for log in logs.filter(|path| name_of(path).starts_with("stderr-of-")) {
        let said = fs::read(&log).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        for line in said.lines().filter(|line| line.contains("panicked at")) {
            ledger.complain(&[], format!("{}: {line}", log.display()));
        }
    }
}

/// What the program itself says about its runs is what their records say, it knows all of them, and
/// its doctor finds no problem.
fn check_lists(place: &Place, ledger: &Ledger, records: &BTreeMap<String, Record>) {
    let by_run: BTreeMap<&str, &Record> =
        records.values().map(|record| (record.run_id.as_str(), record)).collect();
    let shell = Shell::new(place, ledger);
    for project in Project::ALL {
        let ask = |words: &[&str]| -> Value {
            let ended = shell.execute(place.command(project, words), Pace::Eager);
            ended.and_then(|ended| serde_json::from_str(&ended.stdout).ok()).unwrap_or_else(|| {
                let what = format!("`{}` says nothing in {}", words.join(" "), project.word());
                ledger.complain(&[], what);
                Value::Null
            })
        };
        let sessions = ask(&["sessions", "list", "--json"]);
        let sessions = sessions["sessions"].as_array().cloned().unwrap_or_default();
        let listed = sessions.iter().flat_map(|session| session["runs"].as_array()).flatten();
        let listed: BTreeSet<&str> = listed.filter_map(|run| run["runId"].as_str()).collect();
        for path in entries(&place.runs(project)) {
            let run_id = name_of(&path);
            if by_run.contains_key(run_id.as_str()) && !listed.contains(run_id.as_str()) {
                ledger.complain(&[&run_id], "it is not in the list of sessions");
            }
        }
        let of_sessions = sessions.iter().flat_map(|session| session["runs"].as_array());
        let background = ask(&["bg", "list", "--all", "--everyone", "--json"]);
        for run in of_sessions.chain(background["runs"].as_array()).flatten() {
            let id = run["runId"].as_str().unwrap_or_default();
            let recorded = by_run.get(id).and_then(|record| record.outcome.as_deref());
            if recorded.is_some() && run["outcome"].as_str() != recorded {
                let what = format!("its record says {recorded:?}, and a list says {run}");
                ledger.complain(&[id], what);
            }
        }
        let doctor = ask(&["doctor", "--json"]);
        let findings = doctor["findings"].as_array().cloned().unwrap_or_default();
        let is_problem =
            |finding: &&Value| finding["level"] == "problem" && finding["area"] == "runs";
        for finding in findings.iter().filter(is_problem) {
            ledger.complain(&[], format!("doctor in {}: {finding}", project.word()));
        }
    }
}
