//! Run directories as programs share them.
#![expect(clippy::unwrap_used, reason = "this is how a test fails")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use model::{
    Argument, Event, FORMAT, Lifetime, Limits, Meta, Outcome, Owner, OwnerKind, Plan, Record,
    RunId, RunResult, Secrets, SessionId, Status, Usage,
};
use pi_subagents_store::{Journal, Life, Log, NewRun, Retention, RunDir, Store, StoreError};
use tempfile::TempDir;

fn meta(number: u32) -> Meta {
    Meta {
        format: FORMAT,
        run_id: RunId::parse(&format!("run-{number:06}")).unwrap(),
        session_id: SessionId::parse("0123456789abcdef").unwrap(),
        name: "task".to_owned(),
        owner: Owner { kind: OwnerKind::Shell, id: None },
        lifetime: Lifetime::Foreground,
        agent: None,
        protocol: None,
        call_id: None,
        command: vec!["true".to_owned()],
        cwd: "/".into(),
        cgroup: None,
        environment: Arc::default(),
        access: model::Access::Full,
        access_paths: None,
        model: None,
        profile: None,
        preset: None,
        preset_source: None,
        system_prompt: None,
        system_prompt_path: None,
        tools: Vec::new(),
        provider: None,
        thinking_level: None,
        fallback_models: Vec::new(),
        fallback_starts: Vec::new(),
        requested_model: None,
        task: None,
        limits: Limits::default(),
        check: None,
        schema: None,
        worktree: None,
        ledger: None,
        admission: None,
        takes_messages: false,
        ask: false,
        created_at: 0,
    }
}

fn plan(number: u32, prompt: &str) -> Plan {
    Plan {
        meta: meta(number).into(),
        prompt: prompt.to_owned(),
        command: Arc::new(vec![Argument::from("true")]),
        fallbacks: Vec::new(),
        files: BTreeMap::new(),
        file_variables: Default::default(),
        secrets: Secrets::default(),
        refusal: None,
    }
}

fn result(meta: &Meta, output: &str) -> RunResult {
    RunResult {
        format: FORMAT,
        run_id: meta.run_id.clone(),
        session_id: meta.session_id.clone(),
        name: meta.name.clone(),
        status: Status::Completed,
        outcome: Outcome::Completed,
        error: None,
        output: output.to_owned(),
        exit_code: Some(0),
        signal: None,
        model: None,
        stop_reason: None,
        usage: Usage::default(),
        budget: Default::default(),
        tool_calls: 0,
        started_at: Some(1),
        ended_at: 2,
        duration_ms: 1,
        warnings: Vec::new(),
        leftovers: None,
        value: None,
        check: None,
        changes: None,
        resources: None,
    }
}

fn store() -> (TempDir, Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::in_project(directory.path());
    (directory, store)
}

fn said(text: &str) -> Event {
    Event::UserMessage { text: text.to_owned() }
}

fn ended() -> Event {
    Event::RunEnded {
        outcome: Outcome::Completed,
        error: None,
        exit_code: Some(0),
        signal: None,
        leftovers: None,
    }
}

/// A run that has ended.
fn finished(store: &Store, number: u32, output: &str) -> RunDir {
    let meta = meta(number);
    let NewRun { dir, hold: _hold, .. } = store.create(&plan(number, "prompt")).unwrap();
    let mut journal = Journal::begin(&dir, &meta.limits).unwrap();
    journal.record(1, ended());
    journal.finish(&result(&meta, output)).unwrap();
    dir
}

#[test]
fn a_run_is_alive_without_a_gap_until_it_has_a_result() {
    let (_directory, store) = store();
    let NewRun { dir, meta, hold } = store.create(&plan(1, "the prompt")).unwrap();
    assert_eq!((dir.meta().unwrap(), dir.prompt().unwrap()), (meta.clone(), "the prompt".into()));
    assert!(matches!(dir.life().unwrap(), Life::Alive), "its maker holds it");
    let journal = Journal::begin(&dir, &meta.limits).unwrap();
    drop(hold);
    assert!(matches!(dir.life().unwrap(), Life::Alive), "its supervisor holds it");
    journal.finish(&result(&meta, "done")).unwrap();
    let Life::Ended(found) = dir.life().unwrap() else { panic!("it has a result") };
    assert_eq!(*found, result(&meta, "done"));
}

#[test]
fn a_run_without_a_holder_and_a_result_is_abandoned_to_exactly_one() {
    let (_directory, store) = store();
    let NewRun { dir, hold, .. } = store.create(&plan(1, "")).unwrap();
    drop(hold);
    let Life::Abandoned(abandoned) = dir.life().unwrap() else { panic!("it has no holder") };
    assert!(matches!(dir.life().unwrap(), Life::Alive), "a second program must keep off");
    drop(abandoned);
    assert!(matches!(dir.life().unwrap(), Life::Abandoned(_)));
}

#[test]
fn a_result_is_never_replaced() {
    let (_directory, store) = store();
    let NewRun { dir, hold: _hold, .. } = store.create(&plan(1, "")).unwrap();
    let late = Journal::begin(&dir, &Limits::default()).unwrap();
    let first = serde_json::to_string(&result(&meta(1), "first")).unwrap();
    fs::write(dir.file("result.json"), first).unwrap();
    let refused = late.finish(&result(&meta(1), "second"));
    assert!(matches!(refused, Err(StoreError::AlreadyEnded(_))), "{refused:?}");
    assert_eq!(dir.result().unwrap().unwrap().output, "first");
    let refused = Journal::begin(&dir, &Limits::default());
    assert!(matches!(refused, Err(StoreError::AlreadyEnded(_))), "it cannot even begin");
}

#[test]
fn a_torn_event_is_cut_off_before_another_is_written() {
    let (_directory, store) = store();
    let limits = Limits::default();
    let NewRun { dir, hold, .. } = store.create(&plan(1, "")).unwrap();
    let mut journal = Journal::begin(&dir, &limits).unwrap();
    journal.record(1, said("one"));
    journal.record(2, said("two"));
    journal.flush();
    drop((journal, hold));
    let mut text = fs::read(dir.file("events.jsonl")).unwrap();
    // Longer than the piece in which the end of the file is looked for.
    text.extend_from_slice(b"{\"seq\":3,\"at\":3,\"type\":\"user_message\",\"text\":\"");
    text.extend_from_slice(&vec![b'x'; 200_000]);
    fs::write(dir.file("events.jsonl"), text).unwrap();
    assert_eq!(dir.events().unwrap().count(), 2, "a torn event is passed over");

    let Life::Abandoned(abandoned) = dir.life().unwrap() else { panic!("it has no holder") };
    let mut journal = Journal::resume(abandoned, &limits).unwrap();
    journal.record(4, ended());
    journal.flush();
    let events: Vec<(u64, Event)> =
        dir.events().unwrap().map(|record| (record.seq, record.event)).collect();
    assert_eq!(events, [(1, said("one")), (2, said("two")), (3, ended())]);
}

#[test]
fn a_result_that_was_not_finished_goes_when_the_run_is_ended() {
    let (_directory, store) = store();
    let NewRun { dir, meta, hold } = store.create(&plan(1, "")).unwrap();
    drop(hold);
    fs::write(dir.file(".new-Ab1"), "{\"format\":1,").unwrap();
    let Life::Abandoned(abandoned) = dir.life().unwrap() else { panic!("it has no holder") };
    let mut journal = Journal::resume(abandoned, &meta.limits).unwrap();
    journal.record(1, ended());
    journal.finish(&result(&meta, "")).unwrap();
    let names = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.filter(|name| name.to_string_lossy().starts_with('.')).count(), 0);
}

#[test]
fn a_full_log_takes_only_the_terminal_event() {
    let (_directory, store) = store();
    let limits = Limits { log_bytes: 1_000, ..Limits::default() };
    let NewRun { dir, hold: _hold, .. } = store.create(&plan(1, "")).unwrap();
    let mut journal = Journal::begin(&dir, &limits).unwrap();
    for _ in 0..100 {
        journal.record(1, said("something"));
        journal.log(Log::Stdout, &[b'x'; 100]);
    }
    journal.record(2, ended());
    journal.flush();
    let events: Vec<Record> = dir.events().unwrap().collect();
    let [.., full, end] = events.as_slice() else { panic!("{events:?}") };
    assert!(matches!(full.event, Event::LogFull { .. }), "{full:?}");
    assert_eq!((end.seq, &end.event), (102, &ended()), "what was dropped was counted");
    let length = fs::metadata(dir.file("events.jsonl")).unwrap().len();
    assert!(length < 1_200, "{length}");
    let log = fs::read_to_string(dir.file("stdout.log")).unwrap();
    assert!(log.len() < 1_200 && log.ends_with("[this log is full]\n"), "{}", log.len());
}

#[test]
fn only_whole_runs_with_proper_names_are_listed() {
    let (_directory, store) = store();
    finished(&store, 2, "");
    finished(&store, 1, "");
    fs::create_dir(store.path().join(".new-run-000009")).unwrap();
    fs::create_dir(store.path().join("tmp")).unwrap();
    File::create(store.path().join("notes and such.txt")).unwrap();
    let runs = store.runs().unwrap();
    let names: Vec<&str> = runs.iter().map(|run| run.run_id().as_str()).collect();
    assert_eq!(names, ["run-000001", "run-000002"]);
}

#[test]
fn retention_goes_by_number_size_and_age_and_spares_the_living() {
    let (_directory, store) = store();
    for number in 1..=5 {
        finished(&store, number, &"x".repeat(10_000));
    }
    let alive = store.create(&plan(0, "")).unwrap();
    let now = SystemTime::now();
    let names = || -> Vec<u32> {
        let runs = store.runs().unwrap();
        runs.iter().map(|run| run.run_id().as_str()[4..].parse().unwrap()).collect()
    };
    let by_number = Retention { runs: 4, ..Retention::default() };
    let pruned = store.prune(&by_number, now, &|_| true).unwrap();
    assert_eq!((pruned.removed, pruned.kept), (1, 5));
    assert_eq!(names(), [0, 2, 3, 4, 5]);

    // What a run takes from the disk depends on the file system.
    let each = store.runs().unwrap()[1].bytes();
    assert!(each >= 10_000, "{each}");
    let by_size = Retention { bytes: 2 * each + each / 2, ..Retention::default() };
    store.prune(&by_size, now, &|_| true).unwrap();
    assert_eq!(names(), [0, 4, 5]);

    let later = now + Duration::from_secs(31 * 24 * 60 * 60);
    store.prune(&Retention::default(), later, &|_| true).unwrap();
    assert_eq!(names(), [0]);
    drop(alive);
    store.prune(&Retention { runs: 0, ..Retention::default() }, later, &|_| true).unwrap();
    assert_eq!(names(), [0], "its end must first be found out");
}

#[test]
fn debris_of_dead_programs_goes_when_it_is_old() {
    let (_directory, store) = store();
    finished(&store, 1, "");
    for name in [".new-run-000007", ".old-run-000008"] {
        fs::create_dir(store.path().join(name)).unwrap();
    }
    let names = || fs::read_dir(store.path()).unwrap().count();
    let now = SystemTime::now();
    store.prune(&Retention::default(), now, &|_| true).unwrap();
    assert_eq!(names(), 4, "a program may be working on them");
    store.prune(&Retention::default(), now + Duration::from_secs(2 * 60 * 60), &|_| true).unwrap();
    assert_eq!(names(), 2, "the run and the .gitignore");
}

#[test]
fn damage_is_named_with_its_file() {
    let (_directory, store) = store();
    let dir = finished(&store, 1, "");
    fs::write(dir.file("result.json"), "{").unwrap();
    let error = dir.life().unwrap_err().to_string();
    assert!(error.contains("result.json is damaged"), "{error}");
    fs::write(dir.file("meta.json"), "{}").unwrap();
    let error = dir.meta().unwrap_err().to_string();
    assert!(error.contains("meta.json is damaged: missing field `format`"), "{error}");
}

#[test]
fn files_of_a_plan_are_in_the_directory_before_anything_starts() {
    let (_directory, store) = store();
    let mut plan = plan(1, "");
    Arc::make_mut(&mut plan.command)
        .extend([Argument::from("--system-prompt"), Argument::File("system-prompt.md".into())]);
    plan.files.insert("system-prompt.md".to_owned(), "Be brief.".to_owned());
    let NewRun { dir, meta, hold: _hold } = store.create(&plan).unwrap();
    let path = dir.file("system-prompt.md");
    assert_eq!(fs::read_to_string(&path).unwrap(), "Be brief.");
    assert_eq!(meta.command, ["true", "--system-prompt", path.to_str().unwrap()]);
    assert_eq!(dir.meta().unwrap(), meta);
}

#[test]
fn what_could_not_be_read_again_is_not_written() {
    let (_directory, store) = store();
    let mut long = plan(1, "");
    long.meta_mut().task = Some("x".repeat(80 * 1024 * 1024));
    let refused = store.create(&long).unwrap_err().to_string();
    assert!(
        refused.starts_with("the task is too long: its meta.json would have 8388"),
        "{refused}"
    );
    assert!(store.runs().unwrap().is_empty());
    assert_eq!(fs::read_dir(store.path()).unwrap().count(), 1, "the .gitignore");
}
