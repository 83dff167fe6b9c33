//! Tasks of `delegate --on fleet`: agents on a worker, whose events, answers and changes come back.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};
use test_support::{NatsServers, Program, Ran, Running, World, wait_until, write_file};

use super::nats_server;

/// A world with a server, a repository with uncommitted changes, and workers.
struct Fleet {
    world: World,
    servers: NatsServers,
    workers: Vec<Option<Running>>,
}

impl Fleet {
    fn new() -> Fleet {
        let program = Program {
            pi_subagents: env!("CARGO_BIN_EXE_pi-subagents"),
            fake_agent: env!("CARGO_BIN_EXE_fake-agent"),
        };
        let world = World::new(program);
        let servers = NatsServers::one(&nats_server());
        let fleet = Fleet { world, servers, workers: Vec::new() };
        fs::remove_dir(fleet.world.project().join(".git")).unwrap();
        let settings = "[user]\n\tname = Me\n\temail = me@example.org\n";
        fs::write(fleet.world.home().join(".gitconfig"), settings).unwrap();
        fleet.git(&["init", "--quiet", "--initial-branch=main"]);
        write_file(&fleet.world.project().join("a.txt"), "committed\n");
        write_file(&fleet.world.project().join(".gitignore"), ".pi/\n*.log\n");
        fleet.git(&["add", "--all"]);
        fleet.git(&["commit", "--quiet", "-m", "First"]);
        write_file(&fleet.world.project().join("a.txt"), "not committed\n");
        write_file(&fleet.world.project().join("new.txt"), "untracked\n");
        write_file(&fleet.world.project().join("ignored.log"), "ignored\n");
        fleet
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut command = self.world.command_of("git");
        let output = command.current_dir(self.world.project()).args(arguments).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {stderr}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Starts a worker that gives tasks up after two seconds of silence.
    fn worker(&mut self, arguments: &[&str]) -> usize {
        let index = self.workers.len();
        let directory = self.world.path(&format!("worker-{index}"));
        let mut command = self.command(&["worker", "--lease", "2", "--workspace"]);
        command.arg(directory).args(arguments);
        self.workers.push(Some(Running::start(command)));
        index
    }

    /// Ends a worker in the usual way, and waits until it has.
    fn end(&mut self, worker: usize) -> Ran {
        let running = self.workers[worker].take().unwrap();
        running.signal(Signal::TERM);
        running.finish()
    }

    fn end_all(&mut self) {
        (0..self.workers.len()).for_each(|worker| {
            if self.workers[worker].is_some() {
                self.end(worker);
            }
        });
        self.world.wait_until_nothing_is_left();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.world.command(arguments);
        command.env("PI_SUBAGENTS_FLEET", self.servers.url());
        command
    }

    /// A task whose agent plays these turns.
    fn task(&self, name: &str, turns: &Value) -> Value {
        let script = self.world.path(&format!("{name}.json"));
        write_file(&script, &turns.to_string());
        json!({"name": name, "prompt": "Go.", "agent": "builtin", "model": model_of(&script)})
    }

    fn delegate(&self, tasks: &Value) -> Ran {
        let command = self.command(&["delegate", "--on", "fleet", "--concurrency", "16", "--json"]);
        self.world.feed(command, &tasks.to_string())
    }

    /// The run directories of a worker.
    fn runs_of(&self, worker: usize) -> Vec<std::path::PathBuf> {
        let runs = self.world.path(&format!("worker-{worker}/.pi/subagents/runs"));
        fs::read_dir(runs).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    }
}

fn model_of(script: &Path) -> String {
    format!("script/{}", script.display())
}

fn shell(command: &str) -> Value {
    json!({"tools": [{"name": "bash", "args": {"command": command}}]})
}

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
fn a_task_of_a_killed_worker_runs_again_elsewhere_and_counts_once() {
    let mut fleet = Fleet::new();
    let first = fleet.worker(&[]);
    let mark = fleet.world.path("began");
    let command = format!(
        "echo x >> {0}; while [ $(wc -l < {0}) -lt 2 ]; do sleep 0.05; done; echo done > made.txt",
        mark.display()
    );
    let task = fleet.task("again", &json!([shell(&command), {"text": "made"}]));
    let command = fleet.command(&["delegate", "--on", "fleet", "--json", "-"]);
    let call = json!([task]).to_string();
    let ran = std::thread::scope(|scope| {
        let world = &fleet.world;
        let delegated = scope.spawn(move || world.feed(command, &call));
        wait_until(|| fs::read_to_string(&mark).is_ok_and(|text| text.lines().count() == 1));
        let worker = fleet.workers[first].take().unwrap();
        worker.signal(Signal::KILL);
        worker.finish();
        wait_until(|| !world.processes().iter().any(|(_, name)| name.contains("while")));
        let directory = world.path("worker-1");
        let mut command = world.command(["worker", "--lease", "2", "--workspace"]);
        command.arg(directory).env("PI_SUBAGENTS_FLEET", fleet.servers.url());
        fleet.workers.push(Some(Running::start(command)));
        delegated.join().unwrap()
    });
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let task = &ran.json()["tasks"][0];
    assert_eq!((&task["output"], &task["changes"]["files"]), (&json!("made"), &json!(1)), "{task}");
    let warnings = task["warnings"].to_string();
    assert!(warnings.contains("was lost; attempt 2 begins anew"), "{task}");
    assert_eq!(fs::read_to_string(&mark).unwrap().lines().count(), 2);
    fleet.end_all();
}

#[test]
fn a_task_that_kills_its_workers_is_lost_after_three() {
    let mut fleet = Fleet::new();
    fleet.worker(&["--slots", "1"]);
    // The parent of the supervisor of the agent is the worker.
    let poison = "kill -9 $(ps -o ppid= -p $(ps -o ppid= -p $PPID))";
    let task = fleet.task("poison", &json!([shell(poison), {"text": "late"}]));
    let command = fleet.command(&["delegate", "--on", "fleet", "--json", "-"]);
    let call = json!([task]).to_string();
    let ran = std::thread::scope(|scope| {
        let world = &fleet.world;
        let delegated = scope.spawn(move || world.feed(command, &call));
        for index in 0..3 {
            let worker = fleet.workers[index].take().unwrap();
            let ended = worker.finish();
            assert_eq!(ended.code, None, "{ended:?}");
            let mut command =
                world.command(["worker", "--slots", "1", "--lease", "2", "--workspace"]);
            command.arg(world.path(&format!("worker-{}", index + 1)));
            command.env("PI_SUBAGENTS_FLEET", fleet.servers.url());
            fleet.workers.push(Some(Running::start(command)));
        }
        delegated.join().unwrap()
    });
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let task = &ran.json()["tasks"][0];
    assert_eq!(task["outcome"], "lost", "{task}");
    assert!(task["error"].as_str().unwrap().contains("workers of 3 attempts died"), "{task}");
    fleet.end_all();
}

#[test]
fn a_worker_that_is_told_to_end_gives_its_task_to_another_one() {
    let mut fleet = Fleet::new();
    let first = fleet.worker(&["--grace", "100ms"]);
    let mark = fleet.world.path("began");
    let command = format!(
        "echo x >> {0}; while [ $(wc -l < {0}) -lt 2 ]; do sleep 0.05; done",
        mark.display()
    );
    let task = fleet.task("moved", &json!([shell(&command), {"text": "made"}]));
    let command = fleet.command(&["delegate", "--on", "fleet", "--json", "-"]);
    let call = json!([task]).to_string();
    let ran = std::thread::scope(|scope| {
        let world = &fleet.world;
        let delegated = scope.spawn(move || world.feed(command, &call));
        wait_until(|| mark.exists());
        let worker = fleet.workers[first].take().unwrap();
        worker.signal(Signal::TERM);
        assert_eq!(worker.finish().code, Some(0));
        let mut command = world.command(["worker", "--lease", "2", "--workspace"]);
        command.arg(world.path("worker-1")).env("PI_SUBAGENTS_FLEET", fleet.servers.url());
        fleet.workers.push(Some(Running::start(command)));
        delegated.join().unwrap()
    });
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
