use model::Plan;
use serde_json::{Value, json};

use super::*;
use crate::testing::{
    answered, called, ended, planned, record, result, run_id, said, session_id, told,
};

pub(super) const LINES: usize = 15;

pub(super) fn id(session: u64) -> String {
    session_id(session).to_string()
}

fn start(book: &mut SessionBook, run: u64, session: u64) {
    book.start(StartedRun::of(&planned(run, session, "Go.", Some("Go.")).meta));
}

fn apply(book: &mut SessionBook, run: u64, events: &[Event]) {
    for event in events {
        book.apply(&run_id(run), &record(event.clone()));
    }
}

fn end(book: &mut SessionBook, run: u64, output: &str, error: Option<&str>) {
    let plan = planned(run, 1, "Go.", None);
    book.end(&run_id(run), &result(&plan.meta, output, error));
}

pub(super) fn knows(book: &SessionBook, session: u64) -> bool {
    book.output(&id(session), LINES).is_ok()
}

pub(super) fn text(book: &SessionBook, session: u64) -> String {
    book.transcript(&id(session), LINES).unwrap().text
}

pub(super) fn detail(book: &SessionBook, session: u64, name: &str) -> Value {
    book.transcript(&id(session), LINES).unwrap().details[name].clone()
}

#[test]
fn a_full_book_evicts_the_oldest_session_that_is_not_running() {
    let mut book = SessionBook::default();
    // The session that was added last began first.
    for number in (1..=32).rev() {
        start(&mut book, number, number);
        if number != 1 {
            end(&mut book, number, "done", None);
        }
    }
    assert!((1..=32).all(|session| knows(&book, session)));
    start(&mut book, 100, 100);
    assert!(knows(&book, 1), "it is running");
    assert!(!knows(&book, 2));
    assert!((3..=32).all(|session| knows(&book, session)) && knows(&book, 100));
    // A further run of a session that is known evicts nothing, and leaves the session its age.
    start(&mut book, 101, 3);
    end(&mut book, 101, "done", None);
    assert!(knows(&book, 4));
    start(&mut book, 102, 102);
    assert!(!knows(&book, 3) && knows(&book, 4));
}

#[test]
fn a_book_in_which_all_sessions_run_grows_and_shrinks_again() {
    let mut book = SessionBook::default();
    for number in 1..=40 {
        start(&mut book, number, number);
    }
    assert_eq!(book.sessions.len(), 40);
    for number in 1..=40 {
        end(&mut book, number, "done", None);
    }
    start(&mut book, 41, 41);
    assert_eq!(book.sessions.len(), SessionBook::MOST_SESSIONS);
    assert!(!knows(&book, 9) && knows(&book, 10) && knows(&book, 41));
}

#[test]
fn a_session_keeps_its_last_runs() {
    let mut book = SessionBook::default();
    for run in 1..=12 {
        start(&mut book, run, 1);
        apply(&mut book, run, &[said(&format!("answer {run}"))]);
        end(&mut book, run, &format!("answer {run}"), None);
    }
    assert_eq!(detail(&book, 1, "runCount"), 10);
    assert!(text(&book, 1).starts_with("=== Run 1/10 (completed) ===\nanswer 3\n---\n"));
    assert_eq!(book.output(&id(1), LINES).unwrap().text, "answer 12");
    assert_eq!(book.to_entry(&run_id(2)), None);
    assert!(book.to_entry(&run_id(3)).is_some());
}

#[test]
fn a_run_keeps_what_was_asked_and_its_last_messages() {
    let mut book = SessionBook::default();
    start(&mut book, 1, 1);
    apply(&mut book, 1, &[told("=== file ===\n\nGo."), told("Hurry.")]);
    for number in 0..600 {
        apply(
            &mut book,
            1,
            &[said(&format!("message {number}")), called("1", json!({"number": number}))],
        );
    }
    assert_eq!(detail(&book, 1, "messageCount"), 500);
    let transcript = text(&book, 1);
    assert!(transcript.starts_with("message 101\n→ read: {\"number\":101}\nmessage 102\n"));
    assert!(transcript.ends_with("message 599\n→ read: {\"number\":599}"));
    let prompt = book.resume_prompt(&id(1), "On.").unwrap();
    let header = "--- Run 1 (running, 500 messages) ---";
    let beginning = format!("Previously:\n\n{header}\n\nUser: Go.\n\nAssistant: message 101\n\n");
    assert!(prompt.starts_with(&beginning), "{prompt}");
    assert!(!prompt.contains("file"));
    end(&mut book, 1, "message 599", None);
    let entry = book.to_entry(&run_id(1)).unwrap();
    assert_eq!(entry["messages"].as_array().unwrap().len(), 999);
    assert!(text(&SessionBook::restore([&entry]), 1) == transcript);
}

#[test]
fn calls_without_messages_are_bounded_too() {
    let mut book = SessionBook::default();
    start(&mut book, 1, 1);
    for number in 0..5_000 {
        apply(&mut book, 1, &[called("1", json!({"number": number}))]);
    }
    let entry = book.to_entry(&run_id(1)).unwrap();
    assert_eq!(entry["messages"].as_array().unwrap().len(), 1_000);
    assert!(knows(&SessionBook::restore([&entry]), 1));
}

#[test]
fn a_run_is_never_twice_in_the_book() {
    let mut book = SessionBook::default();
    start(&mut book, 1, 1);
    apply(&mut book, 1, &[said("first")]);
    start(&mut book, 2, 1);
    start(&mut book, 1, 1);
    assert_eq!(detail(&book, 1, "runCount"), 2);
    assert_eq!(detail(&book, 1, "taskName"), "task 2", "the order stays");
    assert_eq!(text(&book, 1), "=== Run 1/2 (running) ===\n---\n=== Run 2/2 (running) ===");
    start(&mut book, 1, 7);
    assert_eq!(detail(&book, 1, "runCount"), 1);
    start(&mut book, 2, 7);
    assert!(!knows(&book, 1), "a session without runs is none");
    assert_eq!(detail(&book, 7, "runCount"), 2);
}

#[test]
fn runs_that_are_not_known_are_of_no_interest() {
    let mut book = SessionBook::default();
    apply(&mut book, 1, &[said("hello")]);
    end(&mut book, 1, "hello", None);
    assert_eq!(book, SessionBook::default());
    assert!(!book.is_running(&id(1)));
    let expected = "Session \"nobody\" not found. The session may have expired or the ID is \
                    incorrect.";
    assert_eq!(book.output("nobody", LINES).unwrap_err().to_string(), expected);
    assert_eq!(book.transcript("nobody", LINES).unwrap_err().to_string(), expected);
    assert_eq!(book.resume_prompt("nobody", "Go.").unwrap_err().to_string(), expected);
}

#[test]
fn answers_have_details() {
    let mut book = SessionBook::default();
    start(&mut book, 1, 1);
    assert_eq!(
        book.output(&id(1), 7).unwrap(),
        Retrieved {
            text: "(no text output from sub-agent)".to_owned(),
            details: json!({
                "sessionId": id(1),
                "status": "running",
                "taskName": "task 1",
                "runCount": 1,
                "maxLines": 7,
            }),
        }
    );
    assert_eq!(
        book.transcript(&id(1), 7).unwrap(),
        Retrieved {
            text: "(no messages in session)".to_owned(),
            details: json!({
                "sessionId": id(1),
                "status": "running",
                "taskName": "task 1",
                "messageCount": 0,
                "model": "asked/for",
                "runCount": 1,
                "maxLines": 7,
            }),
        }
    );
    apply(&mut book, 1, &[told("Go."), said("Hm."), said(" \n"), answered("1", "x")]);
    assert_eq!(book.output(&id(1), 7).unwrap().text, "Hm.", "also while it runs");
    assert!(book.is_running(&id(1)));
    end(&mut book, 1, "Hm.", Some("Timed out"));
    assert!(!book.is_running(&id(1)));
    let retrieved = book.transcript(&id(1), 7).unwrap();
    assert_eq!(retrieved.text, "Hm.\n \n\n[tool result]: x\n[Error: Timed out]");
    assert_eq!(
        retrieved.details,
        json!({
            "sessionId": id(1),
            "status": "error",
            "taskName": "task 1",
            "messageCount": 4,
            "exitCode": 1,
            "model": "real/model",
            "runCount": 1,
            "maxLines": 7,
        })
    );
}

#[test]
fn the_terminal_event_ends_a_run_too() {
    let mut book = SessionBook::default();
    start(&mut book, 1, 1);
    let outcome = model::Outcome::NonZeroExit;
    let error = Some("exited".to_owned());
    apply(
        &mut book,
        1,
        &[Event::RunEnded { outcome, error, exit_code: Some(3), signal: None, leftovers: None }],
    );
    assert!(!book.is_running(&id(1)));
    assert_eq!(detail(&book, 1, "exitCode"), 3);
    assert_eq!(text(&book, 1), "[Error: exited]");
}

/// Two runs, of which the second has files in its prompt and tools that answer in any order.
fn two_runs() -> [(Plan, Vec<Event>, Option<&'static str>); 2] {
    let long = "ż".repeat(2_000);
    [
        (
            planned(1, 1, "Look.", Some("Look.")),
            vec![told("Look."), said(""), called("1", json!({"path": long})), answered("1", &long)],
            Some("Timed out"),
        ),
        (
            planned(2, 1, "=== a ===\n\nPreviously: ... Go on.", Some("Go on.")),
            vec![
                Event::RunStarted { pid: 1, agent: None },
                told("=== a ===\n\nPreviously: ... Go on."),
                called("1", json!({})),
                called("2", json!([1])),
                answered("2", "two"),
                answered("1", "one"),
                called("3", json!(null)),
                answered("3", ""),
                Event::Stderr { text: "noise".to_owned() },
                said("Done.\u{1b}[0m"),
            ],
            None,
        ),
    ]
}

#[test]
fn the_book_the_restored_book_and_the_store_say_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let store = store::Store::in_project(directory.path());
    let mut book = SessionBook::default();
    let mut log = Vec::new();
    for (plan, events, error) in two_runs() {
        ended(&store, &plan, &events, error);
        let run = plan.meta.run_id.clone();
        book.start(StartedRun::of(&plan.meta));
        log.push(book.to_entry(&run).unwrap());
        for event in events {
            book.apply(&run, &record(event));
        }
        let output = book.output(&id(1), LINES).unwrap().text;
        let output = if error.is_some() { String::new() } else { output };
        book.end(&run, &result(&plan.meta, &output, error));
        log.push(book.to_entry(&run).unwrap());
    }
    let session = crate::load_session(&store, &session_id(1)).unwrap();
    let restored = SessionBook::restore(&log);
    for book in [&book, &restored] {
        assert_eq!(book.output(&id(1), LINES).unwrap().text, session.output());
        assert_eq!(text(book, 1), session.transcript());
        let prompt = session.resume_prompt("And?").unwrap();
        assert_eq!(book.resume_prompt(&id(1), "And?").unwrap(), prompt);
    }
    let details = |book: &SessionBook| book.transcript(&id(1), LINES).unwrap().details;
    assert_eq!(details(&restored), details(&book));
    assert_eq!(details(&book)["messageCount"], 3 + 5);
    for (run, entry) in [(1, &log[1]), (2, &log[3])] {
        assert_eq!(restored.to_entry(&run_id(run)).as_ref(), Some(entry));
    }
}

#[test]
fn an_entry_is_small_and_says_what_was_asked() {
    let mut book = SessionBook::default();
    let prompt = format!("{}Go.", "file\n".repeat(100_000));
    book.start(StartedRun::of(&planned(1, 1, &prompt, Some("Go.")).meta));
    let begun = json!({
        "sessionId": id(1),
        "runId": "run-000001",
        "taskName": "task 1",
        "prompt": "Go.",
        "cwd": "/work",
        "profileName": "fast",
        "status": "running",
        "messages": [],
        "startedAt": 1,
        "model": "asked/for",
    });
    assert_eq!(book.to_entry(&run_id(1)), Some(begun));
    let long = "x".repeat(1_000_000);
    apply(
        &mut book,
        1,
        &[told(&prompt), called("1", json!({"content": long})), answered("1", &long), said("Ok.")],
    );
    end(&mut book, 1, "Ok.", Some("Timed out"));
    let entry = book.to_entry(&run_id(1)).unwrap();
    assert!(entry.to_string().len() < 2_000);
    for (field, expected) in [
        ("status", json!("error")),
        ("exitCode", json!(1)),
        ("model", json!("real/model")),
        ("stopReason", json!("stop")),
        ("errorMessage", json!("Timed out")),
    ] {
        assert_eq!(entry[field], expected, "{field}");
    }
    let content = json!([{"type": "text", "text": "Go."}]);
    assert_eq!(entry["messages"][0], json!({"role": "user", "content": content}));
}
