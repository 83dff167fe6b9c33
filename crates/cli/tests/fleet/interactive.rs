//! Tasks of `delegate --on fleet`: agents on a worker, whose events, answers and changes come back.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use test_support::{kill_and_wait, wait_until, write_file};

use super::machines::{Fleet, await_end_of, await_process, long_turn, shell};

#[test]
fn agents_work_on_uncommitted_files_elsewhere_and_their_changes_come_back() {
    let mut fleet = Fleet::new();
    fleet.worker(&["--slots", "4"]);
    let tasks: Vec<Value> = (0..6)
        .map(|index| {
            let command = format!("cat a.txt new.txt > seen-{index}.txt; ls *.log; pwd");
            fleet.task(
                &format!("t{index}"),
                &json!([shell(&command), {"text": format!("answer {index}")}]),
            )
        })
        .collect();
    let ran = fleet.delegate(&json!(tasks));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let document = ran.json();
    for index in 0..6 {
        let task = &document["tasks"][index];
        assert_eq!(task["output"], format!("answer {index}"), "{task}");
        assert_eq!(task["changes"]["files"], 1, "{task}");
        let base =
            fleet.git(&["rev-parse", &format!("{}~0", task["changes"]["ref"].as_str().unwrap())]);
        let seen = fleet.git(&["show", &format!("{base}:seen-{index}.txt")]);
        assert_eq!(seen, "not committed\nuntracked");
    }
    let merged = fleet.world.run(&["changes", "apply", "t3"]);
    assert_eq!(merged.code, Some(0), "{merged:?}");
    let text = fs::read_to_string(fleet.world.project().join("seen-3.txt")).unwrap();
    assert_eq!(text, "not committed\nuntracked\n");
    fleet.end_all();
}

#[test]
fn a_script_among_the_files_of_a_task_is_played_where_they_are() {
    let mut fleet = Fleet::new();
    fleet.worker(&[]);
    let turns = json!([shell("echo here > seen.txt"), {"text": "played"}]);
    write_file(&fleet.world.project().join("turns.json"), &turns.to_string());
    let task =
        json!({"name": "t", "prompt": "go", "agent": "builtin", "model": "script/turns.json"});
    let ran = fleet.delegate(&json!([task]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["tasks"][0]["output"], "played", "{ran:?}");
    let meta = fs::read_to_string(fleet.world.only_run().join("meta.json")).unwrap();
    assert!(meta.contains("\"script/turns.json\""), "its path here means nothing there: {meta}");
    fleet.end_all();
}

#[test]
fn a_stopped_caller_ends_the_agent_on_the_other_machine() {
    let mut fleet = Fleet::new();
    fleet.worker(&[]);
    for (signal, name) in [(Signal::INT, "interrupted"), (Signal::KILL, "killed")] {
        let file = fleet.world.path(name);
        let task = fleet.task("long", &json!([long_turn(&file), {"text": "late"}]));
        let caller = fleet.start_delegation(&task);
        let process = await_process(&file);
        caller.signal(signal);
        await_end_of(process);
        let ran = caller.finish();
        assert_ne!(ran.code, Some(0), "{ran:?}");
        fleet.await_no_runs(0);
    }
    fleet.end_all();
}

#[test]
fn a_killed_relay_ends_its_run_and_leaves_no_file_that_was_on_its_way() {
    let mut fleet = Fleet::new();
    fleet.worker(&[]);
    let file = fleet.world.path("working");
    let task = fleet.task("long", &json!([long_turn(&file), {"text": "late"}]));
    let caller = fleet.start_delegation(&task);
    let process = await_process(&file);
    let processes = fleet.world.processes();
    let (relay, _) = processes.iter().find(|(_, words)| words.contains(" relay ")).unwrap();
    let run = fleet.world.only_run();
    let name = format!("subagent-{}", run.file_name().unwrap().to_string_lossy());
    let scratch = fleet.world.path(&name);
    assert!(scratch.is_dir(), "{}", scratch.display());
    kill_and_wait(Pid::from_raw(i32::try_from(*relay).unwrap()).unwrap());
    let ran = caller.finish();
    let task = &ran.json()["tasks"][0];
    assert_eq!((ran.code, &task["outcome"]), (Some(1), &json!("killed_by_signal")), "{ran:?}");
    assert!(!scratch.exists(), "{}", scratch.display());
    await_end_of(process);
    fleet.end_all();
}

/// An agent that waits until it has begun twice: it writes its process, goes on without end when it is the first, and
/// makes a file when it is the second.
fn begun_twice(fleet: &Fleet) -> (Value, std::path::PathBuf) {
    let first = fleet.world.path("first");
    let command = format!(
        "if [ -e {0} ]; then echo done > made.txt; else echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600; fi",
        first.display()
    );
    (fleet.task("again", &json!([shell(&command), {"text": "made"}])), first)
}

#[test]
fn a_task_of_a_killed_worker_runs_again_elsewhere_and_counts_once() {
    let mut fleet = Fleet::new();
    let worker = fleet.worker(&[]);
    let (task, first) = begun_twice(&fleet);
    let caller = fleet.start_delegation(&task);
    let process = await_process(&first);
    fleet.kill(worker);
    await_end_of(process);
    fleet.worker(&[]);
    let ran = caller.finish();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let task = &ran.json()["tasks"][0];
    assert_eq!((&task["output"], &task["changes"]["files"]), (&json!("made"), &json!(1)), "{task}");
    let warnings = task["warnings"].to_string();
    assert!(warnings.contains("was lost; attempt 2 begins anew"), "{task}");
    fleet.end_all();
}

/// The server offers a task again of which it has heard nothing for a while, also to the worker that is at it.
#[test]
fn a_task_that_is_offered_again_to_its_worker_does_not_begin_beside_itself() {
    let mut fleet = Fleet::new();
    let worker = fleet.worker(&["--slots", "2"]);
    let (starts, go) = (fleet.world.path("starts"), fleet.world.path("go"));
    let command = format!(
        "echo $$ >> {}; while ! [ -e {} ]; do sleep 0.05; done; echo made > made.txt",
        starts.display(),
        go.display()
    );
    let task = fleet.task("again", &json!([shell(&command), {"text": "made"}]));
    let caller = fleet.start_delegation(&task);
    await_process(&starts);
    fleet.freeze(worker);
    // Twice as long as the server waits for a word. It tells nothing of that before it can offer the task again.
    let frozen = Instant::now();
    wait_until(|| frozen.elapsed() > Duration::from_secs(4));
    fleet.thaw(worker);
    // What is offered again is offered before this one.
    let second = fleet.delegate(&json!([fleet.task("second", &json!([{"text": "done"}]))]));
    assert_eq!(second.code, Some(0), "{second:?}");
    write_file(&go, "");
    let ran = caller.finish();
    let task = &ran.json()["tasks"][0];
    assert_eq!((&task["output"], &task["changes"]["files"]), (&json!("made"), &json!(1)), "{task}");
    assert_eq!(fs::read_to_string(&starts).unwrap().lines().count(), 1, "it began twice");
    fleet.end_all();
}

#[test]
fn a_worker_ends_what_a_killed_supervisor_of_its_life_before_has_left() {
    let mut fleet = Fleet::new();
    let worker = fleet.worker(&[]);
    let (task, first) = begun_twice(&fleet);
    let caller = fleet.start_delegation(&task);
    let process = await_process(&first);
    // Neither lives to see the end of the other.
    fleet.freeze(worker);
    let run = fleet.run_of(worker).to_string_lossy().into_owned();
    let processes = fleet.world.processes();
    let supervises = |words: &str| words.contains(" supervise ") && words.contains(&run);
    let (supervisor, _) = processes.iter().find(|(_, words)| supervises(words)).unwrap();
    kill_and_wait(Pid::from_raw(i32::try_from(*supervisor).unwrap()).unwrap());
    fleet.kill(worker);
    assert!(Path::new(&format!("/proc/{process}")).exists(), "nobody was there to end it");
    fleet.worker_again(worker);
    await_end_of(process);
    let ran = caller.finish();
    assert_eq!((ran.code, &ran.json()["tasks"][0]["output"]), (Some(0), &json!("made")), "{ran:?}");
    fleet.end_all();
}

#[test]
fn a_task_that_kills_its_workers_is_lost_after_three() {
    let mut fleet = Fleet::new();
    let mut worker = fleet.worker(&["--slots", "1"]);
    // The parent of the supervisor of the agent is the worker.
    let poison = "kill -9 $(ps -o ppid= -p $(ps -o ppid= -p $PPID))";
    let task = fleet.task("poison", &json!([shell(poison), {"text": "late"}]));
    let caller = fleet.start_delegation(&task);
    for _ in 0..3 {
        fleet.await_death(worker);
        worker = fleet.worker(&["--slots", "1"]);
    }
    let ran = caller.finish();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let task = &ran.json()["tasks"][0];
    assert_eq!(task["outcome"], "lost", "{task}");
    assert!(task["error"].as_str().unwrap().contains("workers of 3 attempts died"), "{task}");
    fleet.end_all();
}

#[test]
fn a_worker_that_is_told_to_end_gives_its_task_to_another_one() {
    let mut fleet = Fleet::new();
    let worker = fleet.worker(&["--grace", "100ms"]);
    let (task, first) = begun_twice(&fleet);
    let caller = fleet.start_delegation(&task);
    let process = await_process(&first);
    assert_eq!(fleet.end(worker).code, Some(0));
    await_end_of(process);
    fleet.worker(&[]);
    let ran = caller.finish();
    let task = &ran.json()["tasks"][0];
    assert_eq!((ran.code, &task["output"]), (Some(0), &json!("made")), "{task}");
    assert!(task["warnings"].to_string().contains("gave the task back"), "{task}");
    fleet.end_all();
}

#[test]
fn a_key_and_a_program_do_not_leave_this_machine() {
    let fleet = Fleet::new();
    let profile = "---\nname: keyed\napiKey: sk-secret-of-the-user\nprovider: anthropic\n---\n";
    write_file(&fleet.world.agent_dir().join("agent-profiles/keyed.md"), profile);
    for (arguments, expected) in [
        (
            &["--profile", "keyed", "--agent", "builtin"][..],
            "secrets are not sent to another machine",
        ),
        (&["--agent", "[\"/bin/true\"]"], "cannot run on another machine"),
    ] {
        let mut all = vec!["run", "--on", "fleet"];
        all.extend(arguments);
        all.push("Go.");
        let mut command = fleet.command(&all);
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && stderr.contains(expected), "{stderr}");
    }
}

#[test]
fn a_project_sends_nothing_anywhere_by_itself() {
    let fleet = Fleet::new();
    let profile = "---\nname: elsewhere\non: fleet\n---\n";
    write_file(&fleet.world.project().join(".pi/agent-profiles/elsewhere.md"), profile);
    let settings = json!({"subagents": {"fleet": {"url": fleet.servers.url()}}});
    write_file(&fleet.world.project().join(".pi/settings.json"), &settings.to_string());
    let untrusted =
        fleet.world.run(&["run", "--agent", "builtin", "--profile", "elsewhere", "Go."]);
    assert!(untrusted.code == Some(2) && untrusted.stderr.contains("sets \"on\""), "{untrusted:?}");
    let nowhere = fleet.world.run(&["run", "--agent", "builtin", "--on", "fleet", "Go."]);
    assert!(nowhere.stderr.contains("a project cannot set \"subagents.fleet\""), "{nowhere:?}");
    assert!(
        nowhere.code == Some(2) && nowhere.stderr.contains("No server of the fleet is named"),
        "{nowhere:?}"
    );
}
