//! The entries in pi's session log, from which a conversation restores its runs.

use serde_json::Value;
use store::Store;
use tools::{BackgroundBook, SESSION_ENTRY, SessionBook};

use crate::assertions::{assert_clean, assert_reads_back};
use crate::scratch::Scratch;

thread_local! {
    /// An empty project.
    static SCRATCH: Scratch = Scratch::new();
}

/// A line is an entry: its kind, a space, and its data.
pub(super) fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let entries: Vec<(&str, Value)> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(kind, data)| Some((kind, serde_json::from_str(data).ok()?)))
        .collect();
    let of_sessions: Vec<&Value> =
        entries.iter().filter(|(kind, _)| *kind == SESSION_ENTRY).map(|(_, data)| data).collect();
    let store = SCRATCH.with(|scratch| Store::in_project(scratch.path()));
    check_sessions(&of_sessions, &store);
    check_background(&entries, &store);
}

fn check_sessions(entries: &[&Value], store: &Store) {
    let mut book = SessionBook::restore(entries.iter().copied());
    let ids = |name: &str| {
        let ids = entries.iter().filter_map(|entry| entry.get(name).and_then(Value::as_str));
        ids.map(str::to_owned).collect::<Vec<String>>()
    };
    for run in book.catch_up(store) {
        assert!(book.knows_run(&run), "{run} was caught up with and is not known");
    }
    for session in ids("sessionId").iter().filter(|session| book.knows(session)) {
        assert!(!book.is_running(session), "a restored run cannot be running");
        let told = book.transcript(session, 10).map(|told| told.text);
        assert_clean("a transcript", &told.unwrap_or_default());
        assert!(book.output(session, 10).is_ok());
        assert!(book.resume_prompt(session, "go on").is_ok_and(|prompt| prompt.ends_with("go on")));
    }
    for run in ids("runId").iter().filter_map(|run| model::RunId::parse(run).ok()) {
        let Some(entry) = book.to_entry(&run) else { continue };
        let again = SessionBook::restore([&entry]);
        assert_eq!(again.to_entry(&run), Some(entry), "an entry changes when it is read");
    }
}

fn check_background(entries: &[(&str, Value)], store: &Store) {
    let entries = entries.iter().map(|(kind, data)| (*kind, data));
    let mut book = BackgroundBook::restore(entries);
    assert_eq!(book.counts().total, book.runs().len());
    assert_eq!(book.pending().count(), book.counts().running);
    for run in book.runs().to_vec() {
        assert_reads_back(&run);
        assert_reads_back(&run.update());
        let is_new = book.update(run.update());
        assert!(!is_new, "{run:?} ends twice");
    }
    tools::reload(&mut book, store);
    assert_eq!(book.pending().count(), 0, "a run without a directory is waited for");
}
