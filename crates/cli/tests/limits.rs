//! The limit of processes of a user. It does not bind root, so `cargo xtask test` runs these tests where root
//! can become another user.

#![expect(clippy::unwrap_used, reason = "this is how a test fails")]

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use test_support::{Program, Ran, RpcClient, Running, World, wait_until};

/// A user who has no other processes than those of one test.
struct User {
    world: World,
    id: u32,
}

impl User {
    fn new() -> User {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let world = World::new(Program {
            pi_subagents: env!("CARGO_BIN_EXE_pi-subagents"),
            fake_agent: env!("CARGO_BIN_EXE_fake-agent"),
        });
        let id = 61_000 + std::process::id() % 2_000 + NEXT.fetch_add(1, Ordering::Relaxed);
        User { world, id }
    }

    /// The command of this user, who can have so many processes and threads.
    fn command(&self, processes: u32, command: &Command) -> Command {
        give(&self.world.path(""), self.id);
        let (user, group) = (format!("--reuid={}", self.id), format!("--regid={}", self.id));
        let limit = format!("--nproc={processes}");
        let wrapper = ["setpriv", &user, &group, "--clear-groups", "prlimit", &limit, "--"];
        World::behind(&wrapper, command)
    }

    /// The supervisor of the run with this name.
    fn supervisor_of(&self, name: &str) -> Pid {
        let is_named = |run: &&std::path::PathBuf| {
            let meta: Value =
                serde_json::from_slice(&fs::read(run.join("meta.json")).unwrap()).unwrap();
            meta["name"] == json!(name)
        };
        let runs = self.world.runs();
        let run = runs.iter().find(is_named).unwrap().to_str().unwrap();
        let processes = self.world.processes();
        let is_its = |words: &str| words.contains(" supervise ") && words.contains(run);
        let (pid, _) = processes.iter().find(|(_, words)| is_its(words)).unwrap();
        Pid::from_raw(i32::try_from(*pid).unwrap()).unwrap()
    }
}

fn give(path: &Path, user: u32) {
    let metadata = path.symlink_metadata().unwrap();
    if metadata.uid() != user {
        chown(path, Some(user), Some(user)).unwrap();
    }
    if metadata.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path(), user);
        }
    }
}

/// A fork bomb within the limit, in a session of its own. It outlives the agent, and takes every process
/// that becomes free.
fn attack(world: &World) -> Value {
    let fill = json!(["setsid", {"fill_processes": world.path("full")}]);
    json!([{"message": {"text": "working on it", "stop": "toolUse"}}, {"spawn": {"steps": fill}}, "hang"])
}

#[test]
fn probe() {
    let user = User::new();
    let ran =
        user.command(1, &user.world.command_of("/bin/sh")).arg("-c").arg("true & wait").output();
    let ran = Ran::from(ran.unwrap());
    assert!(ran.stderr.contains("fork"), "the limit of processes does not bind: {ran:?}");
}

#[test]
fn a_supervisor_killed_at_the_limit_of_processes_ends_its_run() {
    for command in ["run", "delegate"] {
        let user = User::new();
        let world = &user.world;
        let agent = world.agent(&attack(world));
        fs::write(world.path("tasks.json"), r#"{"tasks": [{"name": "task", "prompt": "go"}]}"#)
            .unwrap();
        let tasks = world.path("tasks.json");
        let last = if command == "run" { "go" } else { tasks.to_str().unwrap() };
        let command = world.command([command, "--json", "--agent", &agent, last]);
        let running = Running::start(user.command(60, &command));
        wait_until(|| world.path("full").exists());
        kill_process(user.supervisor_of("task"), Signal::KILL).unwrap();
        let ran = running.finish();
        world.assert_nothing_left();
        assert_eq!(ran.code, Some(1), "{ran:?}");
        let task = ran.task();
        assert_eq!(task["outcome"], "interrupted", "{ran:?}");
        assert_eq!(task["output"], "working on it");
        assert_eq!(task["error"], "Interrupted: the supervisor of this run died");
    }
}

#[test]
fn a_server_at_the_limit_of_processes_survives_and_so_does_an_innocent_run() {
    let user = User::new();
    let world = &user.world;
    let innocent =
        json!([{"touch": world.path("working")}, {"await": world.path("go")}, {"say": "done"}]);
    let prompt = |script: &Value| format!("<<SCRIPT>>{script}<<END>>");
    let agent = json!([env!("CARGO_BIN_EXE_fake-agent"), "-"]).to_string();
    let mut command = user.command(60, &world.command(["mcp"]));
    command.env("PI_SUBAGENTS_AGENT", agent);
    let mut server = RpcClient::start(command);
    server.request(
        "initialize",
        &json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "a test", "version": "1"},
        }),
    );
    server.notify("notifications/initialized", &json!({}));
    let tasks = json!({"tasks": [{"name": "innocent", "prompt": prompt(&innocent)}]});
    let call = |tasks: &Value| json!({"name": "delegate_to_subagents", "arguments": tasks});
    let good = server.start_request("tools/call", &call(&tasks));
    wait_until(|| world.path("working").exists());
    let tasks = json!({"tasks": [{"name": "bad", "prompt": prompt(&attack(world))}]});
    let bad = server.start_request("tools/call", &call(&tasks));
    wait_until(|| world.path("full").exists());
    // What needs a thread is answered without one.
    let listed = server.request("resources/list", &json!({}));
    assert_eq!(listed["result"]["resources"].as_array().map(Vec::len), Some(4), "{listed}");
    kill_process(user.supervisor_of("bad"), Signal::KILL).unwrap();
    let answer = server.response(bad);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("the supervisor of this run died"), "{answer}");
    fs::write(world.path("go"), "").unwrap();
    let answer = server.response(good);
    assert_eq!(answer["result"]["isError"], json!(false), "{answer}");
    let ran = server.close();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    world.assert_nothing_left();
}

/// Each run needs two processes at least, so that six of them fit at a time.
#[test]
fn tasks_wait_until_there_is_room_for_another_process() {
    let user = User::new();
    let world = &user.world;
    let agent = world.agent(&json!([{"sleep_ms": 200}, {"say": "done"}]));
    fs::write(world.path("tasks.json"), test_support::fake_agent::tasks(20).to_string()).unwrap();
    let tasks = world.path("tasks.json");
    let arguments = ["delegate", "--json", "--concurrency", "20", "--agent", &agent];
    let mut command = world.command(arguments);
    command.arg(tasks);
    let ran = Ran::from(user.command(13, &command).output().unwrap());
    world.assert_nothing_left();
    let document = ran.json();
    for task in document["tasks"].as_array().unwrap() {
        assert_eq!(
            (&task["outcome"], &task["output"]),
            (&json!("completed"), &json!("done")),
            "{task}"
        );
    }
    assert_eq!((ran.code, world.runs().len()), (Some(0), 20), "{ran:?}");
}

#[test]
fn a_task_for_which_there_is_never_room_fails() {
    let user = User::new();
    let world = &user.world;
    let ran = Ran::from(user.command(2, &world.play_command(&json!([]), &[])).output().unwrap());
    world.assert_nothing_left();
    let task = ran.task();
    assert_eq!((ran.code, &task["outcome"]), (Some(1), &json!("spawn_failure")), "{ran:?}");
    let error = task["error"].as_str().unwrap();
    assert!(error.contains("Resource temporarily unavailable"), "{error}");
    assert!(world.only_run().join("result.json").exists());
}
