//! A call that wants to start agents, one after the other.

use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use model::{Admission, Meta, WaitReason, Waiting};

use crate::admit::Gate;
use crate::notice::{Notice, Posted};
use crate::now_ms;
use crate::queue::{Turn, is_waited, pass_over_first};
use crate::shared_dir::{SharedDir, names};
use crate::slot::Slot;

/// What is answered to a program that asks whether an agent may start.
#[derive(Debug)]
pub enum Answer {
    /// It may, as long as this is kept.
    Start(Slot),
    /// Not now. Ask again when a waker can be read, or the time has come.
    Wait(Waiting),
}

/// One call, or one background run, as far as it starts agents. It has one place in the queue.
#[derive(Debug)]
pub struct Applicant {
    gate: Option<(Gate, SharedDir)>,
    turn: Option<Turn>,
    /// Where the run is recorded that waits, if it is recorded already.
    run_dir: Option<PathBuf>,
    /// What a run waits for that had begun.
    parked: Option<Parked>,
    notice: Option<Posted>,
    waiting: Option<Waiting>,
    ask_at: Option<Instant>,
    /// Since when a slot seems to be free that the calls before do not take.
    unused_since: Option<Instant>,
}

/// A run that had begun, and goes on when its provider gives something again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parked {
    /// What the provider says.
    pub words: String,
    /// In milliseconds since 1970.
    pub until: u64,
}

/// How often a parked run looks at the clock, which can be set, and goes on while the machine sleeps.
const PARKED_LOOK: Duration = Duration::from_secs(60);
/// How often the first in the queue looks by itself: a supervisor that is killed rings no bell, and memory never does.
const FIRST_LOOKS: Duration = Duration::from_millis(500);
/// How often all others look whether the calls before them take what is free: their programs can be stopped, or held up by a
/// terminal that nothing reads.
const OTHERS_LOOK: Duration = Duration::from_secs(8);
/// A slot that was free at two looks, so far apart, is not being used.
const PATIENCE: Duration = Duration::from_secs(5);
/// When to try again if another program is just deciding.
const BUSY: Duration = Duration::from_millis(5);

impl Applicant {
    /// Without an admission, everything may start at once. So it is where no directory is the user's own.
    pub fn new(admission: Option<&Admission>) -> Applicant {
        let gate = admission.and_then(|admission| {
            let shared = SharedDir::open(&admission.directories)?;
            Some((Gate::new(admission.clone()), shared))
        });
        Applicant {
            gate,
            turn: None,
            run_dir: None,
            parked: None,
            notice: None,
            waiting: None,
            ask_at: None,
            unused_since: None,
        }
    }

    /// The same for a run that is recorded before it may start.
    #[must_use]
    pub fn of_run(self, run_dir: &Path) -> Applicant {
        Applicant { run_dir: Some(run_dir.to_owned()), ..self }
    }

    /// The same for a run that waits for its provider first.
    #[must_use]
    pub fn parked(self, parked: Option<Parked>) -> Applicant {
        Applicant { parked, ..self }
    }

    /// May this run start its agent now? `tasks` says how many of the call have not started.
    pub fn ask(&mut self, meta: &Meta, tasks: usize) -> Answer {
        let now = now_ms();
        let gate = self.gate.take();
        let shared = gate.as_ref().map(|(_, shared)| shared);
        let answer = match (self.still_parked(now), &gate) {
            (Some(reason), _) => Err(reason),
            (None, None) => Ok(Slot::ungoverned()),
            (None, Some((gate, shared))) => self.ask_gate(gate, shared, meta, now),
        };
        let answer = match answer {
            Ok(slot) => {
                self.leave();
                Answer::Start(slot)
            }
            Err(reason) => Answer::Wait(self.note(shared, reason, meta, tasks, now)),
        };
        self.gate = gate;
        answer
    }

    /// Gives its place in the queue up, for when there is nothing more to start.
    pub fn leave(&mut self) {
        self.turn = None;
        self.notice = None;
        self.waiting = None;
        self.ask_at = None;
        self.unused_since = None;
    }

    /// Becomes readable when it is worth asking again.
    pub fn waker(&self) -> Option<BorrowedFd<'_>> {
        self.turn.as_ref()?.waker()
    }

    /// When it is worth asking again, whatever happens until then.
    pub fn ask_at(&self) -> Option<Instant> {
        self.ask_at
    }

    /// Why a parked run does not go on yet. From its time on, it waits like any other.
    fn still_parked(&mut self, now: u64) -> Option<WaitReason> {
        if self.parked.take_if(|parked| parked.until <= now).is_some() {
            self.ask_at = None;
        }
        let Parked { words, until } = self.parked.clone()?;
        let left = Duration::from_millis(until - now);
        self.ask_at = Some(Instant::now() + left.min(PARKED_LOOK));
        Some(WaitReason::Quota { words, until })
    }

    fn ask_gate(
        &mut self,
        gate: &Gate,
        shared: &SharedDir,
        meta: &Meta,
        now: u64,
    ) -> Result<Slot, WaitReason> {
        match gate.own_reason(shared, meta, now) {
            Some(reason) => Err(self.step_aside(reason)),
            None => self.ask_for_slot(gate, shared, meta, now),
        }
    }

    /// Lets others pass, because of a reason of the task itself.
    fn step_aside(&mut self, reason: WaitReason) -> WaitReason {
        self.turn = None;
        self.ask_at = Some(Instant::now() + FIRST_LOOKS);
        reason
    }

    fn ask_for_slot(
        &mut self,
        gate: &Gate,
        shared: &SharedDir,
        meta: &Meta,
        now: u64,
    ) -> Result<Slot, WaitReason> {
        let is_due = self.ask_at.is_none_or(|at| Instant::now() >= at);
        if let (None, Some(waiting), false) = (&self.turn, &self.waiting, is_due) {
            return Err(waiting.reason.clone());
        }
        if let (Some(turn), Some(waiting)) = (&mut self.turn, &self.waiting) {
            let is_called = turn.is_called();
            if !is_called && !is_due {
                return Err(waiting.reason.clone());
            }
            let is_undisturbed = !is_called && !turn.is_first() && !turn.is_before_gone();
            // Most of those that wait look like this, every few seconds, so it must cost little.
            if is_undisturbed
                && names(&shared.running()).len() >= gate.admission.machine_concurrency
            {
                self.unused_since = None;
                self.ask_at = Some(Instant::now() + OTHERS_LOOK);
                return Err(waiting.reason.clone());
            }
        }
        let Some(_locked) = shared.lock() else {
            self.ask_at = Some(Instant::now() + BUSY);
            return Err(self.reason_so_far());
        };
        self.decide(gate, shared, meta, now)
    }

    /// Under the lock.
    fn decide(
        &mut self,
        gate: &Gate,
        shared: &SharedDir,
        meta: &Meta,
        now: u64,
    ) -> Result<Slot, WaitReason> {
        // A turn that was passed over is none.
        self.turn = self.turn.take().filter(Turn::is_queued);
        let is_first = match &mut self.turn {
            Some(turn) => turn.look_ahead(shared),
            None => !is_waited(shared),
        };
        let reason = gate.common_reason(shared, true, now);
        if is_first && reason.is_none() {
            // Another agent may have taken the last place at the provider since that was asked.
            return match gate.own_reason(shared, meta, now) {
                Some(reason) => Err(self.step_aside(reason)),
                None => Ok(gate.grant(shared, meta, now)),
            };
        }
        if self.turn.is_none() {
            self.turn = Turn::take(shared).ok();
            if let Some(turn) = &mut self.turn {
                turn.look_ahead(shared);
            }
        }
        let at = Instant::now();
        self.unused_since = match &reason {
            None if !is_first => self.unused_since.or(Some(at)),
            _ => None,
        };
        if self.unused_since.is_some_and(|since| at.duration_since(since) > PATIENCE) {
            pass_over_first(shared);
            self.unused_since = None;
            self.ask_at = Some(at);
        } else {
            // Not all of them at once.
            let offset = Duration::from_millis(u64::from(std::process::id() % 4096));
            self.ask_at = Some(at + if is_first { FIRST_LOOKS } else { OTHERS_LOOK + offset });
        }
        Err(reason.unwrap_or(WaitReason::Turn))
    }

    fn reason_so_far(&self) -> WaitReason {
        self.waiting.as_ref().map_or(WaitReason::Turn, |waiting| waiting.reason.clone())
    }

    /// Says what is waited for, to the caller and to other programs.
    fn note(
        &mut self,
        shared: Option<&SharedDir>,
        reason: WaitReason,
        meta: &Meta,
        tasks: usize,
        now: u64,
    ) -> Waiting {
        let since = self.waiting.as_ref().map_or(now, |waiting| waiting.since);
        let waiting = Waiting { reason, since };
        self.waiting = Some(waiting.clone());
        let (name, cwd, program) = (meta.name.clone(), meta.cwd.clone(), std::process::id());
        let run_dir = self.run_dir.clone();
        let run_id = run_dir.as_ref().map(|_| meta.run_id.clone());
        let notice =
            Notice { name, cwd, run_id, run_dir, tasks, program, waiting: waiting.clone() };
        match &mut self.notice {
            Some(posted) => posted.update(notice),
            None => self.notice = shared.and_then(|shared| Posted::new(shared, notice)),
        }
        waiting
    }
}
