//! One task: how it ended, whether that is explained, and whether its door reported the same.

use super::batches::ATTEMPTS;
use super::records::Record;
use crate::log::{Ending, Entries, HitKind, Log, Reported, TaskEntry};
use crate::plan::Project;

/// Compares what the door has reported about a task with its record.
pub(super) fn check(
    token: &str,
    entry: &TaskEntry,
    record: Option<&Record>,
    entries: &Entries,
    log: &Log,
) {
    let run_id = record.map(|record| record.run_id.as_str()).or(reported_run(&entry.reported));
    let about: Vec<&str> = [token].into_iter().chain(run_id).collect();
    let violation = |what: String| log.report_violation(&about, what);
    if let Some(record) = record {
        check_outcome(entry, record, entries, &violation);
    }
    match &entry.reported {
        Reported::Nothing => violation("its door has reported nothing about it".to_owned()),
        Reported::Unknown => {}
        Reported::Refused(reason) => {
            if let Some(what) = wrong_refusal(entry, record, entries) {
                violation(format!("{what}: {reason}"));
            }
        }
        Reported::Started(run_id) => check_is_there(run_id, entry, record, entries, &violation),
        Reported::Ended(ending) => {
            if let Some(run_id) = &ending.run_id {
                check_is_there(run_id, entry, record, entries, &violation);
            }
            check_report(entry, ending, record, entries, &violation);
        }
    }
}

/// The run that a door has named.
fn reported_run(reported: &Reported) -> Option<&str> {
    match reported {
        Reported::Started(run_id) => Some(run_id),
        Reported::Ended(ending) => ending.run_id.as_deref(),
        Reported::Nothing | Reported::Refused(_) | Reported::Unknown => None,
    }
}

/// Checks that a completed task has the answer of its script, and that its outcome is that of its script, or
/// explained by a fault.
fn check_outcome(
    entry: &TaskEntry,
    record: &Record,
    entries: &Entries,
    violation: &dyn Fn(String),
) {
    let task = &entry.task;
    let Some(outcome) = record.outcome.as_deref() else {
        return;
    };
    if task.access.is_some() && !record.is_restricted {
        violation("its access should be restricted".to_owned());
    }
    let is_full = entry.project == Project::Small && entries.was_full_since(entry.submitted_at);
    // An answer that did not fit on the disk is missing, but there is no other text instead.
    let is_lost = is_full && record.output.is_empty();
    if outcome == "completed" && record.output != task.answer() && !is_lost {
        violation(format!("it has completed, but its answer is {:?}", record.output));
    }
    if (record.status.as_deref() == Some("completed")) != (outcome == "completed") {
        violation(format!("its status is {:?}, and its outcome is {outcome}", record.status));
    }
    // What is hit on a worker is known by the task.
    let is_hit = |kind| entries.is_hit(&record.run_id, kind) || entries.is_hit(&record.token, kind);
    let is_elsewhere = entry.project == Project::Sent;
    // A door that is killed before it has reported a background run has not handed it over.
    let belongs_to_door =
        !entry.is_background || (entry.reported == Reported::Unknown && !record.is_begun);
    let is_door_killed = belongs_to_door && entries.is_door_killed(entry.door_pid);
    let is_explained = match outcome {
        "cancelled" => entry.is_cancelled || is_pane_closed(entry, entries),
        "lost" if is_elsewhere => entries.workers_hit_since(entry.submitted_at) >= ATTEMPTS,
        // If the end of a run could not be written, it is not known later.
        "interrupted" => is_hit(HitKind::SupervisorKilled) || is_door_killed || is_full,
        "killed_by_signal" => is_hit(HitKind::AgentKilled),
        // The command by which it writes its file was killed.
        "non_zero_exit" if task.is_isolated => is_hit(HitKind::AgentKilled),
        // Before there is an agent, git makes the worktree.
        "spawn_failure" if (task.is_isolated || is_elsewhere) && entries.is_git_killed() => true,
        "spawn_failure" if is_pane_closed(entry, entries) => true,
        "spawn_failure" => {
            let is_removed = entry.project == Project::Doomed && !entries.removals.is_empty();
            is_removed || is_supervisor_killed(entry, Some(record), entries)
        }
        _ => false,
    };
    if outcome != task.expected() && !is_explained {
        violation(format!("it should end as {}, and nothing explains {outcome}", task.expected()));
    }
}

/// Whether a pane was closed that may have been that of this run. Which run a pane shows is not known to the soak.
fn is_pane_closed(entry: &TaskEntry, entries: &Entries) -> bool {
    let is_shown = entry.project == Project::Paned && !entry.is_background;
    is_shown
        && (entries.was_without_tmux_since(entry.submitted_at)
            || entries.hits_since(entry.submitted_at, HitKind::ViewerKilled) > 0)
}

/// Why a refusal is wrong, if it is.
fn wrong_refusal(
    entry: &TaskEntry,
    record: Option<&Record>,
    entries: &Entries,
) -> Option<&'static str> {
    let is_allowed = match entry.project {
        Project::Steady | Project::Sent => false,
        Project::Paned => {
            !entry.is_background && entries.was_without_tmux_since(entry.submitted_at)
        }
        // A background run must be recorded, and the runs themselves can fill the disk, too.
        Project::Small => entry.is_background && entries.was_full_since(entry.submitted_at),
        Project::Doomed => !entries.removals.is_empty(),
    };
    // A run that could not be handed over has this outcome. If its supervisor was killed, the next list finds
    // the run without one, and ends it.
    let is_started = record.is_some_and(|record| match record.outcome.as_deref() {
        Some("spawn_failure") | None => false,
        Some("interrupted") => !entries.is_hit(&record.run_id, HitKind::SupervisorKilled),
        Some(_) => true,
    });
    if is_started {
        Some("it was refused, and run all the same")
    } else if !is_allowed && !is_supervisor_killed(entry, record, entries) {
        Some("it was refused")
    } else {
        None
    }
}

/// Whether the supervisor of a background run was killed before the run was handed over.
fn is_supervisor_killed(entry: &TaskEntry, record: Option<&Record>, entries: &Entries) -> bool {
    entry.is_background
        && record.is_some_and(|record| entries.is_hit(&record.run_id, HitKind::SupervisorKilled))
}

/// Checks that a run which a door has named has a record, unless the soak has deleted it.
fn check_is_there(
    run_id: &str,
    entry: &TaskEntry,
    record: Option<&Record>,
    entries: &Entries,
    violation: &dyn Fn(String),
) {
    let is_removed =
        entry.project == Project::Doomed && entries.is_removed(run_id, entry.submitted_at);
    let is_removed = is_removed || entries.is_pruned(entry.project);
    match record {
        None if !is_removed => violation(format!("there is no record of its run {run_id}")),
        Some(record) if record.run_id != run_id => {
            violation(format!("its door says that its run is {run_id}"));
        }
        _ => {}
    }
}

/// Checks that a door has reported what is recorded, unless it could not be recorded.
fn check_report(
    entry: &TaskEntry,
    ending: &Ending,
    record: Option<&Record>,
    entries: &Entries,
    violation: &dyn Fn(String),
) {
    let answer = entry.task.answer();
    if ending.status == "completed" && ending.output.as_ref().is_some_and(|said| *said != answer) {
        violation(format!("its door says that it has completed with {:?}", ending.output));
    }
    if ending.status == "completed" && entry.task.expected() != "completed" {
        violation("its door says that it has completed".to_owned());
    }
    let Some(record) = record.filter(|record| record.outcome.is_some()) else {
        return;
    };
    let is_same = record.status.as_deref() == Some(&ending.status)
        && (ending.outcome.is_none() || ending.outcome == record.outcome)
        && ending.output.as_ref().is_none_or(|output| output.trim() == record.output.trim());
    // The report was true, but it could not be recorded; the record says later that the end is not known.
    let is_not_kept = entry.project == Project::Small
        && entries.was_full_since(entry.submitted_at)
        && (record.outcome.as_deref() == Some("interrupted")
            || (record.outcome == ending.outcome && record.output.is_empty()));
    if !is_same && !is_not_kept {
        violation(format!("its door says {ending:?}, and its record {record:?}"));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::agent::Agent;
    use crate::log::{Hit, Removal};
    use crate::plan::Door;
    use crate::task::{Behaviour, Task};

    fn entry(project: Project, reported: Reported) -> TaskEntry {
        let (agent, behaviour) = (Agent::Fake, Behaviour::AnswersAtOnce);
        TaskEntry {
            task: Task {
                token: "t".to_owned(),
                agent,
                behaviour,
                access: None,
                is_isolated: false,
            },
            door: Door::Shell,
            project,
            is_background: false,
            submitted_at: Duration::from_secs(5),
            door_pid: 7,
            is_cancelled: false,
            reported,
        }
    }

    fn record(outcome: &str, output: &str) -> Record {
        let status = if outcome == "completed" { "completed" } else { "error" };
        Record {
            token: "t".to_owned(),
            run_id: "r".to_owned(),
            is_begun: true,
            had_cgroup: false,
            is_restricted: false,
            outcome: Some(outcome.to_owned()),
            status: Some(status.to_owned()),
            output: output.to_owned(),
            messages: super::super::messages::Messages::default(),
            questions: super::super::questions::Questions::default(),
            has_gaps: false,
        }
    }

    fn ended(status: &str, run_id: &str) -> Reported {
        let (run_id, status) = (Some(run_id.to_owned()), status.to_owned());
        Reported::Ended(Ending { run_id, status, ..Ending::default() })
    }

    fn hit_entries(pid: u32, run_id: Option<&str>, kind: HitKind) -> Entries {
        let run_id = run_id.map(str::to_owned);
        let at = Duration::from_secs(6);
        Entries { hits: vec![Hit { pid, at, run_id, kind }], ..Entries::default() }
    }

    fn violations(entry: &TaskEntry, record: Option<&Record>, entries: &Entries) -> usize {
        let log = Log::new();
        check("t", entry, record, entries, &log);
        log.entries().violations.len()
    }

    #[test]
    fn a_run_without_a_fault_ends_as_its_script_says() {
        let (entry, entries) = (entry(Project::Steady, Reported::Unknown), Entries::default());
        let count = |record: &Record| violations(&entry, Some(record), &entries);
        assert_eq!(count(&record("completed", "the answer of t")), 0);
        assert_eq!(count(&record("completed", "the answer of another")), 1);
        for outcome in ["interrupted", "cancelled", "killed_by_signal", "timeout"] {
            assert_eq!(count(&record(outcome, "")), 1, "{outcome}");
        }
    }

    #[test]
    fn another_end_is_explained_by_a_fault_of_this_run() {
        let entry = entry(Project::Steady, Reported::Unknown);
        let interrupted = record("interrupted", "");
        for (entries, expected) in [
            (hit_entries(9, Some("r"), HitKind::SupervisorKilled), 0),
            (hit_entries(9, Some("another"), HitKind::SupervisorKilled), 1),
            (hit_entries(9, Some("r"), HitKind::Paused), 1),
            (hit_entries(7, None, HitKind::DoorKilled), 0),
            (hit_entries(8, None, HitKind::DoorKilled), 1),
        ] {
            assert_eq!(violations(&entry, Some(&interrupted), &entries), expected, "{entries:?}");
        }
        let background = TaskEntry { is_background: true, ..entry };
        let entries = hit_entries(7, None, HitKind::DoorKilled);
        assert_eq!(
            violations(&background, Some(&interrupted), &entries),
            1,
            "it outlives its door"
        );
        let never_begun = Record { is_begun: false, ..interrupted };
        assert_eq!(violations(&background, Some(&never_begun), &entries), 0, "it was not reported");
        let started = TaskEntry { reported: Reported::Started("r".to_owned()), ..background };
        assert_eq!(violations(&started, Some(&never_begun), &entries), 1, "it was handed over");
    }

    #[test]
    fn a_door_reports_what_is_recorded() {
        let completed = record("completed", "the answer of t");
        let entries = Entries::default();
        let count = |reported: Reported, record: Option<&Record>| {
            violations(&entry(Project::Steady, reported), record, &entries)
        };
        assert_eq!(count(ended("completed", "r"), Some(&completed)), 0);
        assert_eq!(count(ended("error", "r"), Some(&completed)), 1);
        assert_eq!(count(ended("completed", "another"), Some(&completed)), 1);
        assert_eq!(count(ended("completed", "r"), None), 1, "it is not recorded");
        assert_eq!(count(Reported::Nothing, None), 1, "it was never answered");
        assert_eq!(count(Reported::Refused("no".to_owned()), None), 1, "there was no reason");
        assert_eq!(
            count(Reported::Unknown, None),
            0,
            "its door was killed before it accepted the task"
        );
    }

    #[test]
    fn only_what_was_deleted_may_be_missing() {
        let reported = || Reported::Started("r".to_owned());
        let removed = |seconds, run_id: Option<&str>| {
            let run_id = run_id.map(str::to_owned);
            let removal = Removal { at: Duration::from_secs(seconds), run_id };
            Entries { removals: vec![removal], ..Entries::default() }
        };
        let doomed = entry(Project::Doomed, reported());
        assert_eq!(violations(&doomed, None, &removed(6, Some("r"))), 0);
        assert_eq!(violations(&doomed, None, &removed(6, None)), 0);
        assert_eq!(violations(&doomed, None, &removed(6, Some("another"))), 1);
        assert_eq!(violations(&doomed, None, &removed(4, None)), 1, "that was before");
        assert_eq!(violations(&entry(Project::Steady, reported()), None, &removed(6, None)), 1);
    }
}
