//! Run directories: private, versioned, shared by many programs, and deleted at any time.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::{Value, json};
use test_support::{Ran, World, wait_until};

use super::world;

#[test]
fn directories_and_files_are_private_and_ignored_by_git() {
    let world = world();
    let ran = world.play(&json!([{"say": "secret"}]), &[]);
    let runs = world.project().join(".pi/subagents/runs");
    assert_eq!(fs::read_to_string(runs.join(".gitignore")).unwrap(), "*\n");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&runs), 0o700);
    assert_ne!(
        mode(runs.parent().unwrap()),
        0o700,
        "it also has presets, which all users may read"
    );
    assert_eq!(mode(&ran.run_dir()), 0o700);
    for entry in fs::read_dir(ran.run_dir()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[test]
fn a_run_whose_directory_is_deleted_still_has_its_true_result() {
    let world = world();
    let script = json!([
        {"message": {"text": "half", "stop": "toolUse"}},
        {"touch": world.path("working")},
        {"await": world.path("deleted")},
        {"say": "the whole answer"},
    ]);
    let running = world.start(&script, &[]);
    wait_until(|| world.path("working").exists());
    fs::remove_dir_all(world.only_run()).unwrap();
    fs::write(world.path("deleted"), "").unwrap();
    let ran = running.finish();
    world.assert_nothing_left();
    let task = ran.task();
    assert_eq!((ran.code, &task["outcome"]), (Some(0), &json!("completed")));
    assert_eq!(task["output"], "the whole answer");
    let warning = task["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("The result was not kept: "), "{warning}");
    assert!(world.runs().is_empty(), "nothing was put back");
}

#[test]
fn a_supervisor_killed_over_a_deleted_directory_is_told_from_memory() {
    let world = world();
    let script = json!([
        {"message": {"text": "half", "stop": "toolUse"}},
        {"touch": world.path("working")},
        "hang",
    ]);
    let running = world.start(&script, &[]);
    wait_until(|| world.path("working").exists());
    wait_until(|| {
        fs::read_to_string(world.only_run().join("events.jsonl")).unwrap().contains("half")
    });
    fs::remove_dir_all(world.only_run()).unwrap();
    let (pid, _) =
        world.processes().into_iter().find(|(_, line)| line.contains("supervise")).unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let ran = running.finish();
    world.assert_nothing_left();
    assert_eq!((ran.code, &ran.task()["outcome"]), (Some(1), &json!("interrupted")));
    assert_eq!(ran.task()["output"], "half");
}

/// As after a disk that was full until the last moment: the end was recorded, and neither the answer nor
/// the result.
#[test]
fn an_earlier_word_is_not_taken_for_an_answer_that_was_not_kept() {
    let world = world();
    let script = json!([
        {"message": {"text": "I look.", "stop": "toolUse"}},
        {"say": "the whole answer"},
    ]);
    let run_dir = world.play(&script, &[]).run_dir();
    fs::remove_file(run_dir.join("result.json")).unwrap();
    let events = fs::read_to_string(run_dir.join("events.jsonl")).unwrap();
    let kept = events.lines().filter(|line| !line.contains("the whole answer"));
    let kept: String = kept.map(|line| format!("{line}\n")).collect();
    assert!(kept.contains("I look.") && kept.contains("run_ended"), "{kept}");
    fs::write(run_dir.join("events.jsonl"), kept).unwrap();
    let listed = world.run(&["sessions", "list", "--json"]).json();
    let run = &listed["sessions"][0]["runs"][0];
    assert_eq!((&run["outcome"], &run["output"]), (&json!("completed"), &json!("")));
    let result = fs::read_to_string(run_dir.join("result.json")).unwrap();
    assert!(result.contains("its answer was not kept"), "{result}");
}

#[test]
fn many_programs_in_one_project_do_not_disturb_each_other() {
    let world = world();
    let children: Vec<_> = (0..12)
        .map(|number| {
            let answer = format!("answer {number}");
            let mut command = world.play_command(&json!([{"say": answer}]), &[]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for (number, child) in children.into_iter().enumerate() {
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.task()["output"], format!("answer {number}"), "{ran:?}");
    }
    world.assert_nothing_left();
    assert_eq!(world.runs().len(), 12);
    let listed = world.run(&["sessions", "list", "--json"]).json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 12);
}

/// A run directory as this version writes it must be readable by every later one.
#[test]
fn a_run_directory_of_format_1_is_read() {
    let world = world();
    let run = world.project().join(".pi/subagents/runs/01a1e0c9-9599-7755-a8f9-d5236aca9e54");
    fs::create_dir_all(&run).unwrap();
    let frozen = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/frozen/format-1");
    for entry in fs::read_dir(frozen).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), run.join(entry.file_name())).unwrap();
    }
    let shown = world.run(&["sessions", "show", "b4eb7c3df95a4df6"]);
    assert_eq!(
        shown.stdout,
        "[prompt]: look around\nI look around.\n→ ls: {\"path\":\".\"}\n[tool result]: a.txt\nThere is one file.\n"
    );
    let listed = world.run(&["sessions", "list", "--json"]).json();
    assert_eq!(listed["sessions"][0]["runs"][0]["outcome"], "completed");
    assert_eq!(listed["sessions"][0]["runs"][0]["output"], "There is one file.");
}

#[test]
fn a_newer_format_is_never_written() {
    let world = world();
    let ran = world.play(&json!([{"say": "old"}]), &[]);
    let run_dir = ran.run_dir();
    let meta = fs::read_to_string(run_dir.join("meta.json")).unwrap();
    let mut meta: Value = serde_json::from_str(&meta).unwrap();
    meta["format"] = json!(2);
    fs::write(run_dir.join("meta.json"), meta.to_string()).unwrap();
    fs::remove_file(run_dir.join("result.json")).unwrap();
    let before = fs::read_to_string(run_dir.join("events.jsonl")).unwrap();

    let listed = world.run(&["sessions", "list"]);
    assert!(listed.stderr.contains("was written by a newer version"), "{listed:?}");
    let supervised = world.run(&["supervise", run_dir.to_str().unwrap()]);
    assert_eq!(supervised.code, Some(1));
    assert!(supervised.stderr.contains("was written by a newer version"), "{supervised:?}");
    let pruned = world.run(&["sessions", "prune", "--keep", "0", "--json"]);
    assert_eq!(pruned.json()["removed"], 0);
    assert_eq!(fs::read_to_string(run_dir.join("events.jsonl")).unwrap(), before);
    assert!(!run_dir.join("result.json").exists());
}

#[test]
fn a_run_has_only_one_supervisor() {
    let world = world();
    let run_dir = world.play(&json!([{"say": "once"}]), &[]).run_dir();
    let again = world.run(&["supervise", run_dir.to_str().unwrap()]);
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("already has a result"), "{again:?}");
    std::fs::remove_file(run_dir.join("result.json")).unwrap();
    let again = world.run(&["supervise", run_dir.to_str().unwrap()]);
    assert!(again.stderr.contains("already has a supervisor"), "{again:?}");
    let mut inside = world.command(["supervise", run_dir.to_str().unwrap()]);
    let inside = Ran::from(inside.env("PI_SUBAGENTS_CHILD", "1").output().unwrap());
    assert_eq!(inside.code, Some(2), "{inside:?}");
}

/// Live and replayed runs go through the same folds, so that they cannot disagree.
#[test]
fn a_replayed_run_says_the_same_as_the_live_one() {
    let world = world();
    let script = json!([
        "start",
        {"message": {"text": "I look.", "stop": "toolUse"}},
        {"tool": {"name": "read", "args": {"path": "a.rs"}, "is_error": true}},
        {"line": "not a record"},
        {"message": {"text": "", "stop": "error", "error": "429: slow down"}},
        {"exit": 1},
    ]);
    let ran = world.play(&script, &[]);
    let events = fs::read_to_string(ran.run_dir().join("events.jsonl")).unwrap();
    let records: Vec<model::Record> =
        events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut replayed = session::State::default();
    let words: Vec<String> = records.iter().filter_map(|record| replayed.apply(record)).collect();
    let result = fs::read(ran.run_dir().join("result.json")).unwrap();
    let result: model::RunResult = serde_json::from_slice(&result).unwrap();
    let facts = &replayed.facts;
    assert_eq!(facts.outcome, Some(result.outcome));
    assert_eq!((&facts.error, &facts.output), (&result.error, &result.output));
    assert_eq!((facts.usage, facts.tool_calls), (result.usage, result.tool_calls));
    assert_eq!((facts.started_at, facts.ended_at), (result.started_at, Some(result.ended_at)));
    assert_eq!(facts.exit_code, result.exit_code);
    let transcript = fs::read_to_string(ran.run_dir().join("transcript.log")).unwrap();
    assert!(transcript.ends_with(&format!("\n\n{}\n", words.join("\n"))), "{transcript}");
    let entries: Vec<&session::EntryKind> =
        replayed.recent.entries().map(|(_, entry)| &entry.kind).collect();
    assert!(
        matches!(
            entries.as_slice(),
            [
                session::EntryKind::Said { .. },
                session::EntryKind::Tool(_),
                session::EntryKind::Note(_),
                session::EntryKind::Said { .. },
                session::EntryKind::Problem(_),
                session::EntryKind::Problem(_),
            ]
        ),
        "{entries:#?}"
    );
}

#[test]
fn a_limit_on_the_size_of_files_is_not_the_end_of_a_run() {
    let world = world();
    let steps = json!([
        {"repeat": {"times": 400, "steps": [{"line": "a line that is worth an event, and longer than a few words"}]}},
        {"say": "done"},
    ]);
    let play = world.play_command(&steps, &[]);
    let mut command = World::behind(&["/bin/sh", "-c", "ulimit -f 8; exec \"$@\"", "sh"], &play);
    let ran = Ran::from(command.output().unwrap());
    world.assert_nothing_left();
    assert_eq!((ran.code, &ran.task()["output"]), (Some(0), &json!("done")), "{ran:?}");
    assert!(ran.task()["warnings"][0].as_str().unwrap().contains("File too large"), "{ran:?}");
}

#[test]
fn a_pipe_in_the_place_of_a_file_holds_nobody_up() {
    let world = world();
    let run_dir = world.play(&json!([{"say": "done"}]), &[]).run_dir();
    for name in ["meta.json", "result.json"] {
        let path = run_dir.join(name);
        fs::remove_file(&path).unwrap();
        process::make_named_pipe(&path).unwrap();
        let listed = world.run(&["sessions", "list"]);
        assert!(listed.stderr.contains("it is not a plain file"), "{listed:?}");
        world.run(&["sessions", "prune", "--keep", "0"]);
    }
}

#[test]
fn an_answer_that_cannot_be_printed_is_an_error() {
    let world = world();
    let mut command = world.play_command(&json!([{"say": "done"}]), &[]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ran = Ran::from(command.stdout(full).output().unwrap());
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("the answer cannot be printed"), "{ran:?}");
}

/// A repository can contain a run directory that an attacker has prepared.
#[test]
fn a_planted_run_directory_cannot_make_us_write_anywhere() {
    let world = world();
    let run_dir = world.play(&json!([{"say": "done"}]), &[]).run_dir();
    let victim = world.path("victim");
    fs::write(&victim, "{\"auth\":\"no newline\"}").unwrap();
    let plant = |name: &str, target: &std::path::Path| {
        let _ = fs::remove_file(run_dir.join(name));
        std::os::unix::fs::symlink(target, run_dir.join(name)).unwrap();
    };
    fs::remove_file(run_dir.join("result.json")).unwrap();
    plant("events.jsonl", &victim);
    plant("transcript.log", &world.path("created"));
    world.run(&["sessions", "list"]);
    // A copy of a run, with all its files in place, is not written either.
    let elsewhere = world.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::rename(&run_dir, elsewhere.join(run_dir.file_name().unwrap())).unwrap();
    std::os::unix::fs::symlink(elsewhere.join(run_dir.file_name().unwrap()), &run_dir).unwrap();
    world.run(&["sessions", "list"]);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "{\"auth\":\"no newline\"}");
    assert!(!world.path("created").exists());
}

#[test]
fn a_store_that_is_a_link_is_not_used() {
    let world = world();
    let elsewhere = world.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::create_dir_all(world.project().join(".pi/subagents")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, world.project().join(".pi/subagents/runs")).unwrap();
    let ran = world.play(&json!([{"say": "done"}]), &[]);
    assert_eq!((ran.code, &ran.task()["output"]), (Some(0), &json!("done")));
    let warning = ran.task()["warnings"][0].as_str().unwrap().to_owned();
    assert!(warning.contains("it is a symbolic link"), "{warning}");
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    assert_eq!(world.run(&["sessions", "prune"]).code, Some(1));
}
