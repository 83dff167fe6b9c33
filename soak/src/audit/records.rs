//! One run directory: complete, ended once, and not locked.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::messages::Messages;
use super::questions::Questions;
use super::{directory_entries, name_of};
use crate::log::{Entries, HitKind, Log, TaskEntry};
use crate::plan::Project;
use crate::task::Task;

/// What a run directory contains.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) token: String,
    pub(super) run_id: String,
    /// Whether its agent was started.
    pub(super) is_begun: bool,
    /// Whether it had a cgroup of its own.
    pub(super) had_cgroup: bool,
    /// Whether its access was restricted.
    pub(super) is_restricted: bool,
    pub(super) outcome: Option<String>,
    pub(super) status: Option<String>,
    pub(super) output: String,
    pub(super) messages: Messages,
    pub(super) questions: Questions,
    /// Whether events of it may be missing, because its disk was full.
    pub(super) has_gaps: bool,
}

/// The files that a run directory may contain; see docs/reference/runs.md.
const FILES: &[&str] = &[
    "meta.json",
    "prompt.md",
    "system-prompt.md",
    "append-system-prompt.md",
    "child-extension.mjs",
    "child-session.jsonl",
    "outputs",
    "events.jsonl",
    "result.json",
    "stdout.log",
    "stderr.log",
    "transcript.log",
    "stop-request",
    "kill-request",
    "notified",
    "changes-warned",
    "remote-task.json",
];

/// Reads a run directory, and reports everything that is wrong with it. `None` if it is not one, or if its run
/// is not known because the soak has deleted parts of it.
pub(super) fn read(run: &Path, project: Project, entries: &Entries, log: &Log) -> Option<Record> {
    let run_id = name_of(run);
    if run_id.starts_with('.') {
        check_hidden(run, &run_id, project, entries, log);
        return None;
    }
    check_locks(run, &run_id, log);
    let prompt = fs::read_to_string(run.join("prompt.md")).unwrap_or_default();
    let token = Task::token_in(&prompt).unwrap_or_default().to_owned();
    let Some(entry) = entries.tasks.get(&token) else {
        let is_ours = project == Project::Doomed && !entries.removals.is_empty();
        if !is_ours {
            log.report_violation(&[&run_id], format!("{} belongs to no task", run.display()));
        }
        return None;
    };
    if project == Project::Doomed && entries.is_removed(&run_id, entry.submitted_at) {
        // What exists was written after the deletion, or is a part of what was before.
        return None;
    }
    let violation = |what: String| log.report_violation(&[&token, &run_id], what);
    for path in directory_entries(run) {
        let name = name_of(&path);
        let is_numbered =
            ["pi-bash-", "message-", "answer-"].iter().any(|start| name.starts_with(start));
        // What a command that was killed has not finished.
        let is_unfinished = name.starts_with(".new-") && is_door_killed(entries);
        if !FILES.contains(&name.as_str()) && !is_numbered && !is_unfinished {
            violation(format!("this file should not be there: {}", path.display()));
        }
    }
    let result = fs::read_to_string(run.join("result.json"));
    let result = result.map_err(|error| error.to_string()).and_then(|text| {
        serde_json::from_str::<Value>(&text).map_err(|error| format!("{error}: {text}"))
    });
    let outcome = match &result {
        Ok(result) => result["outcome"].as_str().map(str::to_owned),
        Err(error) => {
            violation(format!("its result cannot be read: {error}"));
            None
        }
    };
    let text = fs::read_to_string(run.join("events.jsonl")).unwrap_or_default();
    let is_begun = text.contains(r#""type":"run_started""#);
    let has_gaps = is_full(project, entry, entries);
    let (messages, questions) = (Messages::of(&text), Questions::of(&text));
    if outcome.is_some() {
        messages.faults(has_gaps).into_iter().for_each(violation);
        questions.faults(has_gaps).into_iter().for_each(violation);
        faults_of_events(&text, outcome.as_deref(), has_gaps).into_iter().for_each(violation);
    }
    let meta = fs::read(run.join("meta.json")).unwrap_or_default();
    let meta: Value = serde_json::from_slice(&meta).unwrap_or_default();
    let cgroup = meta["cgroup"].as_str();
    if let Some(left) = cgroup.filter(|cgroup| Path::new(cgroup).exists()) {
        violation(format!("its cgroup is left: {left}"));
    }
    let is_restricted = meta["access"].as_str().is_some_and(|access| access != "full");
    let result = result.unwrap_or_default();
    let status = result["status"].as_str().map(str::to_owned);
    let output = result["output"].as_str().unwrap_or_default().to_owned();
    let had_cgroup = cgroup.is_some();
    Some(Record {
        token,
        run_id,
        is_begun,
        had_cgroup,
        is_restricted,
        outcome,
        status,
        output,
        messages,
        questions,
        has_gaps,
    })
}

/// Whether the disk of the run was full at some time, so that its events may have gaps.
fn is_full(project: Project, entry: &TaskEntry, entries: &Entries) -> bool {
    project == Project::Small && entries.was_full_since(entry.submitted_at)
}

/// Checks a hidden directory. Only a door that was killed while it made a run directory, or removed one of too many, may
/// leave one.
fn check_hidden(run: &Path, name: &str, project: Project, entries: &Entries, log: &Log) {
    let is_half =
        name.starts_with(".new-") || (name.starts_with(".old-") && entries.is_pruned(project));
    let is_known = name == ".gitignore" || (is_half && is_door_killed(entries));
    if !is_known {
        log.report_violation(&[name], format!("{} is left", run.display()));
    }
}

fn is_door_killed(entries: &Entries) -> bool {
    entries.hits.iter().any(|hit| hit.kind == HitKind::DoorKilled)
}

fn check_locks(run: &Path, run_id: &str, log: &Log) {
    for name in ["events.jsonl", "meta.json"] {
        // Without a file, there is no lock.
        if let Ok(file) = fs::File::open(run.join(name))
            && let Err(error) = file.try_lock()
        {
            log.report_violation(&[run_id], format!("{name} is locked: {error}"));
        }
    }
}

/// What is wrong with the events: they must be complete and numbered without a gap, and only the last must be
/// terminal and agree with the result. If the disk was full, there may be gaps, and no end.
fn faults_of_events(text: &str, outcome: Option<&str>, has_gaps: bool) -> Vec<String> {
    let mut faults = Vec::new();
    let lines: Vec<Result<Value, _>> = text.lines().map(serde_json::from_str::<Value>).collect();
    let events: Vec<&Value> = lines.iter().flatten().collect();
    if events.len() != lines.len() || !(text.is_empty() || text.ends_with('\n')) {
        faults.push("an event is torn".to_owned());
    }
    let numbers: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    let is_next = |pair: &[u64]| {
        if has_gaps { pair[0] < pair[1] } else { pair[0] + 1 == pair[1] }
    };
    if !numbers.windows(2).all(is_next) || numbers.len() != events.len() {
        faults.push(format!("its events are numbered {numbers:?}"));
    }
    let is_end = |event: &&&Value| event["type"] == "run_ended";
    let ends = events.iter().filter(is_end).count();
    let last = events.last().filter(|event| is_end(event));
    if ends > 1 || last.is_some() != (ends == 1) || (ends == 0 && !has_gaps) {
        faults.push(format!("it has {ends} terminal events, of {} events", events.len()));
    }
    if let Some(last) = last
        && last["outcome"].as_str() != outcome
    {
        faults.push(format!("its events end with {last}, and its result says {outcome:?}"));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_complete_and_have_one_end() {
        let started = r#"{"seq":1,"type":"run_started"}"#;
        let ended = r#"{"seq":2,"type":"run_ended","outcome":"completed"}"#;
        let later = r#"{"seq":9,"type":"run_ended","outcome":"completed"}"#;
        let again = r#"{"seq":3,"type":"run_ended","outcome":"completed"}"#;
        let after = r#"{"seq":3,"type":"stderr"}"#;
        let count = |lines: &[&str], outcome, has_gaps| {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            faults_of_events(&text, Some(outcome), has_gaps).len()
        };
        assert_eq!(count(&[started, ended], "completed", false), 0);
        assert_eq!(count(&[started, ended], "cancelled", false), 1, "the result says otherwise");
        assert_eq!(count(&[started], "completed", false), 1, "there is no end");
        assert_eq!(count(&[started, ended, again], "completed", false), 1, "there are two");
        assert_eq!(count(&[started, ended, after], "completed", false), 1, "it goes on");
        assert_eq!(count(&[started, "{\"seq\":2", again], "completed", false), 2, "one is torn");
        // What a full disk may cost, and what it may not.
        assert_eq!(count(&[started, later], "completed", false), 1);
        assert_eq!(count(&[started, later], "completed", true), 0);
        assert_eq!(count(&[started], "interrupted", true), 0);
        assert_eq!(count(&[started, ended, again], "completed", true), 1);
    }
}
