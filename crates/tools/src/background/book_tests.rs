use model::{Outcome, Owner, OwnerKind};
use serde_json::{Value, json};

use super::tests::{background, end, store};
use super::*;
use crate::testing::{running, said};

const OWNER: Owner = Owner { kind: OwnerKind::Pi, id: None };

fn run_entry(id: &str) -> Value {
    json!({
        "runId": id, "preset": "scout", "task": "look", "status": "running", "startTime": 5,
        "requestedModel": "a/one", "resolvedModel": "a/one",
        "paths": {"eventsPath": "/r/events.jsonl", "resultPath": "/r/result.json", "new": 1},
        "somethingNew": {"deep": true},
    })
}

fn update_entry(id: &str, status: &str) -> Value {
    json!({"runId": id, "status": status, "finalText": status, "exitCode": 0, "later": []})
}

fn restored(entries: &[(&str, Value)]) -> BackgroundBook {
    BackgroundBook::restore(entries.iter().map(|(kind, entry)| (*kind, entry)))
}

fn statuses(book: &BackgroundBook) -> Vec<String> {
    let runs = book.runs().iter();
    runs.map(|run| format!("{} {}", run.run_id, run.status.word())).collect()
}

#[test]
fn entries_are_followed_by_run_id_in_their_order() {
    let run = |id: &str| (RUN_ENTRY, run_entry(id));
    let update = |id: &str, status: &str| (UPDATE_ENTRY, update_entry(id, status));
    for (entries, expected, footer) in [
        (vec![], vec![], None),
        (
            vec![run("run-000001"), run("run-000002"), update("run-000001", "completed")],
            vec!["run-000001 completed", "run-000002 running"],
            Some("bg: 1 running / 2 total"),
        ),
        (
            // A run ends once, whatever is written later.
            vec![
                run("run-000001"),
                update("run-000001", "aborted"),
                update("run-000001", "completed"),
                update("run-000001", "running"),
            ],
            vec!["run-000001 aborted"],
            None,
        ),
        (
            // An update that says nothing new does not end it.
            vec![run("run-000001"), update("run-000001", "running")],
            vec!["run-000001 running"],
            Some("bg: 1 running / 1 total"),
        ),
        (
            // The same run twice is one run; an update may stand before its run.
            vec![update("run-000001", "failed"), run("run-000001"), run("run-000001")],
            vec!["run-000001 failed"],
            None,
        ),
        (
            // What nobody understands is passed over.
            vec![
                ("pi-subagents", run_entry("run-000009")),
                (RUN_ENTRY, json!(null)),
                (RUN_ENTRY, json!({"runId": "../etc", "preset": "x", "task": "y"})),
                (RUN_ENTRY, json!({"runId": "run-000008"})),
                (UPDATE_ENTRY, json!({"runId": "run-000001", "status": "exploded"})),
                update("run-000007", "completed"),
                (RUN_ENTRY, json!({"runId": "run-000001", "preset": "p", "task": "t"})),
            ],
            vec!["run-000001 running"],
            Some("bg: 1 running / 1 total"),
        ),
    ] {
        let book = restored(&entries);
        assert_eq!(statuses(&book), expected, "{entries:?}");
        assert_eq!(book.counts().footer().as_deref(), footer);
    }
}

#[test]
fn a_record_comes_back_as_it_was_written() {
    let (_top, store) = store();
    end(&store, &background(1, &OWNER), Outcome::Timeout, |_| {});
    let (_live, _journal) = running(&store, &background(2, &OWNER), &[said("so far")]);
    let [ended, live] =
        ["run-000001", "run-000002"].map(|id| find_background(&store, id).unwrap().record);
    let entry = serde_json::to_value(&live).unwrap();
    assert_eq!((&entry["status"], &entry["startTime"]), (&json!("running"), &json!(2)));
    assert!(entry.get("finalText").is_none() && entry.get("endTime").is_none(), "{entry}");
    let mut book = restored(&[(RUN_ENTRY, entry)]);
    assert_eq!(book.runs(), std::slice::from_ref(&live));

    let update = serde_json::to_value(ended.update()).unwrap();
    assert_eq!(
        update,
        json!({
            "runId": "run-000001", "status": "failed", "endTime": 2, "outcome": "timeout",
            "finalText": "found it", "error": "it was timeout", "exitCode": 0,
            "stopReason": "stop", "model": "real/model",
        })
    );
    assert!(!book.update(serde_json::from_value(update.clone()).unwrap()), "nobody of ours");
    book.start(BackgroundRecord { status: BackgroundStatus::Running, ..ended.clone() });
    assert_eq!(book.counts().running, 2);
    assert!(book.update(serde_json::from_value(update.clone()).unwrap()));
    assert!(!book.update(serde_json::from_value(update).unwrap()), "once");
    assert_eq!(book.runs()[1], ended);
    let pending: Vec<_> = book.pending().map(|run| run.run_id.as_str()).collect();
    assert_eq!(pending, ["run-000002"]);
}

#[test]
fn a_reload_takes_in_what_has_ended_and_watches_the_rest() {
    let (_top, store) = store();
    end(&store, &background(1, &OWNER), Outcome::Completed, |_| {});
    end(&store, &background(2, &OWNER), Outcome::Cancelled, |_| {});
    let (live, _journal) = running(&store, &background(3, &OWNER), &[said("so far")]);
    // Its supervisor is gone: nobody holds its lock.
    drop(running(&store, &background(4, &OWNER), &[said("half")]));
    let told = find_background(&store, "run-000002").unwrap();
    assert!(told.dir.mark_notified().unwrap(), "another program has told of it");
    let entries: Vec<(&str, Value)> =
        (1..=5).map(|number| (RUN_ENTRY, run_entry(&format!("run-00000{number}")))).collect();
    let mut book = restored(&entries);
    assert_eq!(book.counts().running, 5);

    let reloaded = reload(&mut book, &store);
    let updated = reloaded.updates.iter();
    let updated: Vec<_> =
        updated.map(|update| (update.run_id.as_str(), update.status.word())).collect();
    assert_eq!(
        updated,
        [
            ("run-000001", "completed"),
            ("run-000002", "aborted"),
            ("run-000004", "failed"),
            ("run-000005", "failed"),
        ]
    );
    let told: Vec<_> = reloaded.notifications.iter().map(|told| told.text.as_str()).collect();
    assert_eq!(
        told,
        [
            "Background agent scout finished: found it",
            "Background agent scout failed: Interrupted: the supervisor of this run died",
            "Background agent scout failed: its run directory is gone",
        ]
    );
    let watch: Vec<_> = reloaded.watch.iter().map(store::RunDir::path).collect();
    assert_eq!(watch, [live.dir.path().canonicalize().unwrap()]);
    assert_eq!(book.counts().footer().as_deref(), Some("bg: 1 running / 5 total"));

    let again = reload(&mut book, &store);
    assert_eq!((again.updates.len(), again.notifications.len(), again.watch.len()), (0, 0, 1));
}
