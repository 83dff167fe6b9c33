use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::testing::{answered, called, ended, planned, running, said, session_id, told};

fn store() -> (TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::in_project(directory.path());
    (directory, store)
}

fn complete(store: &Store, run: u64, session: u64) {
    ended(store, &planned(run, session, "Go.", None), &[told("Go."), said("Done.")], None);
}

fn found(store: &Store, id: &str) -> Result<u64, String> {
    let session = find_session(store, id).map_err(|error| error.to_string())?;
    Ok(u64::from_str_radix(session.id.as_str(), 16).unwrap())
}

#[test]
fn a_session_is_found_by_its_id_by_a_run_and_by_a_beginning() {
    let (_directory, store) = store();
    complete(&store, 100, 0xaaaa_0000_0000_0001);
    complete(&store, 101, 0xaaaa_0000_0000_0001);
    complete(&store, 200, 0xaabb_0000_0000_0002);
    for (id, expected) in [
        ("aaaa000000000001", 0xaaaa_0000_0000_0001),
        ("aaaa", 0xaaaa_0000_0000_0001),
        ("aab", 0xaabb_0000_0000_0002),
        ("run-000100", 0xaaaa_0000_0000_0001),
        ("run-000101", 0xaaaa_0000_0000_0001),
        ("run-0001", 0xaaaa_0000_0000_0001),
        ("run-0002", 0xaabb_0000_0000_0002),
    ] {
        assert_eq!(found(&store, id), Ok(expected), "{id}");
    }
    for (id, ids) in
        [("aa", "aaaa000000000001, aabb000000000002"), ("run-", "run-000100, run-000200")]
    {
        let expected = format!("\"{id}\" is the beginning of 2 ids, such as {ids}");
        assert_eq!(found(&store, id), Err(expected));
    }
    for id in ["c4d5e6f7a8b9c0d1", "aaaa0000000000010", "x", "../..", "AAAA"] {
        let expected = format!(
            "Session \"{id}\" not found. The session may have expired or the ID is incorrect."
        );
        assert_eq!(found(&store, id), Err(expected));
    }
}

#[test]
fn a_store_without_runs_has_no_sessions() {
    let (_directory, store) = store();
    assert!(load_sessions(&store).unwrap().0.is_empty());
    for id in ["", "0123456789abcdef"] {
        assert!(matches!(find_session(&store, id), Err(SessionError::NotFound(_))), "{id:?}");
    }
}

#[test]
fn a_damaged_run_is_a_warning_and_hides_no_other() {
    let (_directory, store) = store();
    complete(&store, 1, 1);
    complete(&store, 2, 2);
    std::fs::write(store.path().join("run-000001").join("meta.json"), "{").unwrap();
    let (sessions, warnings) = load_sessions(&store).unwrap();
    assert_eq!(sessions.keys().collect::<Vec<_>>(), [&session_id(2)]);
    assert!(warnings.len() == 1 && warnings[0].contains("run-000001"), "{warnings:?}");
}

#[test]
fn a_running_run_has_said_what_it_has_said() {
    let (_directory, store) = store();
    let plan = planned(1, 1, "Go.", None);
    let (_new_run, mut journal) = running(&store, &plan, &[told("Go.")]);
    let session = || find_session(&store, session_id(1).as_str()).unwrap();
    assert!(session().is_running());
    assert_eq!(session().status(), Status::Running);
    assert_eq!(session().output().unwrap(), "(no text output from sub-agent)");
    assert_eq!(session().transcript().unwrap(), "(no messages in session)");
    for event in [said("I look."), said(" \n"), called("1", json!({"path": "a"}))] {
        journal.record(1, event);
    }
    journal.flush();
    assert_eq!(session().output().unwrap(), "I look.");
    assert_eq!(session().transcript().unwrap(), "I look.\n \n\n→ read: {\"path\":\"a\"}");
}

#[test]
fn only_the_latest_run_answers_but_any_can_be_running() {
    let (_directory, store) = store();
    let session = || find_session(&store, session_id(1).as_str()).unwrap();
    let first = running(&store, &planned(1, 1, "Go.", None), &[said("one")]);
    ended(&store, &planned(2, 1, "On.", None), &[], Some("Timed out"));
    assert!(session().is_running());
    assert_eq!(session().status(), Status::Error);
    assert_eq!(session().output().unwrap(), "(no text output from sub-agent)");
    assert_eq!(
        session().transcript().unwrap(),
        "=== Run 1/2 (running) ===\none\n---\n=== Run 2/2 (error) ===\n[Error: Timed out]"
    );
    // When nobody holds it any more, its supervisor is gone.
    drop(first);
    assert!(!session().is_running());
    assert_eq!(session().runs[0].error(), Some("Interrupted: the supervisor of this run died"));
}

#[test]
fn an_agent_is_told_what_was_asked_and_done_in_two_runs() {
    let (_directory, store) = store();
    let first = [told("Look."), said("I look."), called("1", json!({})), answered("1", "a")];
    ended(&store, &planned(1, 1, "Look.", None), &first, Some("Timed out"));
    let whole = "=== b ===\nx\n\nPreviously: ...\n\nGo on.";
    let second = [told(whole), said("Done.")];
    ended(&store, &planned(2, 1, whole, Some("Go on.")), &second, None);
    let session = find_session(&store, session_id(1).as_str()).unwrap();
    assert_eq!(
        session.resume_prompt("And?").unwrap(),
        "Previously:\n\n--- Run 1 (error, 3 messages) ---\n\nUser: Look.\n\nAssistant: I look.\n\n\
         Tool Call: read({})\n\nTool Result: a\n\n[Error: Timed out]\n\n\
         --- Run 2 (completed, 2 messages) ---\n\nUser: Go on.\n\nAssistant: Done.\n\n\
         Instructions:\n\nAnd?"
    );
}

#[test]
fn an_agent_is_told_what_was_asked_also_if_nothing_was_done() {
    let (_directory, store) = store();
    ended(&store, &planned(1, 1, "Look.", None), &[], Some("Failed to spawn"));
    let session = find_session(&store, session_id(1).as_str()).unwrap();
    assert_eq!(
        session.resume_prompt("And?").unwrap(),
        "Previously:\n\nUser: Look.\n\n[Error: Failed to spawn]\n\nInstructions:\n\nAnd?"
    );
}
