//! One task: how it ended, whether that is explained, and whether its door has said the same.

use super::records::Record;
use crate::ledger::{Account, BlowKind, Ending, Fate, Ledger, Pages};
use crate::plan::Project;

/// Checks what is known of a task at its door against what is recorded.
pub(super) fn check(
    token: &str,
    account: &Account,
    record: Option<&Record>,
    pages: &Pages,
    ledger: &Ledger,
) {
    let run_id = record.map(|record| record.run_id.as_str()).or(told_run(&account.fate));
    let about: Vec<&str> = [token].into_iter().chain(run_id).collect();
    let complain = |what: String| ledger.complain(&about, what);
    if let Some(record) = record {
        check_outcome(account, record, pages, &complain);
    }
    match &account.fate {
        Fate::Open => complain("its door has never said what became of it".to_owned()),
        Fate::Unknown => {}
        Fate::Refused(reason) => {
            if let Some(complaint) = complaint_about_refusal(account, record, pages) {
                complain(format!("{complaint}: {reason}"));
            }
        }
        Fate::Started(run_id) => check_is_there(run_id, account, record, pages, &complain),
        Fate::Ended(ending) => {
            if let Some(run_id) = &ending.run_id {
                check_is_there(run_id, account, record, pages, &complain);
            }
            check_report(account, ending, record, pages, &complain);
        }
    }
}

/// The run that a door has named.
fn told_run(fate: &Fate) -> Option<&str> {
    match fate {
        Fate::Started(run_id) => Some(run_id),
        Fate::Ended(ending) => ending.run_id.as_deref(),
        Fate::Open | Fate::Refused(_) | Fate::Unknown => None,
    }
}

/// A task has the answer of its script if it has completed, and completes if that is its script,
/// unless something has happened to it.
fn check_outcome(account: &Account, record: &Record, pages: &Pages, complain: &dyn Fn(String)) {
    let task = &account.task;
    let Some(outcome) = record.outcome.as_deref() else { return };
    let is_full = account.project == Project::Small && pages.was_full_since(account.issued);
    // An answer for which there was no room is not there, but nothing else is in its place.
    let is_lost = is_full && record.output.is_empty();
    if outcome == "completed" && record.output != task.answer() && !is_lost {
        complain(format!("it has completed, but its answer is {:?}", record.output));
    }
    if (record.status.as_deref() == Some("completed")) != (outcome == "completed") {
        complain(format!("its status is {:?}, and its outcome is {outcome}", record.status));
    }
    let is_struck = |kind| pages.is_struck(&record.run_id, kind);
    // Whoever starts a background run and dies before he has said so has not handed it over.
    let is_in_the_doors_hands =
        !account.is_background || (account.fate == Fate::Unknown && !record.is_begun);
    let is_door_killed = is_in_the_doors_hands && pages.is_door_killed(account.door_pid);
    let is_explained = match outcome {
        "cancelled" => account.is_cancelled,
        // The end of a run that could not be written down is not known later.
        "interrupted" => is_struck(BlowKind::SupervisorKilled) || is_door_killed || is_full,
        "killed_by_signal" => is_struck(BlowKind::AgentKilled),
        "spawn_failure" => account.project == Project::Doomed && !pages.removals.is_empty(),
        _ => false,
    };
    if outcome != task.expected() && !is_explained {
        complain(format!("it should end as {}, and nothing explains {outcome}", task.expected()));
    }
}

/// Why a refusal is wrong, if it is.
fn complaint_about_refusal(
    account: &Account,
    record: Option<&Record>,
    pages: &Pages,
) -> Option<&'static str> {
    let is_allowed = match account.project {
        Project::Steady => false,
        // A background run must be recorded, and a disk can also be full of our runs.
        Project::Small => account.is_background && pages.was_full_since(account.issued),
        Project::Doomed => !pages.removals.is_empty(),
    };
    // A run that could not be handed over ends as such. If that was because its supervisor was killed, it
    // is found without one, and ended by whoever looks next.
    let is_started = record.is_some_and(|record| match record.outcome.as_deref() {
        Some("spawn_failure") | None => false,
        Some("interrupted") => !pages.is_struck(&record.run_id, BlowKind::SupervisorKilled),
        Some(_) => true,
    });
    if is_started {
        Some("it was refused, and run all the same")
    } else if !is_allowed && !is_disturbed(account, record, pages) {
        Some("it was refused")
    } else {
        None
    }
}

/// Whether the supervisor of a run was killed before it had the run in its hands.
fn is_disturbed(account: &Account, record: Option<&Record>, pages: &Pages) -> bool {
    account.is_background
        && record.is_some_and(|record| pages.is_struck(&record.run_id, BlowKind::SupervisorKilled))
}

/// A run that a door has named has a record, unless we have deleted it.
fn check_is_there(
    run_id: &str,
    account: &Account,
    record: Option<&Record>,
    pages: &Pages,
    complain: &dyn Fn(String),
) {
    let is_removed = account.project == Project::Doomed && pages.is_removed(run_id, account.issued);
    match record {
        None if !is_removed => complain(format!("there is no record of its run {run_id}")),
        Some(record) if record.run_id != run_id => {
            complain(format!("its door says that its run is {run_id}"));
        }
        _ => {}
    }
}

/// What a door has said is what is recorded, unless it could not be recorded.
fn check_report(
    account: &Account,
    ending: &Ending,
    record: Option<&Record>,
    pages: &Pages,
    complain: &dyn Fn(String),
) {
    let answer = account.task.answer();
    if ending.status == "completed" && ending.output.as_ref().is_some_and(|said| *said != answer) {
        complain(format!("its door says that it has completed with {:?}", ending.output));
    }
    if ending.status == "completed" && account.task.expected() != "completed" {
        complain("its door says that it has completed".to_owned());
    }
    let Some(record) = record.filter(|record| record.outcome.is_some()) else { return };
    let is_same = record.status.as_deref() == Some(&ending.status)
        && (ending.outcome.is_none() || ending.outcome == record.outcome)
        && ending.output.as_ref().is_none_or(|output| *output == record.output);
    // The truth was told, and what was written down later is that its end is not known.
    let is_not_kept = account.project == Project::Small
        && pages.was_full_since(account.issued)
        && (record.outcome.as_deref() == Some("interrupted")
            || (record.outcome == ending.outcome && record.output.is_empty()));
    if !is_same && !is_not_kept {
        complain(format!("its door says {ending:?}, and its record {record:?}"));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::ledger::{Blow, Removal};
    use crate::plan::Door;
    use crate::task::{Agent, Behaviour, Task};

    fn account(project: Project, fate: Fate) -> Account {
        let (agent, behaviour) = (Agent::Fake, Behaviour::Quick);
        Account {
            task: Task { token: "t".to_owned(), agent, behaviour },
            door: Door::Shell,
            project,
            is_background: false,
            issued: Duration::from_secs(5),
            door_pid: 7,
            is_cancelled: false,
            fate,
        }
    }

    fn record(outcome: &str, output: &str) -> Record {
        let status = if outcome == "completed" { "completed" } else { "error" };
        Record {
            token: "t".to_owned(),
            run_id: "r".to_owned(),
            is_begun: true,
            outcome: Some(outcome.to_owned()),
            status: Some(status.to_owned()),
            output: output.to_owned(),
        }
    }

    fn told(status: &str, run_id: &str) -> Fate {
        let (run_id, status) = (Some(run_id.to_owned()), status.to_owned());
        Fate::Ended(Ending { run_id, status, ..Ending::default() })
    }

    fn struck(pid: u32, run_id: Option<&str>, kind: BlowKind) -> Pages {
        let run_id = run_id.map(str::to_owned);
        Pages { blows: vec![Blow { pid, run_id, kind }], ..Pages::default() }
    }

    fn complaints(account: &Account, record: Option<&Record>, pages: &Pages) -> usize {
        let ledger = Ledger::new();
        check("t", account, record, pages, &ledger);
        ledger.pages().violations.len()
    }

    #[test]
    fn a_run_that_nobody_touched_ends_as_its_script_says() {
        let (account, pages) = (account(Project::Steady, Fate::Unknown), Pages::default());
        let count = |record: &Record| complaints(&account, Some(record), &pages);
        assert_eq!(count(&record("completed", "the answer of t")), 0);
        assert_eq!(count(&record("completed", "the answer of another")), 1);
        for outcome in ["interrupted", "cancelled", "killed_by_signal", "timeout"] {
            assert_eq!(count(&record(outcome, "")), 1, "{outcome}");
        }
    }

    #[test]
    fn another_end_is_explained_by_what_was_done_to_this_very_run() {
        let account = account(Project::Steady, Fate::Unknown);
        let interrupted = record("interrupted", "");
        for (pages, expected) in [
            (struck(9, Some("r"), BlowKind::SupervisorKilled), 0),
            (struck(9, Some("another"), BlowKind::SupervisorKilled), 1),
            (struck(9, Some("r"), BlowKind::Paused), 1),
            (struck(7, None, BlowKind::DoorKilled), 0),
            (struck(8, None, BlowKind::DoorKilled), 1),
        ] {
            assert_eq!(complaints(&account, Some(&interrupted), &pages), expected, "{pages:?}");
        }
        let background = Account { is_background: true, ..account };
        let pages = struck(7, None, BlowKind::DoorKilled);
        assert_eq!(complaints(&background, Some(&interrupted), &pages), 1, "it outlives its door");
        let never_begun = Record { is_begun: false, ..interrupted };
        assert_eq!(
            complaints(&background, Some(&never_begun), &pages),
            0,
            "nobody has heard of it"
        );
        let started = Account { fate: Fate::Started("r".to_owned()), ..background };
        assert_eq!(complaints(&started, Some(&never_begun), &pages), 1, "it was handed over");
    }

    #[test]
    fn a_door_says_what_is_recorded() {
        let completed = record("completed", "the answer of t");
        let pages = Pages::default();
        let count = |fate: Fate, record: Option<&Record>| {
            complaints(&account(Project::Steady, fate), record, &pages)
        };
        assert_eq!(count(told("completed", "r"), Some(&completed)), 0);
        assert_eq!(count(told("error", "r"), Some(&completed)), 1);
        assert_eq!(count(told("completed", "another"), Some(&completed)), 1);
        assert_eq!(count(told("completed", "r"), None), 1, "it is not recorded");
        assert_eq!(count(Fate::Open, None), 1, "it was never answered");
        assert_eq!(count(Fate::Refused("no".to_owned()), None), 1, "there was no reason");
        assert_eq!(count(Fate::Unknown, None), 0, "its door died before it took it in");
    }

    #[test]
    fn only_what_was_deleted_may_be_missing() {
        let fate = || Fate::Started("r".to_owned());
        let removed = |seconds, run_id: Option<&str>| {
            let run_id = run_id.map(str::to_owned);
            let removal = Removal { at: Duration::from_secs(seconds), run_id };
            Pages { removals: vec![removal], ..Pages::default() }
        };
        let doomed = account(Project::Doomed, fate());
        assert_eq!(complaints(&doomed, None, &removed(6, Some("r"))), 0);
        assert_eq!(complaints(&doomed, None, &removed(6, None)), 0);
        assert_eq!(complaints(&doomed, None, &removed(6, Some("another"))), 1);
        assert_eq!(complaints(&doomed, None, &removed(4, None)), 1, "that was before");
        assert_eq!(complaints(&account(Project::Steady, fate()), None, &removed(6, None)), 1);
    }
}
