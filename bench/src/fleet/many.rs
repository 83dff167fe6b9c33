//! Ten thousand tasks, by one `delegate` and by three workers with as many slots together.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use test_support::NatsServers;

use super::nats_server;
use crate::measure::measure_into;
use crate::scratch::Scratch;
use crate::table::Table;
use crate::tasks::{ANSWER, create};

const TASKS: usize = 10_000;
const WORKERS: usize = 3;
/// Of each worker. Together they stay below what the governor lets run at a time on a small machine.
const SLOTS: usize = 5;
/// How much longer the fleet may take with one node on the same machine.
const LIMIT: f64 = 1.5;
const MEMORY_KIB: u64 = 100_000_000 / 1024;

pub(super) fn run(scratch: &Scratch, table: &mut Table) -> Result<(), String> {
    let script = scratch.path("answer.json");
    let written = fs::write(&script, json!([{"text": ANSWER}]).to_string());
    written.map_err(|error| error.to_string())?;
    let model = format!("script/{}", script.display());
    let local = local(scratch, &model)?;
    table.note(
        &format!("{TASKS} built-in tasks of one turn by `delegate`, {} at a time", WORKERS * SLOTS),
        &format!("{local:.1} s"),
        "",
    );
    for (servers, nodes) in [
        (NatsServers::one(&nats_server()), "one node"),
        (NatsServers::three(&nats_server()), "three nodes"),
    ] {
        let cost = remote(scratch, &servers, &model, nodes)?;
        let what = format!("the same by a batch, {WORKERS} workers of {SLOTS} slots, {nodes}");
        let (ours, reference) =
            ((cost.seconds, format!("{:.1} s", cost.seconds)), (local, format!("{local:.1} s")));
        if servers.count() == 1 {
            table.at_most(&what, (ours.0, &ours.1), (reference.0, &reference.1), LIMIT);
        } else {
            let ratio = format!("{} = {:.2} x {}", ours.1, ours.0 / reference.0, reference.1);
            table.note(&what, &ratio, "");
        }
        table.note(
            &format!(
                "processor time meanwhile, {nodes}: servers · workers · all below the workers"
            ),
            &format!("{:.1} · {:.1} · {:.1} s", cost.servers, cost.workers, cost.agents),
            "",
        );
        for (who, kib) in [("caller", cost.caller_kib), ("worker", cost.worker_kib)] {
            let megabytes = kib as f64 * 1024.0 / 1e6;
            let most = MEMORY_KIB as f64 * 1024.0 / 1e6;
            let what = format!("peak memory of the largest {who}, {nodes}");
            let ours = (megabytes, format!("{megabytes:.1} MB"));
            table.at_most(&what, (ours.0, &ours.1), (most, &format!("{most:.0} MB")), 1.0);
        }
        table.note(
            &format!("kept by all nodes together for each task, {nodes}"),
            &format!(
                "{:.1} messages, {:.1} kB",
                cost.stored.0 as f64 / TASKS as f64,
                cost.stored.1 as f64 / TASKS as f64 / 1e3
            ),
            "",
        );
    }
    Ok(())
}

/// The seconds that one `delegate` takes.
fn local(scratch: &Scratch, model: &str) -> Result<f64, String> {
    let project = scratch.subdirectory("many-local")?;
    let task = |index| json!({"name": key(index), "prompt": "Go.", "model": model});
    let tasks: Vec<Value> = (0..TASKS).map(task).collect();
    let path = project.join("tasks.json");
    fs::write(&path, json!(tasks).to_string()).map_err(|error| error.to_string())?;
    let mut command = scratch.our("pi-subagents");
    command.current_dir(&project).args(["delegate", "--json", "--agent", "builtin"]);
    command.args(["--concurrency", &(WORKERS * SLOTS).to_string()]).arg(path);
    let answer = scratch.path("many-local.json");
    let cost = measure_into(&mut command, &[0], create(&answer)?)?;
    let text = fs::read(&answer).map_err(|error| error.to_string())?;
    let document: Value = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    let answers = document["tasks"].as_array().into_iter().flatten();
    let right = answers.filter(|task| task["output"] == ANSWER).count();
    let removed = fs::remove_dir_all(project).map_err(|error| error.to_string());
    match right {
        TASKS => removed.map(|()| cost.wall.as_secs_f64()),
        right => Err(format!("only {right} tasks of `delegate` have the right answer")),
    }
}

fn key(index: usize) -> String {
    format!("task-{index}")
}

/// What a batch costs.
struct Cost {
    seconds: f64,
    /// Seconds on a processor.
    servers: f64,
    workers: f64,
    agents: f64,
    caller_kib: u64,
    worker_kib: u64,
    /// Messages, and their bytes, on all nodes.
    stored: (u64, u64),
}

fn remote(
    scratch: &Scratch,
    servers: &NatsServers,
    model: &str,
    name: &str,
) -> Result<Cost, String> {
    let project = scratch.subdirectory(&format!("many-{}", servers.count()))?;
    let line = |index| {
        let task = json!({"key": key(index), "prompt": "Go.", "agent": "builtin", "model": model});
        format!("{task}\n")
    };
    let lines: String = (0..TASKS).map(line).collect();
    fs::write(project.join("many.jsonl"), lines).map_err(|error| error.to_string())?;
    let of_fleet = |arguments: &[&str]| {
        let mut command = scratch.our("pi-subagents");
        command.current_dir(&project).env("PI_SUBAGENTS_FLEET", servers.url()).args(arguments);
        command
    };
    let workers = Workers::start((0..WORKERS).map(|worker| {
        let mut command = of_fleet(&["worker", "--slots", &SLOTS.to_string(), "--workspace"]);
        command.arg(project.join(format!("worker-{worker}")));
        command
    }))?;
    workers.wait_until_there(|| of_fleet(&["fleet", "workers", "--json"]))?;
    let nodes: Vec<u32> = (0..servers.count()).map(|node| servers.pid(node)).collect();
    let before = Used::of(&nodes)?;
    let started = Instant::now();
    let results = scratch.path("many-results.jsonl");
    let mut caller_kib = 0;
    for (arguments, output) in [
        (&["fleet", "submit", "many.jsonl"][..], "many-submit"),
        (&["fleet", "watch", "many"], "many-watch"),
        (&["fleet", "results", "many"], "many-results.jsonl"),
    ] {
        let cost = measure_into(&mut of_fleet(arguments), &[0], create(&scratch.path(output))?)?;
        caller_kib = caller_kib.max(cost.peak_kib);
    }
    let seconds = started.elapsed().as_secs_f64();
    let servers_used = Used::of(&nodes)?;
    let used = Used::of(&workers.pids())?;
    check(&results).map_err(|problem| format!("{name}: {problem}"))?;
    let worker_kib = workers.pids().into_iter().map(peak_kib).max().unwrap_or_default();
    workers.end()?;
    fs::remove_dir_all(&project).map_err(|error| error.to_string())?;
    Ok(Cost {
        seconds,
        servers: servers_used.own - before.own,
        workers: used.own,
        agents: used.children,
        caller_kib,
        worker_kib,
        stored: servers.stored(),
    })
}

/// Checks that each task has one result, in the order of submission.
fn check(results: &Path) -> Result<(), String> {
    let text = fs::read_to_string(results).map_err(|error| error.to_string())?;
    let mut count = 0;
    for (index, line) in text.lines().enumerate() {
        let task: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        if task["key"] != key(index) || task["output"] != ANSWER {
            return Err(format!("result {index} is not what was asked for: {task}"));
        }
        count += 1;
    }
    if count == TASKS { Ok(()) } else { Err(format!("{count} results of {TASKS}")) }
}

/// Workers of the fleet on this machine. They are killed if a measurement fails.
pub(super) struct Workers(Vec<Child>);

impl Workers {
    pub(super) fn start(commands: impl Iterator<Item = Command>) -> Result<Workers, String> {
        let mut workers = Workers(Vec::new());
        for mut command in commands {
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            workers.0.push(start(&mut command).map_err(|error| error.to_string())?);
        }
        Ok(workers)
    }

    /// Waits until the server lists all of them.
    pub(super) fn wait_until_there(&self, ask: impl Fn() -> Command) -> Result<(), String> {
        for _ in 0..200 {
            let said = output(&mut ask()).map_err(|error| error.to_string())?;
            let listed: Value = serde_json::from_slice(&said).unwrap_or_default();
            if listed["workers"].as_array().map_or(0, Vec::len) == self.0.len() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err("the workers have not come".to_owned())
    }

    fn pids(&self) -> Vec<u32> {
        self.0.iter().map(Child::id).collect()
    }

    /// Lets them end in good order.
    pub(super) fn end(mut self) -> Result<(), String> {
        for worker in &mut self.0 {
            kill_process(Pid::from_child(worker), Signal::TERM)
                .map_err(|error| error.to_string())?;
        }
        for worker in &mut self.0 {
            let status = worker.wait().map_err(|error| error.to_string())?;
            if !status.success() {
                return Err(format!("a worker ended with {status}"));
            }
        }
        Ok(())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in &mut self.0 {
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }
}

pub(super) fn start(command: &mut Command) -> io::Result<Child> {
    command.spawn()
}

fn output(command: &mut Command) -> io::Result<Vec<u8>> {
    Ok(command.output()?.stdout)
}

/// Seconds on a processor of some processes together, and of their descendants that have ended.
struct Used {
    own: f64,
    children: f64,
}

impl Used {
    fn of(pids: &[u32]) -> Result<Used, String> {
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        let mut used = Used { own: 0.0, children: 0.0 };
        for pid in pids {
            let path = PathBuf::from(format!("/proc/{pid}/stat"));
            let stat = fs::read_to_string(&path).map_err(|error| error.to_string())?;
            // Behind the name, which can hold anything: the state is the first, the times are the 12th to the 15th.
            let (_, rest) = stat.rsplit_once(") ").ok_or("a process has no times")?;
            let times: Vec<f64> =
                rest.split(' ').skip(11).take(4).filter_map(|time| time.parse().ok()).collect();
            let [user, system, of_user, of_system] = times[..] else {
                return Err("a process has no times".to_owned());
            };
            used.own += (user + system) / ticks;
            used.children += (of_user + of_system) / ticks;
        }
        Ok(used)
    }
}

fn peak_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|rest| rest.trim().strip_suffix(" kB"));
    number.and_then(|number| number.trim().parse().ok()).unwrap_or_default()
}
