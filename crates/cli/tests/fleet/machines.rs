//! Callers, a server and workers, all on this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use test_support::{
    NatsServers, Program, Ran, Running, World, stop_and_wait, wait_until, write_file,
};

use super::nats_server;

pub(crate) fn new_world() -> World {
    World::new(Program {
        pi_subagents: env!("CARGO_BIN_EXE_pi-subagents"),
        fake_agent: env!("CARGO_BIN_EXE_fake-agent"),
    })
}

/// A world with a server, a repository with uncommitted changes, and workers.
pub(crate) struct Fleet {
    pub(crate) world: World,
    pub(crate) servers: NatsServers,
    workers: Vec<Option<Running>>,
}

impl Fleet {
    pub(crate) fn new() -> Fleet {
        let world = new_world();
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

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let mut command = self.world.command_of("git");
        let output = command.current_dir(self.world.project()).args(arguments).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {stderr}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Starts a worker that gives tasks up after two seconds of silence.
    pub(crate) fn worker(&mut self, arguments: &[&str]) -> usize {
        self.worker_with(arguments, |command| command)
    }

    /// The same on a machine of its own, as far as programs agree on anything there.
    pub(crate) fn worker_on(&mut self, machine: &Machine) -> usize {
        self.worker_with(&[], |mut command| {
            machine.hold(&mut command);
            command
        })
    }

    /// The same with a command that was changed.
    pub(crate) fn worker_with(
        &mut self,
        arguments: &[&str],
        change: impl FnOnce(Command) -> Command,
    ) -> usize {
        let index = self.workers.len();
        let directory = self.world.path(&format!("worker-{index}"));
        let mut command = self.command(&["worker", "--lease", "2", "--workspace"]);
        command.arg(directory).args(arguments);
        self.workers.push(Some(Running::start(change(command))));
        index
    }

    /// Starts a worker again where one was before.
    pub(crate) fn worker_again(&mut self, worker: usize) {
        let mut command = self.command(&["worker", "--lease", "2", "--workspace"]);
        command.arg(self.world.path(&format!("worker-{worker}")));
        self.workers[worker] = Some(Running::start(command));
    }

    /// Stops a worker without ending it, so that it does not see what happens around it.
    pub(crate) fn freeze(&self, worker: usize) {
        let worker = self.workers[worker].as_ref().unwrap().pid();
        stop_and_wait(Pid::from_raw(i32::try_from(worker).unwrap()).unwrap());
    }

    /// Lets it go on.
    pub(crate) fn thaw(&self, worker: usize) {
        self.workers[worker].as_ref().unwrap().signal(Signal::CONT);
    }

    /// Waits until a worker has died by a signal.
    pub(crate) fn await_death(&mut self, worker: usize) {
        let ended = self.workers[worker].take().unwrap().finish();
        assert_eq!(ended.code, None, "{ended:?}");
    }

    /// Kills a worker.
    pub(crate) fn kill(&mut self, worker: usize) {
        self.workers[worker].as_ref().unwrap().signal(Signal::KILL);
        self.await_death(worker);
    }

    /// Ends a worker in the usual way, and waits until it has.
    pub(crate) fn end(&mut self, worker: usize) -> Ran {
        let running = self.workers[worker].take().unwrap();
        running.signal(Signal::TERM);
        running.finish()
    }

    pub(crate) fn end_all(&mut self) {
        (0..self.workers.len()).for_each(|worker| {
            if self.workers[worker].is_some() {
                self.end(worker);
            }
        });
        self.world.wait_until_nothing_is_left();
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.world.command(arguments);
        command.env("PI_SUBAGENTS_FLEET", self.servers.url());
        command
    }

    /// A task whose agent plays these turns.
    pub(crate) fn task(&self, name: &str, turns: &Value) -> Value {
        let script = self.world.path(&format!("{name}.json"));
        write_file(&script, &turns.to_string());
        json!({"name": name, "prompt": "Go.", "agent": "builtin", "model": model_of(&script)})
    }

    /// `fleet` with these arguments.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Ran {
        self.command(&["fleet"]).args(arguments).output().unwrap().into()
    }

    /// Starts `delegate` with one task.
    pub(crate) fn start_delegation(&self, task: &Value) -> Running {
        let call = self.world.path("call.json");
        write_file(&call, &json!([task]).to_string());
        let mut command = self.command(&["delegate", "--on", "fleet", "--json"]);
        command.arg(call);
        Running::start(command)
    }

    pub(crate) fn delegate(&self, tasks: &Value) -> Ran {
        let command = self.command(&["delegate", "--on", "fleet", "--concurrency", "16", "--json"]);
        self.world.feed(command, &tasks.to_string())
    }

    /// Where a worker records the only run that it carries out; the worker's own directory if there is none.
    pub(crate) fn run_of(&self, worker: usize) -> PathBuf {
        let directory = self.world.path(&format!("worker-{worker}"));
        let runs = directory.join(".pi/subagents/runs");
        let entries = fs::read_dir(runs).into_iter().flatten().flatten();
        let mut runs = entries.map(|entry| entry.path()).filter(|path| path.is_dir());
        runs.next().unwrap_or(directory)
    }

    /// Waits until a worker keeps no run that it has carried out.
    pub(crate) fn await_no_runs(&self, worker: usize) {
        let runs = self.world.path(&format!("worker-{worker}/.pi/subagents/runs"));
        wait_until(|| {
            let mut entries = fs::read_dir(&runs).into_iter().flatten().flatten();
            !entries.any(|entry| entry.path().is_dir())
        });
    }
}

/// What a machine has for itself: the agent directory, the locks, and what was learned.
pub(crate) struct Machine(PathBuf);

impl Machine {
    /// One with these settings.
    pub(crate) fn new(world: &World, name: &str, subagents: &Value) -> Machine {
        let machine = Machine(world.path(name));
        let settings = json!({"subagents": subagents}).to_string();
        write_file(&machine.0.join("agent/settings.json"), &settings);
        machine
    }

    /// Lets a command run there.
    pub(crate) fn hold(&self, command: &mut Command) {
        command.env("PI_AGENT_DIR", self.0.join("agent"));
        command.env("PI_SUBAGENTS_STATE_DIR", self.0.join("state"));
    }

    pub(crate) fn status(&self, world: &World) -> Value {
        let mut command = world.command(["status", "--json"]);
        self.hold(&mut command);
        Ran::from(command.output().unwrap()).json()
    }
}

pub(crate) fn model_of(script: &Path) -> String {
    format!("script/{}", script.display())
}

pub(crate) fn shell(command: &str) -> Value {
    json!({"tools": [{"name": "bash", "args": {"command": command}}]})
}

/// The turn of an agent that writes its process into a file, and goes on for ten minutes.
pub(crate) fn long_turn(file: &Path) -> Value {
    shell(&format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600", file.display()))
}

/// Waits until an agent has written its process into a file.
pub(crate) fn await_process(file: &Path) -> u32 {
    wait_until(|| file.exists());
    fs::read_to_string(file).unwrap().trim().parse().unwrap()
}

/// Waits until nothing is left of a process, however its machine remembers that.
pub(crate) fn await_end_of(process: u32) {
    wait_until(|| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
    });
}
