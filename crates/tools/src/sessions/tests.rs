use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::RunNames;
use crate::testing::{answered, called, ended, planned, running, said, session_id, told};

fn store() -> (TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::in_project(directory.path());
    (directory, store)
}

fn complete(store: &Store, run: u64, session: u64) {
    ended(store, &planned(run, session, "Go.", None), &[told("Go."), said("Done.")], None);
}

/// The only session that is named so, whole.
fn find_session(store: &Store, word: &str) -> Result<Session, String> {
    let names = RunNames::load(store).unwrap();
    let mut sessions = names.sessions(word).map_err(|error| error.to_string())?;
    assert_eq!(sessions.len(), 1);
    Ok(sessions.remove(0).session)
}

#[test]
fn a_session_is_found_by_its_id_by_a_run_by_a_name_and_by_a_beginning() {
    let (_directory, store) = store();
    complete(&store, 100, 0xaaaa_0000_0000_0001);
    complete(&store, 101, 0xaaaa_0000_0000_0001);
    complete(&store, 200, 0xaabb_0000_0000_0002);
    for (word, expected, run) in [
        ("aaaa000000000001", 0xaaaa_0000_0000_0001, 101),
        ("aaaa", 0xaaaa_0000_0000_0001, 101),
        ("run-000100", 0xaaaa_0000_0000_0001, 100),
        ("run-0001", 0xaaaa_0000_0000_0001, 101),
        ("task 100", 0xaaaa_0000_0000_0001, 100),
        ("@last", 0xaabb_0000_0000_0002, 200),
        ("@3", 0xaaaa_0000_0000_0001, 100),
    ] {
        let names = RunNames::load(&store).unwrap();
        let found = names.sessions(word).unwrap();
        assert_eq!(found.len(), 1, "{word}");
        assert_eq!(found[0].session.id, session_id(expected), "{word}");
        assert_eq!(found[0].named_run().meta.run_id, crate::testing::run_id(run), "{word}");
        assert_eq!(names.session(word).unwrap().0, session_id(expected), "{word}");
    }
}

#[test]
fn a_run_that_cannot_be_read_says_why() {
    let (_directory, store) = store();
    complete(&store, 1, 1);
    std::fs::write(store.path().join("run-000001").join("meta.json"), "{").unwrap();
    let error = find_session(&store, "run-000001").unwrap_err();
    assert!(error.contains("meta.json is damaged"), "{error}");
}

#[test]
fn a_store_without_runs_has_no_sessions() {
    let (_directory, store) = store();
    assert!(load_sessions(&store).unwrap().0.is_empty());
    for id in ["", "0123456789abcdef"] {
        assert!(
            find_session(&store, id).unwrap_err().starts_with("no run, session or task"),
            "{id:?}"
        );
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
    assert_eq!(session().output(), "(no text output from sub-agent)");
    assert_eq!(session().transcript(), "(no messages in session)");
    for event in [said("I look."), said(" \n"), called("1", json!({"path": "a"}))] {
        journal.record(1, event);
    }
    journal.flush();
    assert_eq!(session().output(), "I look.");
    assert_eq!(session().transcript(), "I look.\n \n\n→ read: {\"path\":\"a\"}");
}

#[test]
fn only_the_latest_run_answers_but_any_can_be_running() {
    let (_directory, store) = store();
    let session = || find_session(&store, session_id(1).as_str()).unwrap();
    let first = running(&store, &planned(1, 1, "Go.", None), &[said("one")]);
    ended(&store, &planned(2, 1, "On.", None), &[], Some("Timed out"));
    assert!(session().is_running());
    assert_eq!(session().status(), Status::Error);
    assert_eq!(session().output(), "(no text output from sub-agent)");
    assert_eq!(
        session().transcript(),
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
        "Previously:\n\n--- Run 1 (error, 1 messages) ---\n\nUser: Look.\n\n[Error: Failed to spawn]\n\n\
         Instructions:\n\nAnd?"
    );
}
