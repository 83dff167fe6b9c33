//! The servers, workers and tasks.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::fault::FleetFault;
use crate::{NatsServers, Program, Proxy, Ran, Running, World, wait_until, write_file};

pub(super) const WORKERS: usize = 3;
/// Of each worker.
const SLOTS: usize = 5;
/// Seconds after which a silent worker is taken for dead.
pub(super) const LEASE: u64 = 5;
/// No fault may hold the tasks up for longer.
const PATIENCE: Duration = Duration::from_secs(240);
pub(super) const BATCH: &str = "faults";

#[derive(Debug)]
pub(super) struct Testbed {
    pub(super) world: World,
    pub(super) servers: NatsServers,
    /// The way of the first worker to the servers, where it can be cut.
    pub(super) proxy: Option<Proxy>,
    workers: Vec<Option<Running>>,
    pub(super) tasks: usize,
    has_small_disk: bool,
    /// Whether a worker that dies is started again, as a service manager does.
    pub(super) restarts: bool,
}

impl Testbed {
    pub(super) fn new(
        program: Program,
        nats_server: &Path,
        fault: FleetFault,
        tasks: usize,
    ) -> Testbed {
        let (world, servers) = (World::new(program), NatsServers::three(nats_server));
        let proxy = (fault == FleetFault::Partition).then(|| Proxy::to(servers.port(0)));
        let mut testbed = Testbed {
            world,
            servers,
            proxy,
            workers: Vec::new(),
            tasks,
            has_small_disk: fault == FleetFault::FullDisk,
            restarts: fault == FleetFault::Poison,
        };
        let lines: String = (0..tasks).map(|task| testbed.line(task, fault)).collect();
        write_file(&testbed.world.project().join("faults.jsonl"), &lines);
        (0..WORKERS).for_each(|_| testbed.start_worker());
        testbed
    }

    /// A task that writes down the process and the directory of its agent, works for a moment, and says which it was.
    fn line(&self, task: usize, fault: FleetFault) -> String {
        let started = self.started(task);
        let command = match fault.kills_worker(task, self.tasks) {
            // The parent of the supervisor of the agent is the worker.
            true => "kill -9 $(ps -o ppid= -p $(ps -o ppid= -p $PPID))".to_owned(),
            false => {
                format!("echo $$ $PWD > {0}.new; mv {0}.new {0}; sleep 0.5", started.display())
            }
        };
        let turns = json!([
            {"tools": [{"name": "bash", "args": {"command": command}}]},
            {"text": answer(task)},
        ]);
        let script = self.world.path(&format!("script-{task}.json"));
        write_file(&script, &turns.to_string());
        let model = format!("script/{}", script.display());
        let task = json!({"key": key(task), "prompt": "Go.", "agent": "builtin", "model": model});
        format!("{task}\n")
    }

    fn started(&self, task: usize) -> PathBuf {
        self.world.path(&format!("started-{task}"))
    }

    pub(super) fn directory(&self, worker: usize) -> PathBuf {
        self.world.path(&format!("worker-{worker}"))
    }

    pub(super) fn start_worker(&mut self) {
        let index = self.workers.len();
        let directory = self.directory(index);
        fs::create_dir_all(&directory).unwrap();
        let (slots, lease) = (SLOTS.to_string(), LEASE.to_string());
        let mut command = self.command(&["worker", "--slots", &slots, "--lease", &lease]);
        command.arg("--workspace").arg(&directory);
        if let Some(proxy) = self.proxy.as_ref().filter(|_| index == 0) {
            command.env("PI_SUBAGENTS_FLEET", proxy.url());
        }
        if self.has_small_disk && index == 0 {
            let mount = "mount -t tmpfs -o size=8m tmpfs \"$0\" && exec \"$@\"";
            let directory = directory.to_string_lossy().into_owned();
            let wrapper = ["unshare", "--mount", "sh", "-c", mount, &directory];
            command = World::behind(&wrapper, &command);
        }
        self.workers.push(Some(Running::start(command)));
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.world.command(arguments);
        command.env("PI_SUBAGENTS_FLEET", self.servers.url());
        command
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().unwrap().into()
    }

    /// Queues the tasks.
    pub(super) fn submit(&self, fault: FleetFault) {
        let submit = ["fleet", "submit", "faults.jsonl"];
        if fault == FleetFault::CallerKilled {
            let caller = Running::start(self.command(&submit));
            wait_until(|| self.is_started(0));
            caller.signal(Signal::KILL);
            caller.finish();
        }
        let ran = self.run(&submit);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }

    fn is_started(&self, task: usize) -> bool {
        self.started(task).exists()
    }

    /// Waits until every worker has something to do and a fifth of the tasks has begun.
    pub(super) fn wait_until_under_way(&self) {
        wait_until(|| {
            let started = (0..self.tasks).filter(|task| self.is_started(*task)).count();
            started >= self.tasks / 5
        });
    }

    /// The tasks that have begun and have no result.
    pub(super) fn under_way(&self) -> Vec<usize> {
        let ended = self.ended();
        (0..self.tasks)
            .filter(|task| self.is_started(*task) && !ended.contains(&key(*task)))
            .collect()
    }

    /// The processes of agents that this worker has started, and that may have ended.
    pub(super) fn agents_of(&self, worker: usize) -> Vec<u32> {
        let directory = self.directory(worker).to_string_lossy().into_owned() + "/";
        let said = (0..self.tasks).filter_map(|task| fs::read_to_string(self.started(task)).ok());
        let of_worker = said.filter_map(|said| {
            let (process, working) = said.trim().split_once(' ')?;
            working.starts_with(&directory).then(|| process.parse().unwrap())
        });
        of_worker.collect()
    }

    pub(super) fn pid(&self, worker: usize) -> u32 {
        self.workers[worker].as_ref().unwrap().pid()
    }

    /// Kills a worker, and waits until none of its agents is left on this machine.
    pub(super) fn kill_worker(&mut self, worker: usize) {
        let running = self.workers[worker].take().unwrap();
        running.signal(Signal::KILL);
        assert_eq!(running.finish().code, None);
        let agents = self.agents_of(worker);
        wait_until(|| agents.iter().all(|agent| !is_alive(*agent)));
    }

    /// Starts another worker for each that has died.
    pub(super) fn restart_dead(&mut self) {
        for worker in 0..self.workers.len() {
            let is_dead = self.workers[worker].as_ref().is_some_and(|run| !is_alive(run.pid()));
            if is_dead {
                let ended = self.workers[worker].take().unwrap().finish();
                assert_eq!(ended.code, None, "{ended:?}");
                self.start_worker();
            }
        }
    }

    /// The keys of the tasks that have a result. None while the servers answer nothing.
    fn ended(&self) -> BTreeSet<String> {
        let keys = self.results().into_iter();
        keys.map(|result| result["key"].as_str().unwrap().to_owned()).collect()
    }

    pub(super) fn results(&self) -> Vec<Value> {
        let ran = self.run(&["fleet", "results", BATCH]);
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Waits until these tasks have results. Returns how long that was since an instant.
    pub(super) fn wait_until_ended(&mut self, tasks: &[usize], since: Instant) -> Duration {
        let keys: Vec<String> = tasks.iter().map(|task| key(*task)).collect();
        loop {
            if self.restarts {
                self.restart_dead();
            }
            let ended = self.ended();
            if keys.iter().all(|key| ended.contains(key)) {
                return since.elapsed();
            }
            let missing: Vec<&String> = keys.iter().filter(|key| !ended.contains(*key)).collect();
            assert!(since.elapsed() < PATIENCE, "without a result: {missing:?}");
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// Ends the workers in good order. They must have nothing left to do.
    pub(super) fn end_workers(&mut self) {
        let workers: Vec<Running> = self.workers.drain(..).flatten().collect();
        workers.iter().for_each(|worker| worker.signal(Signal::TERM));
        for worker in workers {
            let ran = worker.finish();
            assert_eq!(ran.code, Some(0), "{ran:?}");
        }
    }
}

pub(super) fn key(task: usize) -> String {
    format!("task-{task}")
}

pub(super) fn answer(task: usize) -> String {
    format!("answer of {task}")
}

pub(super) fn is_alive(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}
