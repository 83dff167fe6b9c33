use std::fs;

use model::{Lifetime, Outcome, Owner, OwnerKind, Plan, RunResult, Usage};
use serde_json::{Value, json};
use store::Store;

use super::*;
use crate::testing::{World, options, planned, result, running, said};
use crate::{BackgroundArguments, StatusArguments, TaskArguments};

fn pi(id: &str) -> Owner {
    Owner { kind: OwnerKind::Pi, id: Some(id.to_owned()) }
}

/// The background run of that number.
pub(super) fn background(run: u64, owner: &Owner) -> Plan {
    let mut plan = planned(run, run, "the prompt", Some("look around\nand report"));
    plan.meta_mut().lifetime = Lifetime::Background;
    plan.meta_mut().owner = owner.clone();
    plan.meta_mut().profile = None;
    plan.meta_mut().preset = Some("scout".to_owned());
    plan.meta_mut().name = "scout".to_owned();
    plan
}

/// Ends a run of the store like this.
pub(super) fn end(store: &Store, plan: &Plan, outcome: Outcome, change: impl Fn(&mut RunResult)) {
    let (_new_run, journal) = running(store, plan, &[said("found it")]);
    let mut result = result(&plan.meta, "found it", None);
    result.outcome = outcome;
    result.status = outcome.status();
    result.error = (outcome != Outcome::Completed).then(|| format!("it was {}", outcome.word()));
    change(&mut result);
    journal.finish(&result).unwrap();
}

pub(super) fn store() -> (tempfile::TempDir, Store) {
    let top = tempfile::tempdir().unwrap();
    let store = Store::in_project(top.path());
    (top, store)
}

fn ask(store: &Store, owner: &Owner, arguments: &Value) -> (String, Value) {
    let arguments = StatusArguments::parse(arguments).unwrap();
    let loaded = load_background(store, Some(owner)).unwrap();
    let known = loaded.runs.into_iter().map(|run| run.record).collect();
    let answer = background_status(store, known, &arguments).unwrap();
    (answer.text, answer.details)
}

#[test]
fn arguments_are_read_and_what_is_wrong_is_named() {
    let whole = json!({"preset": "a", "task": "t", "model": "m", "cwd": "/x"});
    let expected = TaskArguments {
        name: "a".into(),
        preset: Some("a".into()),
        prompt: "t".into(),
        model: Some("m".into()),
        cwd: Some("/x".into()),
        ..TaskArguments::default()
    };
    assert_eq!(BackgroundArguments::parse(&whole).unwrap().task, expected);
    for (value, problem) in [
        (json!([]), "arguments: must be an object"),
        (json!({"task": "t"}), "preset: is missing"),
        (json!({"preset": "a", "task": ""}), "task: must not be empty"),
        (
            json!({"preset": "a", "tasks": []}),
            "tasks: is unknown; there are preset, task, model, cwd. Did you mean task?",
        ),
    ] {
        assert_eq!(BackgroundArguments::parse(&value).unwrap_err().to_string(), problem);
    }
    for (value, expected) in [
        (json!({}), Ok((None, false))),
        (json!({"runId": "", "includeCompleted": null}), Ok((None, false))),
        (json!({"runId": "x", "includeCompleted": true}), Ok((Some("x"), true))),
        (json!({"runId": 5}), Err("runId: must be a text")),
        (json!({"includeCompleted": "yes"}), Err("includeCompleted: must be true or false")),
        (json!({"id": "x"}), Err("id: is unknown; there are runId, includeCompleted")),
    ] {
        let parsed = StatusArguments::parse(&value).map_err(|error| error.to_string());
        let parsed = parsed
            .as_ref()
            .map(|arguments| (arguments.run_id.as_deref(), arguments.include_completed));
        assert_eq!(parsed.map_err(String::as_str), expected, "{value}");
    }
}

#[test]
fn a_background_run_is_planned_like_any_other_but_outlives_its_caller() {
    let world = World::new();
    world.preset("scout", "model: a/one");
    let call = json!({"preset": "scout", "task": "look", "model": "A/TWO"});
    let arguments = BackgroundArguments::parse(&call).unwrap();
    let mut options = options();
    options.planning.models = Some(vec!["a/one".into(), "a/two".into()]);
    let call = plan_background(&world.workspace(None), arguments, &options).unwrap();
    let planned = call.tasks.into_iter().next().unwrap().plan;
    assert_eq!((planned.meta.lifetime, planned.refusal), (Lifetime::Background, None));
    assert_eq!((planned.meta.name.as_str(), planned.prompt.as_str()), ("scout", "look"));
    assert_eq!(planned.meta.task.as_deref(), Some("look"), "lists read no prompts");
    assert_eq!(planned.meta.model.as_deref(), Some("a/two"));
    assert_eq!(planned.meta.requested_model.as_deref(), Some("A/TWO"));
}

#[test]
fn the_answer_of_a_start_is_a_handle_with_counts() {
    let (_top, store) = store();
    let plan = background(1, &pi("a"));
    let (new_run, _journal) = running(&store, &plan, &[]);
    let run = find_background(&store, "run-000001").unwrap();
    let counts = load_background(&store, Some(&pi("a"))).unwrap().counts();
    let answer = background_answer(&run.record, counts);
    let dir = new_run.dir.path().display().to_string();
    assert!(answer.text.starts_with(
        "Started background agent scout (runId: run-000001, model: asked/for).\nArtifacts: "
    ));
    assert!(answer.text.contains("running=1 completed=0 failed=0 aborted=0 total=1"));
    assert_eq!(answer.details["runId"], "run-000001");
    assert_eq!(answer.details["sessionId"], "0000000000000001");
    assert_eq!(answer.details["paths"]["resultPath"], format!("{dir}/result.json"));
    assert_eq!(answer.details["counts"]["running"], 1);
}

#[test]
fn every_outcome_has_one_of_four_words() {
    let (_top, store) = store();
    for (number, (outcome, word)) in (1..).zip([
        (Outcome::Completed, "completed"),
        (Outcome::Cancelled, "aborted"),
        (Outcome::ProviderError, "failed"),
        (Outcome::NonZeroExit, "failed"),
        (Outcome::KilledBySignal, "failed"),
        (Outcome::NoAssistantMessage, "failed"),
        (Outcome::Timeout, "failed"),
        (Outcome::Loop, "failed"),
        (Outcome::SpawnFailure, "failed"),
        (Outcome::Interrupted, "failed"),
    ]) {
        let plan = background(number, &pi("a"));
        end(&store, &plan, outcome, |_| {});
        let run = find_background(&store, plan.meta.run_id.as_str()).unwrap();
        assert_eq!(run.record.status.word(), word, "{outcome:?}");
    }
    let counts = load_background(&store, None).unwrap().counts();
    assert_eq!(counts.words(), "running=0 completed=1 failed=8 aborted=1 total=10");
}

#[test]
fn status_tells_of_one_of_the_active_ones_and_of_all() {
    let (_top, store) = store();
    let (a, b) = (pi("a"), pi("b"));
    end(&store, &background(1, &a), Outcome::Completed, |_| {});
    end(&store, &background(2, &a), Outcome::Timeout, |result| result.output = " ".into());
    let (_live, _journal) = running(&store, &background(3, &a), &[said("so far")]);
    end(&store, &background(4, &b), Outcome::Cancelled, |_| {});
    let mut foreground = background(5, &a);
    foreground.meta_mut().lifetime = Lifetime::Foreground;
    end(&store, &foreground, Outcome::Completed, |_| {});

    let counts = json!({"running": 1, "completed": 1, "failed": 1, "aborted": 0, "total": 3});
    let words = "Counts: running=1 completed=1 failed=1 aborted=0 total=3";
    let (text, details) = ask(&store, &a, &json!({}));
    assert_eq!(text, format!("Active runs: 1. {words}\nrun-000003 running [scout]: look around"));
    assert_eq!((details["runs"].as_array().map(Vec::len), &details["counts"]), (Some(1), &counts));
    assert_eq!(details["runs"][0]["status"], "running");
    assert_eq!(details["runs"][0].get("endTime"), None);

    let (text, details) = ask(&store, &a, &json!({"includeCompleted": true}));
    assert_eq!(
        text,
        format!(
            "Active runs: 1. {words}\nrun-000001 completed [scout]: look around\n\
             run-000002 failed [scout]: it was timeout\nrun-000003 running [scout]: look around"
        )
    );
    assert_eq!(details["runs"].as_array().map(Vec::len), Some(3));

    for (id, expected) in [
        ("run-000001", "Run run-000001: status=completed, task=look around, final=\"found it\""),
        (
            "run-000002",
            "Run run-000002: status=failed, task=look around, final=\"(no output)\", \
             error=\"it was timeout\"",
        ),
        ("run-000003", "Run run-000003: status=running, task=look around, final=\"(no output)\""),
        (
            "run-000004",
            "Run run-000004: status=aborted, task=look around, final=\"found it\", \
             error=\"it was cancelled\"",
        ),
    ] {
        let (text, details) = ask(&store, &a, &json!({"runId": id}));
        assert_eq!(text, expected);
        assert_eq!(details["counts"], counts, "those of the asking owner");
        assert_eq!(details["runs"][0]["task"], "look around\nand report", "all of it");
    }
    for unknown in ["run-00000", "run-000005", "run-000009", "../../etc/x"] {
        let (text, details) = ask(&store, &a, &json!({"runId": unknown}));
        assert_eq!(text, format!("No run found for runId: {unknown}"));
        assert_eq!(details, json!({"runs": [], "counts": counts}));
    }
}

#[test]
fn a_run_is_found_by_its_id_and_by_that_of_its_session() {
    let (_top, store) = store();
    for number in [1, 2, 30] {
        end(&store, &background(number, &pi("a")), Outcome::Completed, |_| {});
    }
    let session = find_background(&store, "run-000030").unwrap().record.session_id.unwrap();
    for (id, expected) in [
        ("run-000002", Ok("run-000002")),
        (session.as_str(), Ok("run-000030")),
        ("run-00003", Err("No run found for runId: run-00003")),
        ("", Err("No run found for runId: ")),
    ] {
        let found = find_background(&store, id).map_err(|error| error.to_string());
        let found = found.map(|run| run.dir.run_id().to_string());
        assert_eq!(found.as_deref(), expected.map_err(str::to_owned).as_deref(), "{id}");
    }
}

#[test]
fn a_list_for_a_model_has_an_end() {
    let (_top, store) = store();
    for number in 1..=60 {
        let mut plan = background(number, &pi("a"));
        plan.meta_mut().task = Some("x".repeat(5_000));
        end(&store, &plan, Outcome::Completed, |result| result.output = "ä".repeat(5_000));
    }
    let (text, details) = ask(&store, &pi("a"), &json!({"includeCompleted": true}));
    assert!(text.contains("\n(10 earlier runs are not named)\nrun-000011 completed"), "{text}");
    assert_eq!(text.lines().count(), 52);
    assert!(text.lines().all(|line| line.chars().count() < 300));
    let runs = details["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 50);
    assert!(runs.iter().all(|run| run["task"].as_str().map(str::len) == Some(256)));
    assert!(runs.iter().all(|run| run["finalText"].as_str().map(str::len) == Some(256)));
}

#[test]
fn an_owner_is_told_once_and_of_the_earliest_end_first() {
    let (top, store) = store();
    let (a, b) = (pi("a"), pi("b"));
    end(&store, &background(1, &a), Outcome::Completed, |result| result.ended_at = 30);
    end(&store, &background(2, &a), Outcome::Loop, |result| result.ended_at = 20);
    end(&store, &background(3, &b), Outcome::Cancelled, |_| {});
    let (_live, _journal) = running(&store, &background(4, &a), &[]);
    // A copy has the same runs, but nobody of it is told.
    let copy = tempfile::tempdir().unwrap();
    let runs = copy.path().join(".pi/subagents/runs/run-000001");
    fs::create_dir_all(&runs).unwrap();
    for name in ["meta.json", "result.json", "events.jsonl"] {
        fs::copy(store.path().join("run-000001").join(name), runs.join(name)).unwrap();
    }
    let taken = |store: &Store, owner| {
        let mut loaded = load_background(store, Some(owner)).unwrap();
        let notifications = loaded.take_notifications(owner);
        assert_eq!(loaded.warnings, [""; 0]);
        notifications.into_iter().map(|told| told.text).collect::<Vec<_>>()
    };
    assert_eq!(taken(&Store::in_project(copy.path()), &a), [""; 0]);
    assert!(!runs.join("notified").exists());
    let expected =
        ["Background agent scout failed: it was loop", "Background agent scout finished: found it"];
    assert_eq!(taken(&store, &a), expected);
    assert_eq!(taken(&store, &a), [""; 0]);
    assert_eq!(taken(&store, &b), ["Background agent scout aborted: it was cancelled"]);
    drop(top);
}

#[test]
fn a_notification_says_what_really_happened() {
    let plan = background(1, &pi("a"));
    let record = |status, final_text: Option<&str>, error: Option<&str>| BackgroundRecord {
        run_id: plan.meta.run_id.clone(),
        session_id: None,
        name: None,
        preset: Some("scout".into()),
        task: "t".into(),
        cwd: None,
        requested_model: None,
        resolved_model: None,
        status,
        questions: Vec::new(),
        waiting: None,
        start_time: 1,
        ending: BackgroundEnding {
            final_text: final_text.map(str::to_owned),
            error: error.map(str::to_owned),
            ..BackgroundEnding::default()
        },
        usage: Usage::default(),
        paths: ArtifactPaths::default(),
    };
    use BackgroundStatus::{Aborted, Completed, Failed, Running};
    let long = "x".repeat(300);
    for (record, level, notice, text, message) in [
        (
            record(Completed, Some("\nall good\nand more"), None),
            "info",
            "Background agent scout finished",
            "Background agent scout finished: all good".to_owned(),
            "Background agent scout finished (run-000001): all good\nand more".to_owned(),
        ),
        (
            record(Completed, Some(&long), None),
            "info",
            "Background agent scout finished",
            format!("Background agent scout finished: {}...", "x".repeat(200)),
            format!("Background agent scout finished (run-000001): {long}"),
        ),
        (
            record(Completed, Some(" "), None),
            "info",
            "Background agent scout finished",
            "Background agent scout finished: (no text output from sub-agent)".to_owned(),
            "Background agent scout finished (run-000001): (no text output from sub-agent)"
                .to_owned(),
        ),
        (
            record(Failed, Some("half"), Some("quota")),
            "error",
            "Background agent scout failed: quota",
            "Background agent scout failed: quota".to_owned(),
            "Background agent scout failed (run-000001): quota\nBefore that it said:\nhalf"
                .to_owned(),
        ),
        (
            record(Aborted, None, None),
            "error",
            "Background agent scout aborted",
            "Background agent scout aborted: aborted".to_owned(),
            "Background agent scout aborted (run-000001): aborted".to_owned(),
        ),
    ] {
        let told = Notification::of(&record).unwrap();
        assert_eq!((told.level(), &told.text, &told.message), (level, &text, &message));
        assert_eq!(told.notice, notice);
        let said = &told.message[told.answer_from..];
        assert!(message.starts_with("Background agent scout ") && message.ends_with(said));
        assert!(message.contains(&format!(" (run-000001): {said}")), "{said}");
    }
    assert_eq!(Notification::of(&record(Running, Some("x"), None)), None);
    let mut warned = record(Completed, Some("all good"), None);
    warned.ending.warnings = vec!["the disk is full".to_owned()];
    let told = Notification::of(&warned).unwrap();
    assert_eq!(told.text, "Background agent scout finished: all good");
    let message =
        "Background agent scout finished (run-000001): all good\nWarning: the disk is full";
    assert_eq!(told.message, message);
    warned.ending.final_text = Some(String::new());
    warned.ending.warnings = vec![RunResult::ANSWER_LOST.to_owned()];
    let told = Notification::of(&warned).unwrap();
    let text = format!("Background agent scout finished: Warning: {}", RunResult::ANSWER_LOST);
    assert_eq!(told.text, text);
}
