//! Run directories in any state: read, listed, shown, exported and recovered.

use std::fs;
use std::path::PathBuf;

use model::{Event, Record, RunId};
use store::{RunDir, Store};
use tools::{Appearance, Session, ShownTask, Workspace};

use crate::assertions::{assert_blocks, assert_clean};
use crate::folds;
use crate::scratch::{Scratch, parts};

const RUNS: &str = "project/.pi/subagents/runs";
/// The run whose files are the input.
const RUN: &str = "run-made-up-1";
/// A run without a fault.
const HEALTHY: &str = "run-healthy-1";

struct Project {
    scratch: Scratch,
    store: Store,
    appearance: Appearance,
    run: PathBuf,
}

thread_local! {
    static PROJECT: Project = project();
}

fn project() -> Project {
    let scratch = Scratch::new();
    add_healthy_run(&scratch);
    let workspace = Workspace::load(scratch.surroundings(), Some(true));
    let appearance = Appearance::new(&workspace, Some(80));
    let run = scratch.path().join(RUNS).join(RUN);
    Project { store: tools::project_store(&workspace), appearance, run, scratch }
}

/// Adds a run without a fault to the project in a directory.
pub(super) fn add_healthy_run(scratch: &Scratch) {
    let files = [
        ("meta.json", include_str!("run_directory/healthy/meta.json")),
        ("events.jsonl", include_str!("run_directory/healthy/events.jsonl")),
        ("result.json", include_str!("run_directory/healthy/result.json")),
    ];
    for (name, text) in files {
        scratch.write(&format!("{RUNS}/{HEALTHY}/{name}"), text.as_bytes());
    }
}

/// The parts are the files of a run directory. In them, `@RUN@` stands for the directory itself.
pub(super) fn check(data: &[u8]) {
    PROJECT.with(|project| check_in(project, data));
}

fn check_in(project: &Project, data: &[u8]) {
    let _ = fs::remove_dir_all(&project.run);
    let files = ["events.jsonl", "meta.json", "result.json", "prompt.md"];
    for (name, content) in files.iter().zip(parts(data)) {
        // An empty part stands for a missing file.
        if !content.is_empty() {
            let content = in_place(content, &project.run.to_string_lossy());
            project.scratch.write(&format!("{RUNS}/{RUN}/{name}"), &content);
        }
    }
    check_lists(project);
    if let Ok(dir) = RunDir::open(&project.run) {
        check_run(&dir);
    }
    let id = RunId::parse(RUN);
    let shown = id.map(|id| ShownTask::recorded(&project.store, &id, &project.appearance));
    if let Ok(Ok(task)) = shown {
        let opened = [(task.view(1_794_772_669_900), task.asked())];
        assert_blocks(&session::view::opened_blocks(&opened));
    }
}

/// Checks that a bad directory does not hide the others.
fn check_lists(project: &Project) {
    let store = &project.store;
    let listed = tools::load_sessions(store);
    assert!(listed.is_ok(), "{listed:?}");
    let (sessions, warnings) = listed.unwrap_or_default();
    let runs: usize = sessions.values().map(|session| session.runs.len()).sum();
    let is_there = project.run.is_dir();
    assert_eq!(runs + warnings.len(), 1 + usize::from(is_there), "{sessions:?} {warnings:?}");
    let all = sessions.values().flat_map(|session| &session.runs);
    assert!(all.into_iter().any(|run| run.dir.run_id().as_str() == HEALTHY));
    for session in sessions.values() {
        check_session(session);
        let names = tools::RunNames::load(store);
        assert!(names.is_ok_and(|names| names.sessions(session.id.as_str()).is_ok()));
    }
    let background = tools::load_background(store, None);
    assert!(background.is_ok(), "{background:?}");
    tools::similar_sessions(store, "task");
    tools::similar_background(store, RUN);
}

fn check_session(session: &Session) {
    assert!(!session.output().is_empty());
    assert_clean("a transcript", &session.transcript());
    assert_clean("a transcript", &session.transcript_with_prompts());
    let _ = session.resume_prompt("go on");
    let exports = [session.export()];
    assert_clean("an export", &session::to_markdown(&exports));
    let html = session::to_html(&exports);
    assert_clean("an export", &html);
    // The page has one script, its own.
    let is_harmless = html.matches("<script").count() == 1 && !html.contains("<img");
    assert!(is_harmless, "an export is code: {html}");
}

fn check_run(dir: &RunDir) {
    let (Ok(first), Ok(events)) = (dir.result(), dir.events()) else { return };
    let records: Vec<Record> = events.take(2_000).collect();
    folds::check(&records);
    let mut tail = dir.tail(store::EVENTS);
    while let Ok(Some(_)) = tail.next_line() {}
    let Ok(recovered) = runner::recover(dir).map(runner::Recovery::result) else { return };
    assert!(recovered.is_some(), "a run without a supervisor is alive");
    let again = runner::recover(dir).map(runner::Recovery::result);
    if first.is_none() && dir.result().is_ok_and(|result| result.is_some()) {
        // The recovery above has ended it in its own directory.
        assert_eq!(again.ok(), Some(recovered), "a run ended twice");
        let is_end = |record: &Record| matches!(record.event, Event::RunEnded { .. });
        let ended: Vec<Record> = dir.events().map(Iterator::collect).unwrap_or_default();
        let made_up = records.iter().filter(|record| is_end(record)).count();
        let ends = ended.iter().filter(|record| is_end(record)).count();
        assert_eq!(ends, made_up.max(1), "{ended:?}");
        assert!(made_up > 0 || ended.last().is_some_and(is_end), "{ended:?}");
    }
}

fn in_place(content: &[u8], run: &str) -> Vec<u8> {
    let text = String::from_utf8_lossy(content);
    if text.contains("@RUN@") {
        text.replace("@RUN@", run).into_bytes()
    } else {
        content.to_owned()
    }
}
