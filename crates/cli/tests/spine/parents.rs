//! Parents and supervisors that die or are told to end.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use test_support::{Running, World, wait_until};

use super::events::{assert_only_known_files, events};
use super::world;

/// A child that has said something, started a command in a session of its own, and works on.
fn start_working(world: &World, empty_environment: bool) -> Running {
    let ready = world.path("ready");
    let command = json!(["setsid", {"touch": ready}, "hang"]);
    let script = json!([
        {"message": {"text": "working on it", "stop": "toolUse"}},
        {"spawn": {"steps": command, "holds_stdout": true, "empty_environment": empty_environment}},
        {"await": ready},
        {"touch": world.path("working")},
        "hang",
    ]);
    let running = world.start(&script, &[]);
    wait_until(|| world.path("working").exists());
    wait_until(|| has_event(world, "working on it"));
    running
}

fn has_event(world: &World, text: &str) -> bool {
    let events = fs::read_to_string(world.only_run().join("events.jsonl")).unwrap_or_default();
    events.contains(text)
}

/// Kills parent and supervisor, so that neither can clean up behind the other.
fn kill_both(world: &World, running: Running) {
    let supervisor = world.supervisor();
    running.signal(Signal::STOP);
    kill_process(supervisor, Signal::KILL).unwrap();
    running.signal(Signal::KILL);
    drop(running.finish());
    wait_until(|| !world.processes().iter().any(|(_, line)| line.contains("supervise")));
}

/// The directory whose name begins with this.
fn directory_in(parent: &Path, beginning: &str) -> PathBuf {
    let mut entries = fs::read_dir(parent).unwrap().map(|entry| entry.unwrap().path());
    let is_meant =
        |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(beginning);
    entries.find(is_meant).unwrap()
}

fn result(world: &World) -> Value {
    serde_json::from_slice(&fs::read(world.only_run().join("result.json")).unwrap()).unwrap()
}

#[test]
fn a_parent_that_is_killed_takes_the_tree_with_it() {
    let world = world();
    let running = start_working(&world, false);
    running.signal(Signal::KILL);
    assert_eq!(running.finish().code, None);
    world.wait_until_nothing_is_left();
    let result = result(&world);
    assert_eq!(result["outcome"], "interrupted");
    assert_eq!(result["output"], "working on it");
    assert_eq!(
        events(&world.only_run()),
        [
            "run_started",
            "assistant toolUse \"working on it\"",
            "stopping parent_died",
            "ended interrupted signal 15"
        ]
    );
    assert_only_known_files(&world.only_run());
}

fn a_parent_that_gets(signal: Signal) {
    let world = world();
    let running = start_working(&world, false);
    running.signal(signal);
    let ran = running.finish();
    world.assert_nothing_left();
    assert_eq!(ran.code, Some(130));
    let task = ran.task();
    assert_eq!((&task["status"], &task["outcome"]), (&json!("error"), &json!("cancelled")));
    assert_eq!(task["output"], "working on it");
    assert_eq!(task["outcome"], result(&world)["outcome"]);
    assert_eq!(
        events(&world.only_run()),
        [
            "run_started",
            "assistant toolUse \"working on it\"",
            "stopping cancelled",
            "ended cancelled signal 15"
        ]
    );
    assert_only_known_files(&world.only_run());
}

#[test]
fn a_parent_that_gets_sigterm_stops_gracefully() {
    a_parent_that_gets(Signal::TERM);
}

#[test]
fn a_parent_that_gets_sigint_stops_gracefully() {
    a_parent_that_gets(Signal::INT);
}

#[test]
fn a_parent_that_gets_sighup_stops_gracefully() {
    a_parent_that_gets(Signal::HUP);
}

#[test]
fn a_second_sigint_does_not_wait_for_the_grace() {
    let world = world();
    let script = json!([
        "ignore_sigterm",
        {"message": {"text": "stubborn", "stop": "toolUse"}},
        {"touch": world.path("working")},
        "hang",
    ]);
    let running = world.start(&script, &[]);
    wait_until(|| world.path("working").exists() && has_event(&world, "stubborn"));
    running.signal(Signal::INT);
    wait_until(|| has_event(&world, "stopping"));
    running.signal(Signal::INT);
    let ran = running.finish();
    world.assert_nothing_left();
    assert_eq!((ran.code, &ran.task()["outcome"]), (Some(130), &json!("cancelled")));
    assert_eq!(
        events(&world.only_run()),
        [
            "run_started",
            "assistant toolUse \"stubborn\"",
            "stopping cancelled",
            "ended cancelled signal 9"
        ]
    );
    let duration = ran.task()["durationMs"].as_u64().unwrap();
    assert!(duration < 5_000, "it waited for the grace: {duration} ms");
}

fn a_killed_supervisor(empty_environment: bool) {
    let world = world();
    let running = start_working(&world, empty_environment);
    kill_process(world.supervisor(), Signal::KILL).unwrap();
    let ran = running.finish();
    world.assert_nothing_left();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let task = ran.task();
    assert_eq!(task["outcome"], "interrupted");
    assert_eq!(task["output"], "working on it");
    assert_eq!(task["error"], "Interrupted: the supervisor of this run died");
    assert_eq!(result(&world)["error"], task["error"]);
    assert_eq!(
        events(&world.only_run()),
        ["run_started", "assistant toolUse \"working on it\"", "ended interrupted"]
    );
    assert_only_known_files(&world.only_run());
}

#[test]
fn a_supervisor_that_is_killed_leaves_nothing() {
    a_killed_supervisor(false);
}

#[test]
fn a_supervisor_that_is_killed_leaves_nothing_that_hides_its_environment() {
    a_killed_supervisor(true);
}

#[test]
fn parent_and_supervisor_killed_together_are_found_out_by_the_next_look() {
    let world = world();
    let running = start_working(&world, false);
    kill_both(&world, running);
    assert!(!world.only_run().join("result.json").exists());
    let looked = world.run(&["sessions", "list", "--json"]);
    world.assert_nothing_left();
    let session = &looked.json()["sessions"][0];
    assert_eq!(session["status"], "error");
    assert_eq!(session["runs"][0]["outcome"], "interrupted");
    assert_eq!(session["runs"][0]["output"], "working on it");
    assert_eq!(
        events(&world.only_run()),
        ["run_started", "assistant toolUse \"working on it\"", "ended interrupted"]
    );
    assert_only_known_files(&world.only_run());
}

/// A run that could not be stored in its project is stored outside, and its end is still found out.
#[test]
fn parent_and_supervisor_killed_together_are_found_out_in_a_temporary_store() {
    let world = world();
    let runs = world.project().join(".pi/subagents/runs");
    fs::create_dir_all(runs.parent().unwrap()).unwrap();
    fs::write(runs, "in the way").unwrap();
    let (ready, working) = (world.path("ready"), world.path("working"));
    let command = json!(["setsid", {"touch": ready}, "hang"]);
    let script = json!([
        {"spawn": {"steps": command}}, {"await": ready}, {"touch": working}, "hang",
    ]);
    let running = world.start(&script, &[]);
    wait_until(|| working.exists());
    kill_both(&world, running);
    // The agent dies with its supervisor, and what it has started does not.
    wait_until(|| world.processes().len() == 1);
    world.run(&["sessions", "list"]);
    world.assert_nothing_left();
    let store = directory_in(&world.path(""), "pi-subagents-runs-");
    let run = directory_in(&store, "0");
    assert_eq!(events(&run), ["run_started", "ended interrupted"]);
    assert_only_known_files(&run);
}

#[test]
fn a_torn_event_of_a_dead_supervisor_is_repaired() {
    let world = world();
    let running = start_working(&world, false);
    kill_both(&world, running);
    let path = world.only_run().join("events.jsonl");
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str("{\"seq\":3,\"at\":17,\"type\":\"assis");
    fs::write(&path, text).unwrap();
    world.run(&["sessions", "list"]);
    world.assert_nothing_left();
    assert_eq!(
        events(&world.only_run()),
        ["run_started", "assistant toolUse \"working on it\"", "ended interrupted"]
    );
}

#[test]
fn a_stopped_supervisor_is_woken_by_who_wants_to_leave() {
    let world = world();
    let running = start_working(&world, false);
    kill_process(world.supervisor(), Signal::STOP).unwrap();
    running.signal(Signal::INT);
    let ran = running.finish();
    world.assert_nothing_left();
    assert_eq!((ran.code, &ran.task()["outcome"]), (Some(130), &json!("cancelled")));
    assert_eq!(ran.task()["output"], "working on it");
}

/// The kernel sends SIGHUP and SIGCONT to stopped processes whose parent dies. That must not look like
/// a request to end.
#[test]
fn a_stopped_supervisor_knows_that_its_parent_was_killed() {
    let world = world();
    let running = start_working(&world, false);
    let supervisor = world.supervisor();
    kill_process(supervisor, Signal::STOP).unwrap();
    running.signal(Signal::KILL);
    drop(running.finish());
    // Also if a process is left in its group; if none is, it is gone already.
    for signal in [Signal::HUP, Signal::CONT] {
        let _ = kill_process(supervisor, signal);
    }
    world.wait_until_nothing_is_left();
    assert_eq!(result(&world)["outcome"], "interrupted");
    assert!(has_event(&world, "parent_died"));
}

#[test]
fn a_paused_parent_does_not_cost_the_answer() {
    let world = world();
    let line =
        "a line that is not a record, but long enough to fill every buffer on the way ".repeat(20);
    let script = json!([
        {"touch": world.path("working")},
        {"await": world.path("paused")},
        {"say": "only the first word"},
        {"repeat": {"times": 4_000, "steps": [{"line": line}]}},
        {"say": "the last word"},
    ]);
    let running = world.start(&script, &[]);
    wait_until(|| world.path("working").exists());
    running.signal(Signal::STOP);
    fs::write(world.path("paused"), "").unwrap();
    // Longer than the silence after which a child that seems to have finished is stopped.
    let pause = std::time::Instant::now();
    wait_until(|| pause.elapsed() > std::time::Duration::from_secs(6));
    running.signal(Signal::CONT);
    let ran = running.finish();
    world.assert_nothing_left();
    assert_eq!((ran.code, &ran.task()["outcome"]), (Some(0), &json!("completed")));
    assert_eq!(ran.task()["output"], "the last word");
    let events = events(&world.only_run());
    assert_eq!(events.len(), 4_000 + 4);
    assert_eq!(events.last().unwrap(), "ended completed code 0");
}

#[test]
fn hanging_up_and_terminating_together_is_one_wish() {
    let world = world();
    let script = json!([
        "ignore_sigterm",
        {"message": {"text": "working on it", "stop": "toolUse"}},
        {"touch": world.path("working")},
        {"await": world.path("stopping")},
        {"say": "cleaned up"},
    ]);
    let running = world.start(&script, &[]);
    wait_until(|| world.path("working").exists() && has_event(&world, "working on it"));
    running.signal(Signal::HUP);
    running.signal(Signal::TERM);
    wait_until(|| has_event(&world, "stopping"));
    fs::write(world.path("stopping"), "").unwrap();
    let ran = running.finish();
    world.assert_nothing_left();
    assert_eq!((ran.code, &ran.task()["outcome"]), (Some(130), &json!("cancelled")));
    assert_eq!(ran.task()["output"], "cleaned up", "it had its grace");
}

#[test]
fn nohup_means_what_it_says() {
    let world = world();
    let script =
        json!([{"touch": world.path("working")}, {"await": world.path("go")}, {"say": "done"}]);
    let mut command = World::behind(&["nohup"], &world.play_command(&script, &[]));
    let child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_until(|| world.path("working").exists());
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::HUP).unwrap();
    fs::write(world.path("go"), "").unwrap();
    let ran = test_support::Ran::from(child.wait_with_output().unwrap());
    world.assert_nothing_left();
    assert_eq!((ran.code, &ran.task()["output"]), (Some(0), &json!("done")));
}

/// Signals that the caller has blocked must still arrive.
#[test]
fn signals_that_the_caller_has_blocked_are_heard() {
    let world = world();
    let wrapper = ["env", "--block-signal=CHLD", "--block-signal=TERM", "--block-signal=INT"];
    let ended = world.play_command(&json!([{"say": "done"}]), &[]);
    let ran = test_support::Ran::from(World::behind(&wrapper, &ended).output().unwrap());
    assert_eq!(
        (&ran.task()["output"], &ran.task()["warnings"]),
        (&json!("done"), &json!([])),
        "the end of the child is heard"
    );
    assert!(ran.task()["durationMs"].as_u64().unwrap() < 5_000, "{ran:?}");

    let script = json!([{"touch": world.path("working")}, "hang"]);
    let mut command = World::behind(&wrapper, &world.play_command(&script, &[]));
    let child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_until(|| world.path("working").exists());
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let ran = test_support::Ran::from(child.wait_with_output().unwrap());
    world.assert_nothing_left();
    assert_eq!((ran.code, &ran.task()["outcome"]), (Some(130), &json!("cancelled")));
    let records = super::events::records(&ran.run_dir());
    let signal = &records.last().unwrap()["signal"];
    assert_eq!(signal, &json!(15), "the child hears SIGTERM too");
}

/// A shell that becomes this program leaves it children that are not of any run.
#[test]
fn children_that_were_there_before_us_are_left_alone() {
    let world = world();
    let script = json!([{"touch": world.path("working")}, "hang"]);
    let file = world.path("other");
    let shell = format!("sleep 1000 > /dev/null 2>&1 & echo $! > {}; exec \"$@\"", file.display());
    let play = world.play_command(&script, &[]);
    let mut command = World::behind(&["/bin/sh", "-c", &shell, "sh"], &play);
    let child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_until(|| world.path("working").exists());
    kill_process(world.supervisor(), Signal::KILL).unwrap();
    let ran = test_support::Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.task()["outcome"], "interrupted");
    let other: i32 = fs::read_to_string(file).unwrap().trim().parse().unwrap();
    let left: Vec<u32> = world.processes().into_iter().map(|(pid, _)| pid).collect();
    assert_eq!(left, [other.unsigned_abs()], "only what was there before");
    kill_process(Pid::from_raw(other).unwrap(), Signal::KILL).unwrap();
    world.wait_until_nothing_is_left();
}

/// What such a child leaves when it ends would be adopted by a subreaper, and is not of any run either.
#[test]
fn what_a_job_of_the_callers_shell_leaves_is_left_alone() {
    let world = world();
    let script = json!([{"touch": world.path("working")}, "hang"]);
    let file = world.path("other");
    let shell = format!(
        "sh -c 'while [ ! -e {} ]; do sleep 0.01; done
         sleep 1000 & echo $! > {}' > /dev/null 2>&1 & exec \"$@\"",
        world.path("working").display(),
        file.display()
    );
    let play = world.play_command(&script, &[]);
    let running = Running::start(World::behind(&["/bin/sh", "-c", &shell, "sh"], &play));
    let other = || fs::read_to_string(&file).ok()?.trim().parse::<i32>().ok();
    wait_until(|| other().is_some());
    // The job itself has ended.
    wait_until(|| !world.processes().iter().any(|(_, words)| words.contains("while")));
    kill_process(world.supervisor(), Signal::KILL).unwrap();
    let ran = running.finish();
    assert_eq!(ran.task()["outcome"], "interrupted");
    let other = other().unwrap();
    let left: Vec<u32> = world.processes().into_iter().map(|(pid, _)| pid).collect();
    assert_eq!(left, [other.unsigned_abs()], "only what the job has left");
    kill_process(Pid::from_raw(other).unwrap(), Signal::KILL).unwrap();
    world.wait_until_nothing_is_left();
}

/// The supervisor learns of the parent's death while it is writing to it.
#[test]
fn a_parent_killed_in_the_middle_of_a_flood_takes_the_tree_with_it() {
    for _ in 0..5 {
        let world = world();
        let flood: Vec<Value> = (0..50)
            .map(|number| json!({"tool": {"name": "bash", "args": {"command": number}}}))
            .collect();
        let script = json!([{"repeat": {"times": 1_000_000, "steps": flood}}]);
        let running = world.start(&script, &[]);
        wait_until(|| world.runs().len() == 1 && has_event(&world, "tool_call"));
        running.signal(Signal::KILL);
        drop(running.finish());
        world.wait_until_nothing_is_left();
        assert_eq!(result(&world)["outcome"], "interrupted");
    }
}

#[test]
fn a_copy_of_a_project_does_not_end_the_original_runs() {
    let world = world();
    let running = start_working(&world, false);
    let copy = world.path("copy");
    world.copy_project(&copy);
    let mut list = world.command(["sessions", "list", "--json"]);
    let listed = test_support::Ran::from(list.current_dir(&copy).output().unwrap());
    assert_eq!(listed.json()["sessions"][0]["runs"][0]["outcome"], "interrupted", "the copy's");
    let listed = world.run(&["sessions", "list", "--json"]);
    assert_eq!(listed.json()["sessions"][0]["status"], "running", "the original is untouched");
    running.signal(Signal::TERM);
    assert_eq!(running.finish().task()["outcome"], "cancelled");
    world.assert_nothing_left();
}

#[test]
fn one_signal_is_enough_for_a_parent_whose_reader_does_not_read() {
    let world = world();
    let line = "a line of progress that is never read, and another one";
    let agent = world.agent(&json!([
        {"repeat": {"times": 100_000_000, "steps": [{"stderr": line}]}},
    ]));
    let mut command = world.command(["run", "--agent", &agent, "do it"]);
    let child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // More than the pipe to us holds, so that the parent waits for a reader.
    wait_until(|| {
        let log = world.runs().first().map(|run| run.join("stderr.log"));
        log.and_then(|log| fs::metadata(log).ok()).is_some_and(|log| log.len() > 300_000)
    });
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    world.wait_until_nothing_is_left();
    assert_eq!(result(&world)["outcome"], "cancelled");
    drop(child.wait_with_output().unwrap());
}
