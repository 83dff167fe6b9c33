//! However a run, its caller, its pane or tmux itself ends, nothing of the run is left, and the programs that
//! still run report the right outcome.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use test_support::{Ran, wait_until};

use crate::events::{assert_only_known_files, events};
use crate::{CALLER, TmuxWorld};

/// The events of the working run, stopped for a reason.
fn stopped(cause: &str, ending: &str) -> Vec<String> {
    let said = "assistant toolUse \"working on it\"".to_owned();
    vec!["run_started".to_owned(), said, format!("stopping {cause}"), format!("ended {ending}")]
}

#[track_caller]
fn assert_cancelled(tmux: &TmuxWorld, ran: &Ran, code: i32) {
    let task = ran.task();
    assert_eq!(ran.code, Some(code), "{ran:?}");
    assert_eq!((&task["outcome"], &task["output"]), (&json!("cancelled"), &json!("working on it")));
    assert_eq!(task["error"], "Cancelled before it had finished");
    assert_eq!(tmux.result()["error"], task["error"]);
    assert_eq!(events(&tmux.world.only_run()), stopped("cancelled", "cancelled signal 15"));
    assert_only_known_files(&tmux.world.only_run());
}

fn process(processes: &[(u32, String)], word: &str) -> Pid {
    let (pid, _) = processes.iter().find(|(_, line)| line.contains(word)).unwrap();
    Pid::from_raw(i32::try_from(*pid).unwrap()).unwrap()
}

fn a_caller_that_gets(signal: Signal) {
    let tmux = TmuxWorld::new();
    let running = tmux.start_working();
    running.signal(signal);
    let ran = running.finish();
    tmux.assert_nothing_left();
    assert_cancelled(&tmux, &ran, 130);
}

#[test]
fn sigint_to_the_caller_ends_tree_and_pane() {
    a_caller_that_gets(Signal::INT);
}

#[test]
fn sigterm_to_the_caller_ends_tree_and_pane() {
    a_caller_that_gets(Signal::TERM);
}

#[test]
fn a_caller_that_is_killed_takes_tree_and_pane_with_it() {
    let tmux = TmuxWorld::new();
    let running = tmux.start_working();
    running.signal(Signal::KILL);
    assert_eq!(running.finish().code, None);
    wait_until(|| tmux.of_runs().is_empty());
    wait_until(|| tmux.viewers().is_empty());
    tmux.assert_nothing_left();
    let result = tmux.result();
    assert_eq!(
        (&result["outcome"], &result["output"]),
        (&json!("interrupted"), &json!("working on it"))
    );
    assert_eq!(events(&tmux.world.only_run()), stopped("parent_died", "interrupted signal 15"));
    assert_only_known_files(&tmux.world.only_run());
}

#[test]
fn ctrl_c_in_the_pane_stops_the_run() {
    let tmux = TmuxWorld::new();
    let running = tmux.start_working();
    tmux.tmux(&["send-keys", "-t", &tmux.only_pane(), "C-c"]);
    let ran = running.finish();
    tmux.assert_nothing_left();
    assert_cancelled(&tmux, &ran, 1);
}

#[test]
fn a_second_ctrl_c_in_the_pane_does_not_wait_for_the_grace() {
    let tmux = TmuxWorld::new();
    let script = json!([
        "ignore_sigterm",
        {"message": {"text": "stubborn", "stop": "toolUse"}},
        "hang",
    ]);
    let running = tmux.start(&script, &[]);
    wait_until(|| tmux.new_panes().len() == 1);
    let pane = tmux.only_pane();
    wait_until(|| tmux.shown(&pane).contains("stubborn"));
    tmux.tmux(&["send-keys", "-t", &pane, "C-c"]);
    wait_until(|| tmux.shown(&pane).contains("Stopping: cancelled"));
    tmux.tmux(&["send-keys", "-t", &pane, "C-c"]);
    let ran = running.finish();
    tmux.assert_nothing_left();
    let task = ran.task();
    assert_eq!(task["outcome"], "cancelled");
    assert!(task["durationMs"].as_u64().unwrap() < 5_000, "it waited for the grace: {task}");
    assert_eq!(events(&ran.run_dir()).last().unwrap(), "ended cancelled signal 9");
}

#[test]
fn a_pane_that_is_killed_by_hand_cancels_its_run() {
    let tmux = TmuxWorld::new();
    let running = tmux.start_working();
    tmux.tmux(&["kill-pane", "-t", &tmux.only_pane()]);
    let ran = running.finish();
    tmux.assert_nothing_left();
    assert_cancelled(&tmux, &ran, 1);
}

#[test]
fn a_viewer_that_is_killed_cancels_its_run() {
    let tmux = TmuxWorld::new();
    let running = tmux.start_working();
    kill_process(process(&tmux.viewers(), "view"), Signal::KILL).unwrap();
    let ran = running.finish();
    tmux.assert_nothing_left();
    assert_cancelled(&tmux, &ran, 1);
}

#[test]
fn only_the_run_of_the_killed_pane_is_cancelled() {
    let tmux = TmuxWorld::new();
    let go = tmux.world.path("go");
    let script = json!(["start", {"message": {"text": "hello", "stop": "toolUse"}}, {"await": go}, {"say": "bye"}]);
    let tasks = json!({"tasks": [{"name": "one", "prompt": "a"}, {"name": "two", "prompt": "b"}]});
    fs::write(tmux.world.path("tasks.json"), tasks.to_string()).unwrap();
    let (agent, file) = (tmux.world.agent(&script), tmux.world.path("tasks.json"));
    let command =
        tmux.world.command(["delegate", "--json", "--agent", &agent, file.to_str().unwrap()]);
    let running = test_support::Running::start(tmux.inside(command));
    wait_until(|| {
        tmux.new_panes().iter().filter(|pane| tmux.shown(pane).contains("hello")).count() == 2
    });
    let panes = tmux.new_panes();
    let first = panes.iter().find(|pane| tmux.shown(pane).contains("one (run")).unwrap();
    tmux.tmux(&["kill-pane", "-t", first]);
    wait_until(|| tmux.world.runs().iter().any(|run| run.join("result.json").exists()));
    fs::write(go, "").unwrap();
    let ran = running.finish();
    tmux.assert_nothing_left();
    let outcomes: Vec<Value> = ran.json()["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["outcome"].clone())
        .collect();
    assert_eq!(outcomes, ["cancelled", "completed"], "{ran:?}");
}

#[test]
fn a_server_that_is_told_to_end_cancels_the_run() {
    let tmux = TmuxWorld::new();
    let running = tmux.start_working();
    tmux.tmux(&["kill-server"]);
    let ran = running.finish();
    tmux.assert_nothing_left_outside();
    assert_cancelled(&tmux, &ran, 1);
}

#[test]
fn a_server_that_is_killed_cancels_the_run() {
    let tmux = TmuxWorld::new();
    let running = tmux.start_working();
    kill_process(tmux.server, Signal::KILL).unwrap();
    let ran = running.finish();
    tmux.assert_nothing_left_outside();
    assert_cancelled(&tmux, &ran, 1);
}

#[test]
fn a_supervisor_that_is_killed_leaves_no_pane() {
    let tmux = TmuxWorld::new();
    let running = tmux.start_working();
    kill_process(process(&tmux.world.processes(), " supervise "), Signal::KILL).unwrap();
    let ran = running.finish();
    // Also not the command that has moved to a session of its own and emptied its environment.
    tmux.assert_nothing_left();
    let task = ran.task();
    assert_eq!(
        (&task["outcome"], &task["output"]),
        (&json!("interrupted"), &json!("working on it"))
    );
    assert_eq!(task["error"], "Interrupted: the supervisor of this run died");
    let said = "assistant toolUse \"working on it\"";
    assert_eq!(events(&ran.run_dir()), ["run_started", said, "ended interrupted"]);
    assert_only_known_files(&ran.run_dir());
}

#[test]
fn a_viewer_that_somebody_has_stopped_does_not_stay() {
    let tmux = TmuxWorld::new();
    let (shown, go) = (tmux.world.path("shown"), tmux.world.path("go"));
    let running = tmux.start(&json!([{"touch": shown}, {"await": go}, {"say": "bye"}]), &[]);
    wait_until(|| shown.exists());
    kill_process(process(&tmux.viewers(), "view"), Signal::STOP).unwrap();
    fs::write(go, "").unwrap();
    let ran = running.finish();
    tmux.assert_nothing_left();
    assert_eq!((ran.code, &ran.task()["output"]), (Some(0), &json!("bye")));
}

/// Starts the working run from a program that really runs in a pane. Its name is returned.
fn start_in_a_pane(tmux: &TmuxWorld) -> String {
    let agent = tmux.world.agent(&tmux.working_script());
    let command = tmux.world.command(["run", "--json", "--agent", &agent, "do it"]);
    let mut arguments = vec!["new-window".to_owned(), "-d".to_owned()];
    arguments.extend(["-P", "-F", "#{pane_id}", "-c"].map(str::to_owned));
    arguments.push(tmux.world.project().display().to_string());
    for (name, value) in command.get_envs() {
        let (name, value) = (name.to_str().unwrap(), value.unwrap().to_str().unwrap());
        arguments.extend(["-e".to_owned(), format!("{name}={value}")]);
    }
    arguments.push("--".to_owned());
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    arguments.extend(words.map(|word| word.to_str().unwrap().to_owned()));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let pane = tmux.tmux(&arguments).trim().to_owned();
    tmux.await_working();
    pane
}

#[test]
fn closing_the_window_of_the_caller_and_its_runs_ends_everything() {
    let tmux = TmuxWorld::new();
    let caller = start_in_a_pane(&tmux);
    let window = |pane: &str| tmux.tmux(&["display-message", "-p", "-t", pane, "#{window_id}"]);
    assert!(tmux.new_panes().iter().all(|pane| window(pane) == window(&caller)));
    assert_ne!(window(&caller), window(CALLER));
    tmux.tmux(&["kill-window", "-t", &caller]);
    wait_until(|| tmux.of_runs().is_empty());
    wait_until(|| tmux.viewers().is_empty());
    tmux.assert_nothing_left();
    assert_eq!(tmux.result()["outcome"], "cancelled");
    assert_eq!(events(&tmux.world.only_run()), stopped("cancelled", "cancelled signal 15"));
}

#[test]
fn a_server_that_is_killed_with_the_caller_in_it_ends_everything() {
    let tmux = TmuxWorld::new();
    start_in_a_pane(&tmux);
    kill_process(tmux.server, Signal::KILL).unwrap();
    wait_until(|| tmux.of_runs().is_empty());
    wait_until(|| tmux.viewers().is_empty());
    tmux.assert_nothing_left_outside();
    assert_eq!(tmux.result()["outcome"], "cancelled");
    assert_eq!(events(&tmux.world.only_run()), stopped("cancelled", "cancelled signal 15"));
}
