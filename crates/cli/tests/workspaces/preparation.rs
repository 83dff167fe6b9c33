//! The command that prepares a worktree before its agent: it is contained, bounded and stopped like the agent, and where it
//! fails no agent works.

use rustix::process::{Pid, Signal};
use test_support::{kill_and_wait, wait_until, write_file};

use super::*;

/// A profile of the user with these lines.
fn profile(world: &World, name: &str, lines: &str) {
    let text = format!("---\nname: {name}\nisolation: worktree\n{lines}\n---\n");
    write_file(&world.agent_dir().join(format!("agent-profiles/{name}.md")), &text);
}

/// A repository, and a profile `p` whose preparation is this command.
fn prepared(command: &str) -> World {
    let world = repository();
    profile(&world, "p", &format!("prepare: {}", json!(command)));
    world
}

fn outcome(task: &Value) -> (&str, &str) {
    (task["outcome"].as_str().unwrap(), task["error"].as_str().unwrap_or_default())
}

fn read(path: PathBuf) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn it_runs_in_the_new_worktree_before_the_agent_and_the_check_after_it() {
    let world = prepared("echo installing; echo to-stderr >&2; mkdir deps; pwd > deps/where.log");
    write(&world, "dirty.txt", "dirty\n");
    let before = Untouched::of(&world);
    let command = "cat deps/where.log > found.txt; pwd >> found.txt; cat dirty.txt >> found.txt";
    let arguments = ["--profile", "p", "--check", "pwd > checked.log; cat checked.log found.txt"];
    let ran = world.play(&shell(command), &arguments);
    let task = ran.task();
    assert_eq!(outcome(&task), ("completed", ""), "{ran:?}");
    let id = task["runId"].as_str().unwrap();
    let tree = worktrees(&world).join(id).display().to_string();
    assert_eq!(kept(&world, id, "found.txt"), format!("{tree}\n{tree}\ndirty"));
    assert_eq!(task["check"]["output"], format!("{tree}\n{tree}\n{tree}\ndirty"));
    assert_eq!(read(ran.run_dir().join("prepare.log")), "installing\nto-stderr\n");
    let transcript = read(ran.run_dir().join("transcript.log"));
    assert!(transcript.contains("Preparing: echo installing; "), "{transcript}");
    assert!(transcript.contains("\nPrepared\n"), "{transcript}");
    assert_eq!(Untouched::of(&world), before);
    assert_eq!(left(&world), Vec::<String>::new());
    world.assert_nothing_left();
}

#[test]
fn its_failure_is_the_tasks_and_no_agent_works() {
    let world = prepared("seq 20; echo no such package; exit 7");
    let before = Untouched::of(&world);
    let ran = world.play(&shell("touch ../agent-ran"), &["--profile", "p"]);
    let task = ran.task();
    let error = "The preparation `seq 20; echo no such package; exit 7` failed (exit code 7): \
                 17 | 18 | 19 | 20 | no such package";
    assert_eq!((ran.code, outcome(&task)), (Some(1), ("spawn_failure", error)), "{ran:?}");
    assert!(read(ran.run_dir().join("prepare.log")).starts_with("1\n2\n"));
    assert!(!worktrees(&world).join("agent-ran").exists());
    assert_eq!(task["changes"], Value::Null);
    assert_eq!(Untouched::of(&world), before);
    assert_eq!(left(&world), Vec::<String>::new());
    assert_eq!(git(&world, &["for-each-ref", "refs/pi-subagents"]), "");
    world.assert_nothing_left();
}

#[test]
fn one_that_hangs_is_killed_with_all_that_it_started() {
    let world = repository();
    let command = "setsid sleep 100000 & trap '' TERM; echo waiting; sleep 100000; sleep 100000";
    profile(&world, "p", &format!("prepare: {}\nprepareTimeout: 1", json!(command)));
    let task = world.play(&shell("true"), &["--profile", "p"]).task();
    let (outcome, error) = outcome(&task);
    assert_eq!(outcome, "spawn_failure", "{task}");
    assert!(error.ends_with("failed (stopped after 1 s, its timeout): waiting"), "{error}");
    world.assert_nothing_left();
    assert_eq!(left(&world), Vec::<String>::new());
}

#[test]
fn what_it_leaves_running_is_stopped_before_the_agent_starts() {
    let world = prepared(
        "setsid sh -c 'echo $$ > pid.log; exec sleep 100000' >/dev/null 2>&1 & \
         until [ -s pid.log ]; do sleep 0.01; done",
    );
    let command = "kill -0 $(cat pid.log) 2>/dev/null && echo alive > alive.txt; true";
    let task = world.play(&shell(command), &["--profile", "p"]).task();
    assert_eq!(outcome(&task), ("completed", ""), "{task}");
    let counted = [&task["changes"]["files"], &task["changes"]["ignored"]];
    assert_eq!(counted, [0, 1], "{task}");
    world.assert_nothing_left();
}

#[test]
fn what_it_prints_is_cleaned_redacted_and_cut_and_it_gets_no_key() {
    let world = repository();
    let secret = "\u{1b}[31msk-secret-\u{1b}[0m0123456789\n";
    write_file(&world.project().join("secret.txt"), secret);
    let command = "env; cat secret.txt; exit 1";
    let key = "apiKey: sk-secret-0123456789\nprovider: anthropic\nmodel: m";
    profile(&world, "p", &format!("{key}\nprepare: {}", json!(command)));
    let ran = world.play(&shell("true"), &["--profile", "p"]);
    let error = ran.task()["error"].as_str().unwrap().to_owned();
    assert!(error.ends_with("****") && !error.contains('\u{1b}'), "{error:?}");
    let log = read(ran.run_dir().join("prepare.log"));
    assert!(log.contains("PI_SUBAGENTS_CHILD=1") && !log.contains("PI_API_KEY"), "{log}");
    for name in ["prepare.log", "events.jsonl", "result.json", "transcript.log"] {
        assert!(!read(ran.run_dir().join(name)).contains("0123456789"), "{name}");
    }
    world.assert_nothing_left();
}

/// A preparation that has begun and does not end, with a part in a session of its own.
fn endless(world: &World) -> String {
    let mark = world.path("preparing");
    format!("setsid sleep 100000 & touch {}; sleep 100000; true", mark.display())
}

#[test]
fn a_run_can_be_stopped_while_it_is_prepared() {
    for how in ["interrupt", "bg stop", "caller", "supervisor"] {
        let world = repository();
        profile(&world, "p", &format!("prepare: {}", json!(endless(&world))));
        let before = Untouched::of(&world);
        let agent = world.agent(&shell("true"));
        let preparing = || wait_until(|| world.path("preparing").exists());
        if how == "bg stop" {
            let all = ["bg", "start", "--profile", "p", "--agent", &agent, "go"];
            assert_eq!(world.run(&all).code, Some(0));
            preparing();
            let stopped = world.run(&["bg", "stop", "@last"]);
            assert_eq!(stopped.code, Some(0), "{stopped:?}");
        } else {
            let running = world.start(&shell("true"), &["--profile", "p"]);
            preparing();
            match how {
                "interrupt" => running.signal(Signal::INT),
                "caller" => {
                    kill_and_wait(Pid::from_raw(i32::try_from(running.pid()).unwrap()).unwrap());
                }
                _ => kill_and_wait(world.supervisor()),
            }
            drop(running.finish());
        }
        world.wait_until_nothing_is_left();
        let run = world.only_run();
        wait_until(|| run.join("result.json").exists());
        let result: Value = serde_json::from_str(&read(run.join("result.json"))).unwrap();
        let expected = match how {
            "interrupt" | "bg stop" => "cancelled",
            _ => "interrupted",
        };
        assert_eq!(result["outcome"], expected, "{how}: {result}");
        assert_eq!(Untouched::of(&world), before, "{how}");
        assert_eq!(left(&world), Vec::<String>::new(), "{how}");
    }
}

#[test]
fn a_resumed_run_is_prepared_again_and_a_run_without_a_worktree_is_not() {
    let world = prepared("echo prepared > deps.log");
    let first = world.play(&shell("cat deps.log > first.txt"), &["--profile", "p"]).task();
    let session = first["sessionId"].as_str().unwrap();
    let arguments = ["--resume", session, "--profile", "p"];
    let second = world.play(&shell("cat deps.log > second.txt"), &arguments).task();
    assert_eq!(kept(&world, second["runId"].as_str().unwrap(), "second.txt"), "prepared");
    let plain = "---\nname: plain\nprepare: touch prepared-here\n---\n";
    write_file(&world.agent_dir().join("agent-profiles/plain.md"), plain);
    let ran = world.play(&shell("true"), &["--profile", "plain"]);
    assert_eq!(outcome(&ran.task()), ("completed", ""), "{ran:?}");
    assert!(!world.project().join("prepared-here").exists());
    assert_eq!(left(&world), Vec::<String>::new());
}

#[test]
fn a_project_has_its_preparation_run_only_if_it_is_trusted() {
    let world = repository();
    write_file(
        &world.project().join(".pi/agent-profiles/own.md"),
        "---\nname: own\nisolation: worktree\nprepare: echo ran > prepared.txt\n---\n",
    );
    let refused = world.play(&shell("true"), &["--profile", "own"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("sets \"prepare\", which can run any program"), "{refused:?}");
    let task = world.play(&shell("true"), &["--profile", "own", "--approve"]).task();
    assert_eq!(kept(&world, task["runId"].as_str().unwrap(), "prepared.txt"), "ran");
}
