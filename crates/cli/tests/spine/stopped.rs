//! Supervisors that another program stops: most likely their own agent, so that no rule ends it.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json};
use test_support::{Ran, Running, World, wait_until};

use super::events::{assert_only_known_files, events};
use super::world;

/// Plays an agent that says something, does this to its supervisor, and never ends by itself.
fn play_attack(world: &World, attack: &Value, arguments: &[&str]) -> Ran {
    let script = json!([
        {"message": {"text": "working on it", "stop": "toolUse"}},
        {"await": world.path("go")},
        attack,
        "hang",
    ]);
    let running = world.start(&script, arguments);
    let has_said = |run: &PathBuf| {
        let events = std::fs::read_to_string(run.join("events.jsonl")).unwrap_or_default();
        events.contains("working on it")
    };
    wait_until(|| world.runs().first().is_some_and(has_said));
    world.let_go();
    let ran = running.finish();
    world.assert_nothing_left();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_only_known_files(&world.only_run());
    ran
}

#[test]
fn a_supervisor_that_its_agent_stops_is_woken_and_the_timeout_holds() {
    let world = world();
    let ran = play_attack(&world, &json!("stop_parent"), &["--timeout", "1"]);
    assert_eq!(ran.task()["outcome"], "timeout", "{ran:?}");
    assert_eq!(ran.task()["output"], "working on it");
    assert_eq!(
        events(&world.only_run()),
        [
            "run_started",
            "assistant toolUse \"working on it\"",
            "stopping timeout",
            "ended timeout signal 15"
        ]
    );
}

fn a_supervisor_that_cannot_be_woken(attack: &Value) {
    let world = world();
    let ran = play_attack(&world, attack, &["--timeout", "600"]);
    let task = ran.task();
    assert_eq!(task["outcome"], "interrupted", "{ran:?}");
    assert_eq!(
        task["error"],
        "Interrupted: another program kept stopping the supervisor of this run, so it was killed"
    );
    assert_eq!(task["output"], "working on it");
    assert_eq!(
        events(&world.only_run()),
        ["run_started", "assistant toolUse \"working on it\"", "ended interrupted"]
    );
}

#[test]
fn a_supervisor_that_is_stopped_again_and_again_is_killed() {
    a_supervisor_that_cannot_be_woken(&json!("hold_parent"));
}

/// Whether this user may debug processes that hide from their own user.
fn may_trace_all() -> bool {
    const CAP_SYS_PTRACE: u64 = 1 << 19;
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap();
    u64::from_str_radix(capabilities.trim(), 16).unwrap() & CAP_SYS_PTRACE != 0
}

#[test]
fn a_supervisor_that_a_debugger_holds_is_killed_and_most_users_cannot_hold_it() {
    if may_trace_all() {
        a_supervisor_that_cannot_be_woken(&json!("trace_parent"));
    } else {
        let ran = world().play(&json!(["trace_parent"]), &[]);
        assert!(ran.task()["error"].to_string().contains("Operation not permitted"), "{ran:?}");
    }
}

/// A batch system, or a user, stops all processes of a job and continues them one after another.
#[test]
fn a_job_that_is_stopped_as_a_whole_goes_on_when_its_caller_does() {
    let world = world();
    let running = world.start(&world.working(), &[]);
    wait_until(|| world.path("working").exists());
    let supervisor = world.supervisor();
    running.signal(Signal::STOP);
    kill_process(supervisor, Signal::STOP).unwrap();
    world.let_go();
    // Longer than a caller that runs would tolerate a supervisor that does not.
    let pause = Instant::now();
    wait_until(|| pause.elapsed() > Duration::from_secs(7));
    running.signal(Signal::CONT);
    let ran = running.finish();
    world.assert_nothing_left();
    assert_eq!((ran.code, &ran.task()["outcome"]), (Some(0), &json!("completed")), "{ran:?}");
    assert_eq!((&ran.task()["output"], &ran.task()["warnings"]), (&json!("found it"), &json!([])));
}

/// Ctrl-Z reaches the group of the caller, in which no supervisor is.
#[test]
fn ctrl_z_stops_the_caller_alone() {
    let world = world();
    let mut command = world.play_command(&world.working(), &[]);
    command.process_group(0);
    let running = Running::start(command);
    wait_until(|| world.path("working").exists());
    let group = Pid::from_raw(i32::try_from(running.pid()).unwrap()).unwrap();
    kill_process_group(group, Signal::TSTP).unwrap();
    wait_until(|| {
        let stat = std::fs::read_to_string(format!("/proc/{group}/stat")).unwrap();
        stat.contains(") T ")
    });
    world.let_go();
    // The agent works on to its end, and its result waits for the caller.
    wait_until(|| world.only_run().join("result.json").exists());
    running.signal(Signal::CONT);
    let ran = running.finish();
    world.assert_nothing_left();
    assert_eq!((ran.code, &ran.task()["output"]), (Some(0), &json!("found it")), "{ran:?}");
    assert_eq!(ran.task()["warnings"], json!([]));
}
