//! Starters that are killed, and terminals that are closed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal};
use serde_json::json;
use test_support::{Ran, World, pseudo_terminal, wait_until};

use super::{
    LongLivedCaller, names, run_dir, signal, start_command, status, wait_for_result, world,
};

#[test]
fn the_starter_is_killed_and_the_run_completes_and_its_owner_is_told_once() {
    let world = world();
    let mut command = start_command(&world, &world.working(), &["--name", "tour"]);
    let mut starter = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut id = String::new();
    BufReader::new(starter.stdout.take().unwrap()).read_line(&mut id).unwrap();
    signal(Pid::from_child(&starter), Signal::KILL);
    starter.wait().unwrap();
    let id = id.trim();

    let running = status(&world, id);
    assert_eq!((&running["status"], &running["runId"]), (&json!("running"), &json!(id)));
    assert_eq!((&running["task"], &running["name"]), (&json!("look around"), &json!("tour")));
    let early = world.run(&["bg", "list"]);
    assert!(!early.stderr.contains("Background agent"), "{early:?}");
    world.let_go();
    wait_for_result(&world, id);
    world.wait_until_nothing_is_left();

    let told = told_at_once(&world, 8);
    assert_eq!(told, [format!("Background agent tour finished: found it ({id})")]);
    assert_eq!(told_at_once(&world, 2), [""; 0], "once, ever");
    let ended = status(&world, id);
    assert_eq!((&ended["status"], &ended["finalText"]), (&json!("completed"), &json!("found it")));
    assert_eq!((&ended["exitCode"], &ended["stopReason"]), (&json!(0), &json!("stop")));
    assert_only_its_directory_is_left(&world, id);
}

/// The notifications that so many programs print when they ask at once.
fn told_at_once(world: &World, programs: usize) -> Vec<String> {
    let asked: Vec<_> = (0..programs)
        .map(|number| if number % 2 == 0 { "list" } else { "status" })
        .map(|word| test_support::Running::start(world.command(["bg", word])))
        .collect();
    let said = asked.into_iter().map(|asked| asked.finish().stderr);
    let lines = said.flat_map(|said| said.lines().map(str::to_owned).collect::<Vec<_>>());
    lines.filter(|line| line.starts_with("Background agent")).collect()
}

fn assert_only_its_directory_is_left(world: &World, id: &str) {
    let runs = run_dir(world, id);
    assert_eq!(names(runs.parent().unwrap()), [".gitignore", id]);
    assert_eq!(
        names(&runs),
        [
            "child-session.jsonl",
            "events.jsonl",
            "meta.json",
            "notified",
            "prompt.md",
            "result.json",
            "stderr.log",
            "stdout.log",
            "transcript.log",
        ]
    );
    assert_eq!(names(&world.path("")), ["go", "home", "project", "working"]);
    assert_eq!(names(&world.project()), [".git", ".pi"]);
}

/// A script that starts runs under a lock must not keep the lock until they end.
#[cfg(target_os = "linux")]
#[test]
fn nothing_that_the_starter_has_inherited_is_kept() {
    let world = world();
    let lock = fs::canonicalize(world.path("")).unwrap().join("lock");
    let script = format!("exec 9>'{}'; exec \"$@\"", lock.display());
    let command = start_command(&world, &world.working(), &[]);
    let mut command = World::behind(&["sh", "-c", &script, "sh"], &command);
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    wait_until(|| world.path("working").exists());
    for (pid, words) in world.processes() {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        let mut open = open.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
        assert!(open.all(|target| target != lock), "{words}");
    }
    world.let_go();
    wait_for_result(&world, ran.stdout.trim());
    world.wait_until_nothing_is_left();
}

/// Servers that ignore the end of their children start programs like this.
#[cfg(target_os = "linux")]
#[test]
fn the_end_of_an_agent_is_noticed_although_the_starter_ignores_the_end_of_children() {
    let world = world();
    let command = start_command(&world, &json!(["start", {"exit": 3}]), &[]);
    // Not by a shell: not every shell passes this on.
    let ignoring = ["env", "--ignore-signal=CHLD"];
    let ran = Ran::from(World::behind(&ignoring, &command).output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let waited = world.run(&["bg", "wait", ran.stdout.trim(), "--timeout", "20", "--json"]).json();
    let run = &waited["runs"][0];
    assert_eq!((&run["outcome"], &run["exitCode"]), (&json!("non_zero_exit"), &json!(3)), "{run}");
    world.wait_until_nothing_is_left();
}

#[test]
fn a_program_that_stays_is_killed_and_its_runs_complete() {
    let world = world();
    let mut caller = LongLivedCaller::open(&world, "session-1", &world.working());
    let id = caller.ask("background look around");
    wait_until(|| world.path("working").exists());
    caller.kill();
    world.let_go();
    wait_for_result(&world, &id);
    world.wait_until_nothing_is_left();
    assert_eq!(status(&world, &id)["status"], "completed", "every program finds it");
    let meta: serde_json::Value =
        serde_json::from_slice(&fs::read(run_dir(&world, &id).join("meta.json")).unwrap()).unwrap();
    assert_eq!(meta["owner"], json!({"kind": "pi", "id": "session-1"}));
    assert_eq!(meta["lifetime"], "background");
    // It does not belong to the shell, so only `--everyone` lists it.
    let own = world.run(&["bg", "list", "--all", "--json"]).json();
    assert_eq!((&own["runs"], &own["counts"]["total"]), (&json!([]), &json!(0)));
    let all = world.run(&["bg", "list", "--all", "--everyone", "--json"]).json();
    assert_eq!((&all["runs"][0]["runId"], &all["counts"]["total"]), (&json!(id), &json!(1)));
    assert_eq!(all["notifications"], json!([]), "the shell takes only its own");
    assert!(!run_dir(&world, &id).join("notified").exists());
}

#[test]
fn a_closed_terminal_does_not_end_a_run() {
    let world = world();
    let (terminal, inside) = pseudo_terminal::open(80, 24).unwrap();
    // A shell that owns the terminal, starts a run, and stays.
    let line = "\"$@\" && exec sleep 1000";
    let start = start_command(&world, &world.working(), &[]);
    let mut shell = World::behind(&["setsid", "--ctty", "sh", "-c", line, "sh"], &start);
    shell.stdin(inside.try_clone().unwrap()).stdout(inside.try_clone().unwrap()).stderr(inside);
    let mut shell = shell.spawn().unwrap();
    wait_until(|| world.path("working").exists());
    let has_sleep = || world.processes().iter().any(|(_, words)| words.starts_with("sleep"));
    wait_until(has_sleep);
    assert!(terminal_of(Pid::from_child(&shell)).1, "the shell has the terminal");
    let supervisor = world.supervisor();
    let raw = supervisor.as_raw_nonzero().get();
    assert_eq!(terminal_of(supervisor), (raw, false), "a session of its own, without a terminal");

    drop(terminal);
    wait_until(|| !has_sleep());
    shell.wait().unwrap();
    world.let_go();
    let id = names(&world.project().join(".pi/subagents/runs")).pop().unwrap();
    wait_for_result(&world, &id);
    world.wait_until_nothing_is_left();
    assert_eq!(status(&world, &id)["finalText"], "found it");
}

/// The session of a process, and whether it has a terminal.
fn terminal_of(pid: Pid) -> (i32, bool) {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap();
    let fields: Vec<i32> = stat
        .rsplit_once(") ")
        .unwrap()
        .1
        .split_whitespace()
        .skip(1)
        .take(4)
        .map(|field| field.parse().unwrap())
        .collect();
    (fields[2], fields[3] != 0)
}

#[test]
fn command_substitution_does_not_wait_for_the_run() {
    let world = world();
    let line = "id=$(\"$@\" 2>&1) && echo \"$id\" && touch \"$GO\"";
    let start = start_command(&world, &world.working(), &[]);
    let mut shell = World::behind(&["sh", "-c", line, "sh"], &start);
    let ran = Ran::from(shell.env("GO", world.path("go")).output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let id = ran.stdout.lines().next().unwrap();
    wait_for_result(&world, id);
    world.wait_until_nothing_is_left();
}
