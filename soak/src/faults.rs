//! Lets the planned faults fall, and writes down on whom they fell.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use rustix::process::Signal;

use crate::ledger::{Blow, BlowKind, Ledger, Removal};
use crate::place::Place;
use crate::plan::{Fault, Planned, Project, Role};
use crate::victims::{Victim, parent_of, victims};

/// What has to be put right again, and when.
#[derive(Debug)]
enum Remedy {
    Continue(Victim),
    EmptyDisk,
    RestoreProject,
}

pub(crate) struct Faults<'a> {
    place: &'a Place,
    ledger: &'a Ledger,
    remedies: Vec<(Duration, Remedy)>,
    /// How often something was moved away, for a name that is new.
    removed: usize,
}

impl Faults<'_> {
    /// Lets everything fall at its time, until the other end of the channel is gone. Nothing is left
    /// stopped, full or missing in the end.
    pub(crate) fn fall(
        place: &Place,
        ledger: &Ledger,
        plan: &[Planned<Fault>],
        end: &Receiver<()>,
    ) {
        let mut faults = Faults { place, ledger, remedies: Vec::new(), removed: 0 };
        let mut planned = plan.iter().peekable();
        loop {
            let now = ledger.now();
            faults.remedy(|due| due <= now);
            if let Some(fault) = planned.next_if(|fault| fault.at <= now) {
                faults.befall(fault.what);
                continue;
            }
            let remedies = faults.remedies.iter().map(|(due, _)| *due);
            let next = remedies.chain(planned.peek().map(|fault| fault.at)).min();
            // Nothing is left to be done: only the end can come.
            let next = next.unwrap_or(now + Duration::from_secs(1));
            match end.recv_timeout(next.saturating_sub(ledger.now())) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        faults.remedy(|_| true);
        if faults.place.set_clock(0).is_ok() {
            ledger.note("the clock is right again");
        }
    }

    fn befall(&mut self, fault: Fault) {
        match fault {
            Fault::Kill(role, choice) => {
                if let Some(victim) = self.choose(role, choice) {
                    self.kill(&victim);
                }
            }
            Fault::KillBoth(choice) => self.kill_both(choice),
            Fault::Pause(role, choice, length) => {
                if let Some(victim) = self.choose(role, choice)
                    && victim.signal(Signal::STOP)
                {
                    let words = format!("SIGSTOP to {role:?} for {length:?}");
                    let run_id = victim.run_id.clone();
                    let blow = Blow { pid: victim.pid, run_id, kind: BlowKind::Paused };
                    self.ledger.strike(blow, &words);
                    self.remedies.push((self.ledger.now() + length, Remedy::Continue(victim)));
                }
            }
            Fault::FillDisk(length) => {
                let is_full =
                    self.ledger.pages().full_disks.last().is_some_and(|(_, end)| end.is_none());
                if !is_full {
                    // Before the fact, because it takes effect before it is complete.
                    let now = self.ledger.now();
                    self.ledger.pages().full_disks.push((now, None));
                    if self.place.fill_disk() {
                        self.ledger.befall(&format!("the disk of small is full for {length:?}"));
                    }
                    self.remedies.push((self.ledger.now() + length, Remedy::EmptyDisk));
                }
            }
            Fault::DeleteRun(choice) => self.delete_run(choice),
            Fault::DeleteRuns => {
                self.remove(&self.place.runs(Project::Doomed), None);
            }
            Fault::DeleteProject(length) => {
                if self.remove(&self.place.project(Project::Doomed), None) {
                    self.remedies.push((self.ledger.now() + length, Remedy::RestoreProject));
                }
            }
            Fault::SetClock(seconds) => {
                if self.place.set_clock(seconds).is_ok() {
                    self.ledger.befall(&format!("the clock is wrong by {seconds} s"));
                }
            }
        }
    }

    fn choose(&self, role: Role, choice: u64) -> Option<Victim> {
        let mut candidates = victims(self.place);
        candidates.retain(|victim| victim.role == role);
        pick(candidates, choice)
    }

    fn kill(&self, victim: &Victim) -> bool {
        let kind = match victim.role {
            Role::Shell | Role::Bridge | Role::Mcp => BlowKind::DoorKilled,
            Role::Supervisor => BlowKind::SupervisorKilled,
            Role::Agent | Role::Offspring => BlowKind::AgentKilled,
        };
        // Written down first: whoever sees the effect must find the cause.
        let blow = Blow { pid: victim.pid, run_id: victim.run_id.clone(), kind };
        self.ledger.strike(blow, &format!("SIGKILL to {:?}", victim.role));
        victim.signal(Signal::KILL)
    }

    fn kill_both(&self, choice: u64) {
        let all = victims(self.place);
        let doors = all.iter().filter_map(|victim| {
            let door = parent_of(victim.pid).filter(|_| victim.role == Role::Supervisor)?;
            all.iter().find(|victim| victim.pid == door && victim.role == Role::Shell)
        });
        let Some(door) = pick(doors.cloned().collect(), choice) else { return };
        let ours = |victim: &&Victim| {
            victim.role == Role::Supervisor && parent_of(victim.pid) == Some(door.pid)
        };
        let both: Vec<&Victim> = all.iter().filter(ours).chain([&door]).collect();
        // Stopped first, so that none of them can do anything about the death of another.
        for victim in &both {
            victim.signal(Signal::STOP);
        }
        for victim in both {
            self.kill(victim);
        }
    }

    fn delete_run(&mut self, choice: u64) {
        let runs = self.place.runs(Project::Doomed);
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

    /// Removes a directory; every second time file by file, and else at once, as `mv` does it.
    fn remove(&mut self, directory: &Path, run_id: Option<String>) -> bool {
        let at = self.ledger.now();
        self.ledger.pages().removals.push(Removal { at, run_id });
        self.removed += 1;
        let away = self.place.world.path(&format!("away-{}", self.removed));
        let is_removed = if self.removed.is_multiple_of(2) {
            fs::rename(directory, &away).is_ok()
        } else {
            // What is written meanwhile may keep a part of it alive.
            fs::remove_dir_all(directory).is_ok()
        };
        self.ledger.befall(&format!("{} is deleted: {is_removed}", directory.display()));
        is_removed
    }

    fn remedy(&mut self, is_due: impl Fn(Duration) -> bool) {
        let remedies = std::mem::take(&mut self.remedies);
        for (due, remedy) in remedies {
            if !is_due(due) {
                self.remedies.push((due, remedy));
                continue;
            }
            self.ledger.note(format!("over: {remedy:?}"));
            match remedy {
                Remedy::Continue(victim) => drop(victim.signal(Signal::CONT)),
                Remedy::EmptyDisk => {
                    self.place.empty_disk();
                    let now = self.ledger.now();
                    if let Some(last) = self.ledger.pages().full_disks.last_mut() {
                        last.1 = Some(now);
                    }
                }
                Remedy::RestoreProject => {
                    if let Err(error) = self.place.make_project(Project::Doomed) {
                        self.ledger.complain(&[], format!("the doomed project: {error}"));
                    }
                }
            }
        }
    }
}

fn pick<T>(mut candidates: Vec<T>, choice: u64) -> Option<T> {
    let count = u64::try_from(candidates.len()).ok().filter(|count| *count > 0)?;
    let place = usize::try_from(choice % count).ok()?;
    Some(candidates.swap_remove(place))
}
