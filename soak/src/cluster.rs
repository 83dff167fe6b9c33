//! The fleet of a soak: three nodes and two workers on this machine. A node that a fault stops comes back after a while, and a
//! worker that was killed is started again, as a service manager does.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use test_support::NatsServers;

use crate::PATIENCE;
use crate::log::{HitKind, Log};
use crate::plan::Project;
use crate::testbed::Testbed;

pub(crate) const WORKERS: usize = 2;
/// Of each worker. Both together have fewer than the machine, whose slots they share with all other doors.
const SLOTS: &str = "3";
/// Seconds after which a silent worker is taken for dead, which is as long as a worker may be paused.
const LEASE: &str = "3";
/// How long a worker stays dead.
const REST: Duration = Duration::from_millis(500);
/// How often it is looked whether one has died.
const LOOK: Duration = Duration::from_millis(100);

/// What is to happen to a node. The number chooses among them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// It is killed, and started again after so long.
    Kill(u64, Duration),
    /// It is stopped, and goes on after so long.
    Freeze(u64, Duration),
}

struct Cluster<'a> {
    testbed: &'a Testbed,
    log: &'a Log,
    nodes: NatsServers,
    /// The node that is not what it should be, until when, and whether it is frozen.
    out: Option<(usize, Duration, bool)>,
    /// The node that came back last, until it has what the others have.
    recovering: Option<usize>,
    workers: Vec<Place>,
}

/// A worker, or that it starts again then.
enum Place {
    Alive(Child),
    Dead(Duration),
}

/// Keeps the fleet until the other end of the channel is closed, and then ends it in good order: by then, nothing may be left
/// to do. Nodes end with the thread that starts them, so that this one must outlive all that needs them.
pub(crate) fn keep(testbed: &Testbed, log: &Log, nodes: NatsServers, orders: &Receiver<Order>) {
    let workers = (0..WORKERS).map(|_| Place::Dead(Duration::ZERO)).collect();
    let mut cluster = Cluster { testbed, log, nodes, out: None, recovering: None, workers };
    loop {
        cluster.bring_back(false);
        cluster.look_after_workers();
        match orders.recv_timeout(LOOK) {
            Ok(order) => cluster.obey(order),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    cluster.bring_back(true);
    cluster.end();
}

impl Cluster<'_> {
    /// Lets something happen to a node, if all are well: two of three must live.
    fn obey(&mut self, order: Order) {
        if self.recovering.is_some_and(|node| self.nodes.is_ready(node)) {
            self.recovering = None;
        }
        if self.out.is_some() || self.recovering.is_some() {
            return;
        }
        let (choice, length) = match order {
            Order::Kill(choice, length) | Order::Freeze(choice, length) => (choice, length),
        };
        let count = u64::try_from(self.nodes.count()).unwrap_or(1);
        let node = usize::try_from(choice % count).unwrap_or(0);
        let is_frozen = matches!(order, Order::Freeze(..));
        if is_frozen {
            self.nodes.freeze(node);
        } else {
            self.nodes.kill(node);
        }
        let what = if is_frozen { "frozen" } else { "killed" };
        self.log.record_fault(&format!("node {node} of the fleet is {what} for {length:?}"));
        self.out = Some((node, self.log.now() + length, is_frozen));
    }

    /// Brings back the node whose time has come, or at once.
    fn bring_back(&mut self, at_once: bool) {
        let now = self.log.now();
        let Some((node, _, is_frozen)) = self.out.take_if(|(_, at, _)| at_once || *at <= now)
        else {
            return;
        };
        if is_frozen {
            self.nodes.thaw(node);
        } else {
            self.nodes.start(node);
        }
        self.recovering = Some(node);
        self.log.note(format!("node {node} of the fleet is back"));
    }

    fn look_after_workers(&mut self) {
        let now = self.log.now();
        for number in 0..self.workers.len() {
            let next = match &mut self.workers[number] {
                Place::Dead(at) if *at <= now => self.start_worker(number),
                Place::Dead(_) => continue,
                Place::Alive(child) => {
                    let Ok(Some(status)) = child.try_wait() else { continue };
                    let pid = child.id();
                    self.check_death(pid, status);
                    Place::Dead(now + REST)
                }
            };
            self.workers[number] = next;
        }
    }

    fn start_worker(&self, number: usize) -> Place {
        match self.try_start_worker(number) {
            Ok(child) => {
                self.log.note(format!("worker {number} is process {}", child.id()));
                Place::Alive(child)
            }
            Err(error) => {
                self.log.report_violation(&[], format!("a worker cannot be started: {error}"));
                Place::Dead(self.log.now() + PATIENCE)
            }
        }
    }

    fn try_start_worker(&self, number: usize) -> io::Result<Child> {
        let stderr = self.testbed.world.path(&format!("stderr-of-worker-{number}.log"));
        let stderr = OpenOptions::new().create(true).append(true).open(stderr)?;
        let words = ["worker", "--slots", SLOTS, "--lease", LEASE, "--workspace"];
        let mut command = self.testbed.command(Project::Sent, words);
        command.arg(self.testbed.worker(number)).stdout(Stdio::null()).stderr(stderr);
        command.spawn()
    }

    /// A worker ends only when the soak kills it.
    fn check_death(&self, pid: u32, status: ExitStatus) {
        self.log.note(format!("worker process {pid} has ended: {status}"));
        let is_hit = |kind| {
            let entries = self.log.entries();
            entries.hits.iter().any(|hit| hit.pid == pid && hit.kind == kind)
        };
        if status.signal().is_none() || !is_hit(HitKind::WorkerKilled) {
            let what = format!("a worker has ended by itself: {status}");
            self.log.report_violation(&[&format!("process {pid}")], what);
        }
    }

    /// Ends the workers, which have nothing left to do and keep no run.
    fn end(mut self) {
        for (number, place) in std::mem::take(&mut self.workers).into_iter().enumerate() {
            let Place::Alive(mut child) = place else { continue };
            let about = format!("process {}", child.id());
            // It was not waited for, so the id is still its own.
            let _ = kill_process(Pid::from_child(&child), Signal::TERM);
            let deadline = self.log.now() + PATIENCE;
            while matches!(child.try_wait(), Ok(None)) && self.log.now() < deadline {
                thread::sleep(Duration::from_millis(20));
            }
            let ended = child.try_wait().ok().flatten();
            if !ended.is_some_and(|status| status.success()) {
                let what = format!("worker {number} was told to end: {ended:?}");
                self.log.report_violation(&[&about], what);
                let _ = child.kill().and_then(|()| child.wait());
            }
            for run in self.testbed.runs_of_worker(number) {
                let what = format!("worker {number} has kept a run: {}", run.display());
                self.log.report_violation(&[&about], what);
            }
        }
    }
}
