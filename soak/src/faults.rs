//! Injects the planned faults, and logs what they hit.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use rustix::process::Signal;

use crate::cluster::Order;
use crate::log::{HitKind, Log, Removal};
use crate::plan::{Fault, Planned, Project, Role};
use crate::targets::{Target, parent_of, targets};
use crate::testbed::Testbed;

/// What ends a fault.
#[derive(Debug)]
enum Repair {
    Continue(Target),
    EmptyDisk,
    RestoreProject,
    StartTmux,
}

pub(crate) struct Faults<'a> {
    testbed: &'a Testbed,
    log: &'a Log,
    /// What happens to nodes of the fleet goes to the thread that keeps them.
    nodes: Sender<Order>,
    repairs: Vec<(Duration, Repair)>,
    /// How many directories were removed, which makes the name of each that is moved away.
    removed: usize,
}

impl Faults<'_> {
    /// Injects each fault at its time, until the other end of the channel is closed. Then it ends all faults that
    /// are still in effect.
    pub(crate) fn inject_all(
        testbed: &Testbed,
        log: &Log,
        plan: &[Planned<Fault>],
        end: &Receiver<()>,
        nodes: Sender<Order>,
    ) {
        let mut faults = Faults { testbed, log, nodes, repairs: Vec::new(), removed: 0 };
        let mut planned = plan.iter().peekable();
        loop {
            let now = log.now();
            faults.repair_those(|due| due <= now);
            if let Some(fault) = planned.next_if(|fault| fault.at <= now) {
                faults.inject(fault.what);
                continue;
            }
            let repairs = faults.repairs.iter().map(|(due, _)| *due);
            let next = repairs.chain(planned.peek().map(|fault| fault.at)).min();
            // Nothing is left to do but to wait for the end.
            let next = next.unwrap_or(now + Duration::from_secs(1));
            match end.recv_timeout(next.saturating_sub(log.now())) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        faults.repair_those(|_| true);
        if faults.testbed.set_clock(0).is_ok() {
            log.note("the clock is right again");
        }
    }

    fn inject(&mut self, fault: Fault) {
        match fault {
            Fault::Kill(role, choice) => {
                if let Some(target) = self.choose(role, choice) {
                    self.kill(&target);
                }
            }
            Fault::KillBoth(choice) => self.kill_both(choice),
            Fault::Pause(role, choice, length) => {
                if let Some(target) = self.choose(role, choice)
                    && target.signal(Signal::STOP)
                {
                    let words = format!("SIGSTOP to {role:?} for {length:?}");
                    let is_worker = role == Role::Worker;
                    let kind = if is_worker { HitKind::WorkerPaused } else { HitKind::Paused };
                    self.log.record_hit((target.pid, self.owner(&target), kind), &words);
                    self.repairs.push((self.log.now() + length, Repair::Continue(target)));
                }
            }
            Fault::FillDisk(length) => {
                let is_full =
                    self.log.entries().full_disks.last().is_some_and(|(_, end)| end.is_none());
                if !is_full {
                    // Logged first, because it takes effect before it is complete.
                    let now = self.log.now();
                    self.log.entries().full_disks.push((now, None));
                    if self.testbed.fill_disk() {
                        self.log.record_fault(&format!("the disk of small is full for {length:?}"));
                    }
                    self.repairs.push((self.log.now() + length, Repair::EmptyDisk));
                }
            }
            Fault::DeleteRun(choice) => self.delete_run(choice),
            Fault::DeleteRuns => {
                self.remove(&self.testbed.runs(Project::Doomed), None);
            }
            Fault::DeleteProject(length) => {
                if self.remove(&self.testbed.project(Project::Doomed), None) {
                    self.repairs.push((self.log.now() + length, Repair::RestoreProject));
                }
            }
            Fault::KillTmux(length) => {
                if let Some(panes) = &self.testbed.panes {
                    // Logged first, because it takes effect before it is complete. Nothing else starts it again.
                    let now = self.log.now();
                    self.log.entries().tmux_outages.push((now, None));
                    if panes.kill() {
                        self.log.record_fault(&format!("SIGKILL to tmux, for {length:?}"));
                        self.repairs.push((now + length, Repair::StartTmux));
                    } else {
                        self.log.entries().tmux_outages.pop();
                    }
                }
            }
            // Without a fleet, nobody receives them.
            Fault::KillNode(choice, length) => {
                let _ = self.nodes.send(Order::Kill(choice, length));
            }
            Fault::FreezeNode(choice, length) => {
                let _ = self.nodes.send(Order::Freeze(choice, length));
            }
            Fault::SetClock(seconds) => {
                if self.testbed.set_clock(seconds).is_ok() {
                    self.log.record_fault(&format!("the clock is wrong by {seconds} s"));
                }
            }
        }
    }

    fn choose(&self, role: Role, choice: u64) -> Option<Target> {
        let mut candidates = targets(self.testbed);
        candidates.retain(|target| target.role == role);
        pick(candidates, choice)
    }

    fn kill(&self, target: &Target) -> bool {
        let kind = match target.role {
            Role::Shell | Role::Bridge | Role::Mcp => HitKind::DoorKilled,
            Role::Supervisor => HitKind::SupervisorKilled,
            Role::Git => HitKind::GitKilled,
            Role::Agent | Role::Descendant | Role::Relay => HitKind::AgentKilled,
            Role::Viewer | Role::Tmux => HitKind::ViewerKilled,
            Role::Worker => HitKind::WorkerKilled,
        };
        // Logged first, so that the log has the cause before the effect.
        let hit = (target.pid, self.owner(target), kind);
        self.log.record_hit(hit, &format!("SIGKILL to {:?}", target.role));
        target.signal(Signal::KILL)
    }

    /// The run of a process, or the token of the task that a worker carries out.
    fn owner(&self, target: &Target) -> Option<String> {
        let run_id = target.run_id.clone()?;
        Some(self.testbed.token_on_worker(&run_id).unwrap_or(run_id))
    }

    fn kill_both(&self, choice: u64) {
        let all = targets(self.testbed);
        let doors = all.iter().filter_map(|target| {
            let door = parent_of(target.pid).filter(|_| target.role == Role::Supervisor)?;
            all.iter().find(|target| target.pid == door && target.role == Role::Shell)
        });
        let Some(door) = pick(doors.cloned().collect(), choice) else {
            return;
        };
        let ours = |target: &&Target| {
            target.role == Role::Supervisor && parent_of(target.pid) == Some(door.pid)
        };
        let both: Vec<&Target> = all.iter().filter(ours).chain([&door]).collect();
        // Stopped first, so that none of them can react to the death of another.
        for target in &both {
            target.signal(Signal::STOP);
        }
        for target in both {
            self.kill(target);
        }
    }

    fn delete_run(&mut self, choice: u64) {
        let runs = self.testbed.runs(Project::Doomed);
        let entries = fs::read_dir(&runs).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter(|entry| !entry.path().join("result.json").exists())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| !name.starts_with('.'))
            .collect();
        names.sort();
        if let Some(name) = pick(names, choice) {
            self.remove(&runs.join(&name), Some(name));
        }
    }

    /// Removes a directory: every second time by moving it away, otherwise file by file.
    fn remove(&mut self, directory: &Path, run_id: Option<String>) -> bool {
        self.removed += 1;
        let away = self.testbed.world.path(&format!("away-{}", self.removed));
        let is_removed = if self.removed.is_multiple_of(2) {
            fs::rename(directory, &away).is_ok()
        } else {
            // A file that is written meanwhile may keep a part of it.
            fs::remove_dir_all(directory).is_ok()
        };
        // What was submitted while it was removed is removed, too.
        let at = self.log.now();
        self.log.entries().removals.push(Removal { at, run_id });
        self.log.record_fault(&format!("{} is deleted: {is_removed}", directory.display()));
        is_removed
    }

    fn repair_those(&mut self, is_due: impl Fn(Duration) -> bool) {
        let repairs = std::mem::take(&mut self.repairs);
        for (due, repair) in repairs {
            if !is_due(due) {
                self.repairs.push((due, repair));
                continue;
            }
            self.log.note(format!("over: {repair:?}"));
            match repair {
                Repair::Continue(target) => drop(target.signal(Signal::CONT)),
                Repair::EmptyDisk => {
                    self.testbed.empty_disk();
                    let now = self.log.now();
                    if let Some(last) = self.log.entries().full_disks.last_mut() {
                        last.1 = Some(now);
                    }
                }
                Repair::StartTmux => {
                    let started = self.testbed.panes.as_ref();
                    let started = started.map(|panes| panes.start(&self.testbed.world));
                    if let Some(Err(error)) = started {
                        self.log.report_violation(&[], format!("tmux does not start: {error}"));
                    }
                    let now = self.log.now();
                    if let Some(last) = self.log.entries().tmux_outages.last_mut() {
                        last.1 = Some(now);
                    }
                }
                Repair::RestoreProject => {
                    if let Err(error) = self.testbed.make_project(Project::Doomed) {
                        self.log.report_violation(&[], format!("the doomed project: {error}"));
                    }
                }
            }
        }
    }
}

fn pick<T>(mut candidates: Vec<T>, choice: u64) -> Option<T> {
    let count = u64::try_from(candidates.len()).ok().filter(|count| *count > 0)?;
    let index = usize::try_from(choice % count).ok()?;
    Some(candidates.swap_remove(index))
}
