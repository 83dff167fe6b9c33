//! One run, as its parent sees it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use governor::Slot;
use model::{Meta, Outcome, Record, RunResult, Secrets};
use process::Pid;
use session::Facts;
use store::{Hold, NewRun, RunDir, StopForce};

use crate::durations::{EXIT_ANSWER, STOP_GRACE, SUPERVISOR_LOOK, answer_time};
use crate::launcher::{Launcher, SupervisorHandle};
use crate::leftovers::stop_leftovers;
use crate::lifeline::{Lifeline, ToParent, ToSupervisor};
use crate::now_ms;
use crate::recover::{Recovery, SUPERVISOR_DIED, duration, ended, recover_because};
use crate::result::result_of;
use crate::stopped::{Remedy, SUPERVISOR_STOPPED, StopCount};
use crate::update::{Change, Report};

pub(crate) struct Run {
    meta: Meta,
    dir: RunDir,
    /// What people should know about the record of the run.
    warnings: Vec<String>,
    /// Given back as soon as the supervisor has its own, and so is the slot.
    hold: Option<(Hold, Slot)>,
    phase: Phase,
    facts: Facts,
    refusal: Option<String>,
    /// When the supervisor is killed if it has not answered; see [`Run::check_time`].
    kill_at: Option<Instant>,
    /// When to look next whether another program has stopped the supervisor.
    look_at: Instant,
    stops: StopCount,
    /// Why this process has killed the supervisor, if it is for another reason than a request to stop.
    killed_because: Option<&'static str>,
    /// Why the supervisor could not start the child, if it could not for now.
    pub(crate) no_room: Option<String>,
}

enum Phase {
    /// The supervisor is at work.
    Live { lifeline: Lifeline, supervisor: SupervisorHandle },
    /// The supervisor is gone without a result, and what it left is being stopped. That can take
    /// its time, during which this process must stay awake; hence a thread.
    CleaningUp { done: UnixStream, cleaner: JoinHandle<Option<CleanedUp>> },
    /// Nothing of the run is left.
    Over,
}

/// The end of a run that its parent had to end in the supervisor's place.
struct CleanedUp {
    record: Option<Record>,
    result: Box<RunResult>,
    not_kept: Option<String>,
}

impl Run {
    pub(crate) fn start(
        launcher: &Launcher,
        new_run: NewRun,
        secrets: Secrets,
        warnings: Vec<String>,
        slot: Slot,
    ) -> Result<Run, Box<(io::Error, NewRun, Vec<String>)>> {
        let lifetime = new_run.meta.lifetime;
        let started = launcher.launch(&new_run.dir, lifetime).and_then(|launched| {
            let mut lifeline = Lifeline::new(launched.lifeline)?;
            lifeline.send(&ToSupervisor::Start { secrets });
            lifeline.flush();
            Ok(Phase::Live { lifeline, supervisor: launched.supervisor })
        });
        match started {
            Ok(phase) => Ok(Run {
                meta: new_run.meta,
                dir: new_run.dir,
                warnings,
                hold: Some((new_run.hold, slot)),
                phase,
                facts: Facts::default(),
                refusal: None,
                kill_at: None,
                look_at: Instant::now() + SUPERVISOR_LOOK,
                stops: StopCount::default(),
                killed_because: None,
                no_room: None,
            }),
            Err(error) => Err(Box::new((error, new_run, warnings))),
        }
    }

    /// Removes the directory of a run whose child was not started.
    pub(crate) fn discard(self) {
        self.dir.discard();
    }

    /// The supervisor's process id, while it is at work.
    pub(crate) fn supervisor_pid(&self) -> Option<Pid> {
        match &self.phase {
            Phase::Live { supervisor, .. } => Some(supervisor.pid()),
            Phase::CleaningUp { .. } | Phase::Over => None,
        }
    }

    /// Whether what a dead supervisor left is being stopped.
    pub(crate) fn is_cleaning_up(&self) -> bool {
        matches!(self.phase, Phase::CleaningUp { .. })
    }

    pub(crate) fn waker(&self) -> Option<BorrowedFd<'_>> {
        match &self.phase {
            Phase::Live { lifeline, .. } => Some(lifeline.as_fd()),
            Phase::CleaningUp { done, .. } => Some(done.as_fd()),
            Phase::Over => None,
        }
    }

    pub(crate) fn wants_to_write(&self) -> bool {
        matches!(&self.phase, Phase::Live { lifeline, .. } if lifeline.wants_to_write())
    }

    pub(crate) fn stop(&mut self, force: StopForce) {
        let Phase::Live { lifeline, supervisor } = &mut self.phase else { return };
        supervisor.wake();
        lifeline.send(&match force {
            StopForce::Gracefully => ToSupervisor::Stop,
            StopForce::AtOnce => ToSupervisor::Kill,
        });
        lifeline.flush();
        let deadline = Instant::now() + answer_time(force);
        self.kill_at = Some(self.kill_at.map_or(deadline, |earlier| earlier.min(deadline)));
    }

    /// Tells the supervisor what has become of the budget of the call.
    pub(crate) fn tell(&mut self, notice: &ToSupervisor) {
        let Phase::Live { lifeline, .. } = &mut self.phase else { return };
        lifeline.send(notice);
        lifeline.flush();
    }

    /// When [`Run::check_time`] has something to do.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let look_at = matches!(self.phase, Phase::Live { .. }).then_some(self.look_at);
        self.kill_at.into_iter().chain(look_at).min()
    }

    /// Wakes a supervisor that was stopped, and kills one that does not answer or is stopped again and
    /// again; its end will be noticed on the lifeline.
    pub(crate) fn check_time(&mut self, now: Instant) {
        let Phase::Live { supervisor, .. } = &mut self.phase else { return };
        if self.kill_at.is_some_and(|at| now >= at) {
            self.kill_at = None;
            supervisor.kill();
        }
        if now >= self.look_at {
            self.look_at = now + SUPERVISOR_LOOK;
            match self.stops.see(supervisor.is_stopped()) {
                Some(Remedy::Wake) => supervisor.wake(),
                Some(Remedy::Kill) => {
                    self.killed_because = Some(SUPERVISOR_STOPPED);
                    supervisor.kill();
                }
                None => {}
            }
        }
    }

    /// Takes in what has arrived. `siblings` are the supervisors of the other runs; with them,
    /// this process is a subreaper and adopts what a dead supervisor leaves behind.
    pub(crate) fn receive(&mut self, siblings: Option<Vec<Pid>>) -> Vec<Change> {
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Live { lifeline, supervisor } => self.listen(lifeline, supervisor, siblings),
            Phase::CleaningUp { cleaner, .. } => {
                let cleaned_up = cleaner.join().ok().flatten().unwrap_or_else(|| {
                    let facts = self.facts.clone();
                    end_in_memory(&self.meta, facts, SUPERVISOR_DIED, "cleaning up failed")
                });
                self.end_after(cleaned_up)
            }
            Phase::Over => Vec::new(),
        }
    }

    fn listen(
        &mut self,
        mut lifeline: Lifeline,
        mut supervisor: SupervisorHandle,
        siblings: Option<Vec<Pid>>,
    ) -> Vec<Change> {
        let mut changes = Vec::new();
        lifeline.flush();
        for message in lifeline.receive::<ToParent>() {
            match message {
                ToParent::Ready => self.hold = None,
                ToParent::Refused(reason) => self.refusal = Some(reason),
                ToParent::NoRoom(reason) => {
                    await_exit(&mut supervisor);
                    self.no_room = Some(reason);
                    return changes;
                }
                ToParent::Event(record) => {
                    self.facts.apply(&record);
                    changes.push(Change::Record(record));
                }
                ToParent::Activity(activity) => changes.push(Change::Activity(activity)),
                ToParent::Result { result, not_kept } => {
                    await_exit(&mut supervisor);
                    changes.push(self.ended(*result, not_kept));
                    return changes;
                }
            }
        }
        if lifeline.is_open() {
            self.phase = Phase::Live { lifeline, supervisor };
        } else if let Some(cleaned_up) = self.clean_up(supervisor, siblings) {
            changes.extend(self.end_after(cleaned_up));
        }
        changes
    }

    /// The supervisor is gone without a result: what it left is stopped, and the run is ended in
    /// its place; later, or, if there is no way to learn of it later, now.
    fn clean_up(
        &mut self,
        mut supervisor: SupervisorHandle,
        siblings: Option<Vec<Pid>>,
    ) -> Option<CleanedUp> {
        self.hold = None;
        let (meta, dir, facts) = (self.meta.clone(), self.dir.clone(), self.facts.clone());
        let reason = self.refusal.as_ref().map_or_else(
            || self.killed_because.unwrap_or(SUPERVISOR_DIED).to_owned(),
            |refusal| format!("Interrupted: the supervisor refused: {refusal}"),
        );
        let work = move || {
            await_exit(&mut supervisor);
            stop_leftovers(&dir, &meta, false);
            let left = siblings.and_then(|siblings| process::stop_adopted(&siblings, STOP_GRACE));
            end_in_its_place(&meta, &dir, facts, &reason, left == Some(0))
        };
        // At the limit of processes or descriptors there is no thread to be had, and the work is done
        // here, while everything else waits.
        let Ok((done, ours)) = UnixStream::pair() else { return Some(work()) };
        let clean = move || {
            let cleaned_up = work();
            drop(ours);
            cleaned_up
        };
        match process::start_thread(clean) {
            Ok(cleaner) => {
                self.phase = Phase::CleaningUp { done, cleaner };
                None
            }
            Err(no_thread) => no_thread.work.map(|clean| clean()),
        }
    }

    fn end_after(&mut self, cleaned_up: CleanedUp) -> Vec<Change> {
        let CleanedUp { record, result, not_kept } = cleaned_up;
        let had_ended = self.facts.outcome.is_some();
        let record = record.filter(|_| !had_ended).map(Change::Record);
        record.into_iter().chain([self.ended(*result, not_kept)]).collect()
    }

    fn ended(&mut self, result: RunResult, not_kept: Option<String>) -> Change {
        let run_dir = Some(self.dir.path().to_owned());
        let warnings = std::mem::take(&mut self.warnings);
        Change::Ended(Report::new(result, run_dir, warnings, not_kept))
    }
}

fn end_in_its_place(
    meta: &Meta,
    dir: &RunDir,
    facts: Facts,
    reason: &str,
    is_all_adopted: bool,
) -> CleanedUp {
    match recover_because(dir, reason, is_all_adopted) {
        Ok(Recovery::Ended { record, result }) => CleanedUp { record, result, not_kept: None },
        Ok(Recovery::HadEnded(result)) => CleanedUp { record: None, result, not_kept: None },
        Ok(Recovery::Alive) => {
            end_in_memory(meta, facts, reason, "another program holds the run's lock")
        }
        // This process may know more than what could be written.
        Ok(Recovery::NotKept { error, .. }) | Err(error) => {
            end_in_memory(meta, facts, reason, &error.to_string())
        }
    }
}

/// The end as far as this process knows it, for when the run directory cannot tell.
fn end_in_memory(meta: &Meta, mut facts: Facts, reason: &str, not_kept: &str) -> CleanedUp {
    let mut record = None;
    if facts.outcome.is_none() {
        // The number is never read: the event is in no file.
        let end = Record { seq: 0, at: now_ms(), event: ended(Outcome::Interrupted, reason) };
        facts.apply(&end);
        record = Some(end);
    }
    let result = Box::new(result_of(meta, &facts, duration(&facts)));
    CleanedUp { record, result, not_kept: Some(not_kept.to_owned()) }
}

/// The slot of a run is free when its supervisor has been reaped, not before.
fn await_exit(supervisor: &mut SupervisorHandle) {
    let start = Instant::now();
    while supervisor.try_wait().is_none() && start.elapsed() < 2 * EXIT_ANSWER {
        if start.elapsed() > EXIT_ANSWER {
            supervisor.kill();
        }
        std::thread::sleep(Duration::from_micros(100));
    }
}
