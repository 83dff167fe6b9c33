//! What happens to the fleet.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use super::testbed::{LEASE, Testbed, WORKERS};
use crate::clean_start::clean_command;

/// Something that happens to the fleet while tasks are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "`words` says it")]
pub enum FleetFault {
    WorkerKilled,
    AllWorkersKilled,
    LeaderKilled,
    TwoNodesKilled,
    AllNodesKilled,
    CallerKilled,
    Partition,
    FullDisk,
    Poison,
}

impl FleetFault {
    /// All of them.
    pub const ALL: [FleetFault; 9] = [
        FleetFault::WorkerKilled,
        FleetFault::AllWorkersKilled,
        FleetFault::LeaderKilled,
        FleetFault::TwoNodesKilled,
        FleetFault::AllNodesKilled,
        FleetFault::CallerKilled,
        FleetFault::Partition,
        FleetFault::FullDisk,
        FleetFault::Poison,
    ];

    /// What happens, in words.
    pub fn words(self) -> &'static str {
        match self {
            FleetFault::WorkerKilled => "a worker killed",
            FleetFault::AllWorkersKilled => "all workers killed, and three new ones started",
            FleetFault::LeaderKilled => "the leader of the queue killed, and back after 3 s",
            FleetFault::TwoNodesKilled => "two of three nodes killed, and back after 3 s",
            FleetFault::AllNodesKilled => "all nodes killed, and back after 3 s",
            FleetFault::CallerKilled => "the caller killed while it submits, and come again",
            FleetFault::Partition => "a worker cut off from the servers for twice its lease",
            FleetFault::FullDisk => "the disk of a worker full for 5 s",
            FleetFault::Poison => "a task that kills every worker that runs it",
        }
    }

    /// Whether it can be made on this machine.
    pub(super) fn is_possible(self) -> bool {
        if self != FleetFault::FullDisk {
            return true;
        }
        let mut command: Command = clean_command("unshare");
        command.args(["--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]);
        command.output().is_ok_and(|output| output.status.success())
    }

    /// Whether this task kills the worker that runs it.
    pub(super) fn kills_worker(self, task: usize, tasks: usize) -> bool {
        self == FleetFault::Poison && task == tasks / 2
    }

    /// Lets it happen, and heals what heals.
    pub(super) fn strike(self, testbed: &mut Testbed) {
        let outage = Duration::from_secs(3);
        match self {
            FleetFault::WorkerKilled => testbed.kill_worker(0),
            FleetFault::AllWorkersKilled => {
                (0..WORKERS).for_each(|worker| testbed.kill_worker(worker));
                (0..WORKERS).for_each(|_| testbed.start_worker());
            }
            FleetFault::LeaderKilled => {
                let leader = testbed.servers.leader("SUBAGENTS_TASKS");
                kill_for(testbed, &[leader], outage);
            }
            FleetFault::TwoNodesKilled => kill_for(testbed, &[0, 1], outage),
            FleetFault::AllNodesKilled => kill_for(testbed, &[0, 1, 2], outage),
            FleetFault::Partition => {
                let Some(proxy) = &testbed.proxy else { return };
                proxy.cut();
                sleep(Duration::from_secs(2 * LEASE));
                proxy.mend();
            }
            FleetFault::FullDisk => {
                let filler = fill_disk(testbed);
                sleep(Duration::from_secs(5));
                fs::remove_file(filler).unwrap();
            }
            // These have happened, or happen by themselves.
            FleetFault::CallerKilled | FleetFault::Poison => {}
        }
    }
}

fn kill_for(testbed: &mut Testbed, nodes: &[usize], time: Duration) {
    nodes.iter().for_each(|node| testbed.servers.kill(*node));
    sleep(time);
    nodes.iter().for_each(|node| testbed.servers.start(*node));
}

/// Fills the disk of the first worker, which only its own processes see. Returns the file that does.
fn fill_disk(testbed: &Testbed) -> PathBuf {
    let directory = testbed.directory(0);
    let inside = directory.strip_prefix("/").unwrap();
    let root = PathBuf::from(format!("/proc/{}/root", testbed.pid(0)));
    let path = root.join(inside).join("filler");
    let mut file = File::create(&path).unwrap();
    let bytes = vec![0_u8; 64 * 1024];
    while file.write_all(&bytes).is_ok() {}
    path
}
