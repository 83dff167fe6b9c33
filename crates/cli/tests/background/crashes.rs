//! Supervisors that are killed, and directories that are copied or vanish.

use std::fs;

use rustix::process::Signal;
use serde_json::json;
use test_support::{Ran, Running, World, wait_until};

use super::{
    LongLivedCaller, has_said, names, run_dir, signal, start, start_working, status,
    wait_for_result, world,
};

/// Checks that the run was not stopped, and ends by itself.
fn assert_goes_on(world: &World, id: &str) {
    assert_eq!(status(world, id)["status"], "running");
    world.let_go();
    wait_for_result(world, id);
    world.wait_until_nothing_is_left();
    assert_eq!(status(world, id)["status"], "completed");
}

#[test]
fn a_killed_supervisor_is_found_out_and_nothing_is_left() {
    let world = world();
    let hidden = json!(["setsid", "ignore_sigterm", {"touch": world.path("hidden")}, "hang"]);
    let script = json!([
        {"message": {"text": "working on it", "stop": "toolUse"}},
        {"spawn": {"steps": hidden}},
        {"await": world.path("hidden")},
        {"touch": world.path("working")},
        "hang",
    ]);
    let id = start(&world, &script);
    wait_until(|| world.path("working").exists() && has_said(&world, &id, "working on it"));
    signal(world.supervisor(), Signal::KILL);
    wait_until(|| world.processes().len() == 1);
    let found = world.run(&["bg", "list", "--all", "--json"]).json();
    world.assert_nothing_left();
    let run = &found["runs"][0];
    assert_eq!((&run["status"], &run["outcome"]), (&json!("failed"), &json!("interrupted")));
    assert_eq!(run["error"], "Interrupted: the supervisor of this run died");
    assert_eq!(run["finalText"], "working on it");
    let told = &found["notifications"];
    assert_eq!(told.as_array().map(Vec::len), Some(1), "{told}");
    assert_eq!(
        told[0]["text"],
        "Background agent scout failed: Interrupted: the supervisor of this run died"
    );
    assert_eq!(world.run(&["bg", "wait", &id]).code, Some(1));
}

#[test]
fn whoever_waits_notices_that_the_supervisor_was_killed() {
    let world = world();
    let id = start_working(&world);
    let waiting = Running::start(world.command(["bg", "wait", &id, "--json"]));
    signal(world.supervisor(), Signal::KILL);
    let waited = waiting.finish();
    assert_eq!((waited.code, &waited.json()["runs"][0]["status"]), (Some(1), &json!("failed")));
    world.assert_nothing_left();
}

#[test]
fn a_killed_foreground_supervisor_does_not_take_background_runs_with_it() {
    let world = world();
    let mut caller = LongLivedCaller::open(&world, "session-1", &world.working());
    let before = caller.ask("background look around");
    wait_until(|| world.path("working").exists());
    let hidden = json!(["setsid", {"touch": world.path("hidden")}, "hang"]);
    let foreground = world.agent(&json!([
        {"spawn": {"steps": hidden, "empty_environment": true}},
        {"await": world.path("hidden")},
        "hang",
    ]));
    let dir = caller.ask(&format!("foreground {foreground}"));
    wait_until(|| world.path("hidden").exists());
    let processes = world.processes();
    let of_foreground = |words: &String| words.contains(" supervise ") && words.contains(&dir);
    let (pid, _) = processes.iter().find(|(_, words)| of_foreground(words)).unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(*pid).unwrap()).unwrap();
    signal(pid, Signal::KILL);
    assert_eq!(caller.ask("finish"), "interrupted");
    let after = caller.ask("background look around");
    let has_hidden = |words: &String| words.contains("hidden");
    let left = world.processes();
    assert!(!left.iter().any(|(_, words)| has_hidden(words)), "{left:#?}");
    assert_eq!(
        [status(&world, &before), status(&world, &after)].map(|run| run["status"].clone()),
        ["running", "running"]
    );
    world.let_go();
    wait_for_result(&world, &before);
    wait_for_result(&world, &after);
    caller.close();
    world.wait_until_nothing_is_left();
    assert_eq!(status(&world, &before)["status"], "completed");
    assert_eq!(status(&world, &after)["status"], "completed");
}

#[test]
fn a_copy_of_the_project_is_neither_stopped_nor_written() {
    let world = world();
    let id = start_working(&world);
    let copy = world.path("copy");
    world.copy_project(&copy);
    let copied = copy.join(".pi/subagents/runs").join(&id);
    let before = names(&copied);
    let in_copy = |arguments: &[&str]| {
        Ran::from(world.command(arguments).current_dir(&copy).output().unwrap())
    };
    let listed = in_copy(&["bg", "list", "--all", "--json"]).json();
    assert_eq!(listed["runs"][0]["status"], "failed", "the copy itself was never run");
    assert_eq!(listed["notifications"], json!([]));
    let stopped = in_copy(&["bg", "stop", &id, "--json"]).json();
    assert_eq!(
        (&stopped["runs"][0]["hadEnded"], &stopped["runs"][0]["left"]),
        (&json!(true), &json!(0))
    );
    assert_eq!(names(&copied), before);
    assert_goes_on(&world, &id);
}

#[test]
fn a_copy_of_hard_links_does_not_stop_its_original() {
    let world = world();
    let id = start_working(&world);
    let copy = world.path("copy").join(".pi/subagents/runs").join(&id);
    fs::create_dir_all(&copy).unwrap();
    for name in names(&run_dir(&world, &id)) {
        fs::hard_link(run_dir(&world, &id).join(&name), copy.join(&name)).unwrap();
    }
    let mut stop = world.command(["bg", "stop", "--now", &id]);
    let ran = Ran::from(stop.current_dir(world.path("copy")).output().unwrap());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("it was started in"), "{ran:?}");
    assert_goes_on(&world, &id);
}

#[test]
fn a_run_goes_with_its_project_when_that_is_moved() {
    let world = world();
    let (stopped, completed) = (start_working(&world), start_working(&world));
    fs::rename(world.project(), world.path("moved")).unwrap();
    let in_moved = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        Ran::from(command.current_dir(world.path("moved")).output().unwrap()).json()
    };
    let run = in_moved(&["bg", "stop", &stopped, "--json"])["runs"][0].clone();
    assert_eq!((&run["status"], &run["left"]), (&json!("aborted"), &json!(0)));
    world.let_go();
    let run = in_moved(&["bg", "wait", &completed, "--json"])["runs"][0].clone();
    assert_eq!((&run["status"], &run["finalText"]), (&json!("completed"), &json!("found it")));
    world.wait_until_nothing_is_left();
    let kept = world.path("moved/.pi/subagents/runs").join(&stopped);
    assert!(names(&kept).contains(&"result.json".to_owned()));
    assert!(!world.project().exists(), "it does not come back");
}

#[test]
fn a_run_whose_directory_is_deleted_is_stopped_and_waiting_programs_end() {
    let world = world();
    let id = start_working(&world);
    let waiting = Running::start(world.command(["bg", "wait", &id]));
    let following = Running::start(world.command(["bg", "logs", "-f", &id]));
    fs::remove_dir_all(run_dir(&world, &id)).unwrap();
    let waited = waiting.finish();
    // Either of them may have begun after the directory was gone.
    assert!(matches!(waited.code, Some(1 | 2)), "{waited:?}");
    let followed = following.finish();
    assert!(matches!(followed.code, Some(1 | 2)), "{followed:?}");
    let listed = world.run(&["bg", "list", "--all", "--json"]).json();
    assert_eq!(listed["counts"]["total"], 0);
    assert_eq!(world.run(&["bg", "status", &id]).code, Some(2));
    world.wait_until_nothing_is_left();
    assert!(!run_dir(&world, &id).exists(), "it does not come back");
}
