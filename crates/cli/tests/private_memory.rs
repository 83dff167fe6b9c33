//! What other processes of the user see of the processes that hold a key: nothing.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::{Signal, geteuid, kill_process};
use serde_json::json;
use test_support::{Ran, Running, World, kill_and_wait, wait_until};

use crate::builtin::bash;
use crate::builtin::harness::{Api, Builtin};
use crate::world;

/// The same command for a user without privileges. Root may look into every process, so that the rights
/// to do so are taken from it, also from everything that the command starts.
fn unprivileged(command: &Command) -> Command {
    let rights = "-sys_ptrace,-sys_admin,-perfmon";
    let (bounds, inherited) = (format!("--bounding-set={rights}"), format!("--inh-caps={rights}"));
    let without = ["setpriv", &bounds, &inherited, "--"];
    let wrapper = if geteuid().is_root() { without.as_slice() } else { &["env"] };
    World::behind(wrapper, command)
}

/// The same command with a soft limit of core dumps that permits them.
fn with_core_dumps(command: &Command) -> Command {
    World::behind(&["/bin/sh", "-c", "ulimit -c unlimited && exec \"$0\" \"$@\""], command)
}

fn with_key(world: World) -> World {
    let profile =
        "---\nname: keyed\nprovider: acme\nmodel: acme/one\napiKey: sk-secret-0123456789\n---\n";
    world.with_agent_file("agent-profiles/keyed.md", profile)
}

/// The names of files in a directory that may be core dumps.
fn core_dumps(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("core")).collect()
}

#[test]
fn an_agent_sees_nothing_of_the_memory_of_its_supervisor() {
    let world = world();
    let script = json!([{"tell": "ways_into_parent"}]);
    let ran = Ran::from(unprivileged(&world.play_command(&script, &[])).output().unwrap());
    world.assert_nothing_left();
    assert_eq!((ran.code, &ran.task()["output"]), (Some(0), &json!("none")), "{ran:?}");
    assert_eq!(ran.task()["outcome"], "completed");
}

#[test]
fn a_command_sees_nothing_of_the_memory_of_the_built_in_agent() {
    let look =
        "for file in environ mem maps; do head -c 1 /proc/$PPID/$file && echo open; done 2>&1";
    let builtin = Builtin::new(Api::ALL[0], &json!([bash(look), {"text": "{{result:0}}"}]));
    let command = builtin.world.command([
        "run",
        "--json",
        "--agent",
        "builtin",
        "--model",
        "fake/fake-1",
        "go",
    ]);
    let ran = Ran::from(unprivileged(&command).output().unwrap());
    builtin.world.assert_nothing_left();
    let seen = ran.task()["output"].as_str().unwrap().to_owned();
    assert_eq!(seen.matches("Permission denied").count(), 3, "{ran:?}");
    assert!(!seen.contains("open\n"), "{seen}");
}

/// It is found by its arguments, because its environment is hidden.
#[test]
fn a_supervisor_that_hides_is_found_by_its_own_user() {
    let world = world().with_scout();
    let agent = world.agent(&world.working());
    let start = ["bg", "start", "--preset", "scout", "--agent", &agent, "look around"];
    let started = Ran::from(unprivileged(&world.command(start)).output().unwrap());
    let id = started.stdout.trim();
    wait_until(|| world.path("working").exists());
    kill_process(world.supervisor(), Signal::STOP).unwrap();
    let stop = world.command(["bg", "stop", "--json", id]);
    let stopped = Ran::from(unprivileged(&stop).output().unwrap());
    world.assert_nothing_left();
    let run = &stopped.json()["runs"][0];
    assert_eq!((stopped.code, &run["status"]), (Some(0), &json!("aborted")), "{stopped:?}");
    assert_eq!(run["left"], 0);
    assert_eq!(run["error"], "Cancelled before it had finished", "it was woken, not killed");
}

/// A process that hides its environment may be one that another run has left. Supervisors hide theirs
/// for a better reason.
#[test]
fn the_supervisor_of_another_run_is_not_taken_for_a_leftover() {
    let world = world().with_scout();
    let agent = world.agent(&world.working());
    let start = || {
        let start = ["bg", "start", "--preset", "scout", "--agent", &agent, "look around"];
        let started = Ran::from(unprivileged(&world.command(start)).output().unwrap());
        started.stdout.trim().to_owned()
    };
    let killed = start();
    wait_until(|| world.path("working").exists());
    let supervisor = world.supervisor();
    let other = start();
    kill_and_wait(supervisor);
    let stop = world.command(["bg", "stop", "--json", &killed]);
    let stopped = Ran::from(unprivileged(&stop).output().unwrap());
    let run = &stopped.json()["runs"][0];
    assert_eq!((&run["outcome"], &run["left"]), (&json!("interrupted"), &json!(0)), "{stopped:?}");
    assert_eq!((&run["unsurePids"], &run["warnings"]), (&json!(null), &json!(null)), "{stopped:?}");
    world.let_go();
    let waited = world.run(&["bg", "wait", &other]);
    assert_eq!((waited.code, waited.stdout.as_str()), (Some(0), "found it\n"), "{waited:?}");
    world.wait_until_nothing_is_left();
}

#[test]
fn a_supervisor_that_crashes_leaves_no_core_dump() {
    let world = world();
    let script = json!([{"touch": world.path("working")}, "hang"]);
    let mut command = with_core_dumps(&world.play_command(&script, &[]));
    command.current_dir(world.project());
    let running = Running::start(command);
    wait_until(|| world.path("working").exists());
    kill_process(world.supervisor(), Signal::ABORT).unwrap();
    let ran = running.finish();
    world.assert_nothing_left();
    assert_eq!(ran.task()["outcome"], "interrupted", "{ran:?}");
    assert_eq!(core_dumps(&world.project()), [""; 0]);
}

#[test]
fn an_agent_with_a_key_leaves_no_core_dump_and_another_one_may() {
    let world = with_key(world());
    let agent = world.agent(&json!([{"tell": "limits"}]));
    let limit = |arguments: &[&str]| {
        let all = [&["run", "--json", "--agent", &agent], arguments, &["go"]].concat();
        let ran = Ran::from(with_core_dumps(&world.command(all)).output().unwrap());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let said = ran.task()["output"].as_str().unwrap().to_owned();
        said.split_once(',').unwrap().0.to_owned()
    };
    assert_eq!(limit(&["--profile", "keyed"]), "core 0");
    assert_eq!(limit(&[]), "core unlimited");
    world.assert_nothing_left();
}

/// What the built-in agent starts may leave core dumps; the agent itself, which has the key, does not.
#[test]
fn the_built_in_agent_leaves_no_core_dump() {
    let crash = "ulimit -c; kill -ABRT $PPID";
    let builtin = Builtin::new(Api::ALL[0], &json!([bash(crash), {"text": "not reached"}]));
    let command = builtin.world.command([
        "run",
        "--json",
        "--agent",
        "builtin",
        "--model",
        "fake/fake-1",
        "go",
    ]);
    let ran = Ran::from(with_core_dumps(&command).output().unwrap());
    builtin.world.assert_nothing_left();
    assert_eq!(ran.task()["outcome"], "killed_by_signal", "{ran:?}");
    assert_eq!(core_dumps(&builtin.world.project()), [""; 0]);
}

/// Otherwise the tests of core dumps would show nothing.
#[test]
fn a_program_without_a_key_that_crashes_could_have_left_one() {
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    let world = world();
    let script = json!([{"signal": Signal::ABORT.as_raw()}]);
    let command = with_core_dumps(&world.play_command(&script, &[]));
    let ran = Ran::from({ command }.output().unwrap());
    assert_eq!(ran.task()["outcome"], "killed_by_signal", "{ran:?}");
    let is_file_here = !pattern.starts_with(['/', '|']) && pattern.starts_with("core");
    assert_eq!(!core_dumps(&world.project()).is_empty(), is_file_here, "{pattern}");
    world.assert_nothing_left();
}
