//! Which task is started next, and what becomes of one that cannot be.

use governor::Answer;
use model::{Lifetime, Outcome, Plan};
use store::{NewRun, Store, StoreError};

use super::{Beginning, Dispatcher, LaneId, Running};
use crate::lane::Queued;
use crate::leftovers::cgroup_path;
use crate::run::Run;
use crate::spending::not_started;
use crate::unstarted::{end_unstarted, keep_unstarted, spawn_failure};
use crate::update::{Change, Report, TaskId, Update};

/// How many descriptors must be free to start a task: for its directory and its supervisor, and for
/// whatever else the program does meanwhile.
const DESCRIPTORS: usize = 16;

impl Dispatcher {
    /// Queues a task again whose child could not be started for want of processes, or fails it if there
    /// is nothing of ours to wait for.
    pub(super) fn begin_again(&mut self, task: TaskId, reason: &str) {
        let Some(Running { lane, run, beginning }) = self.running.remove(&task) else { return };
        run.discard();
        let Some(Beginning { mut plan, is_alone, .. }) = beginning else { return };
        if is_alone && self.running.is_empty() {
            plan.refusal = Some(spawn_failure(reason).1);
        }
        self.queue_again(lane, task, plan);
    }

    /// Puts a task back to the front of its lane, until another one has ended.
    fn queue_again(&mut self, lane: LaneId, task: TaskId, plan: Box<Plan>) {
        self.is_short = true;
        if let Some(lane) = self.lanes.get_mut(&lane) {
            let later = lane.queue.iter().position(|(other, _)| *other > task);
            lane.queue.insert(later.unwrap_or(lane.queue.len()), (task, plan));
        }
    }

    pub(super) fn start_queued(&mut self) {
        self.is_held_up = false;
        let lanes: Vec<LaneId> = self.lanes.keys().copied().collect();
        for lane in lanes {
            while let Some(queued) = self.next_queued(lane) {
                self.start(lane, queued);
            }
        }
        // Lanes with nothing left to do are dropped, so that calls do not pile up.
        let running = &self.running;
        self.lanes.retain(|id, lane| {
            !lane.queue.is_empty() || running.values().any(|running| running.lane == *id)
        });
    }

    /// The next task of a lane, if one can be started now.
    fn next_queued(&mut self, id: LaneId) -> Option<Queued> {
        // A new supervisor must not be taken for something that a dead one left behind.
        if self.is_cleaning_up() {
            self.is_held_up = true;
            return None;
        }
        // At the limit of processes or descriptors, a task waits until another one has ended.
        let has_room = || !self.is_short && process::has_free_descriptors(DESCRIPTORS);
        if !self.running.is_empty() && !has_room() {
            self.is_held_up = true;
            return None;
        }
        let running = self.running.values().filter(|running| running.lane == id).count();
        let lane = self.lanes.get_mut(&id)?;
        let room = lane.concurrency.saturating_sub(running);
        let slot = match lane.ask(room)? {
            Answer::Start(slot) => slot,
            Answer::Wait(waiting) => {
                let tasks = lane.queue.iter().take(room).map(|(task, _)| *task);
                let told = (waiting, tasks.len());
                if lane.told.as_ref() != Some(&told) {
                    let waiting = |task| Update { task, change: Change::Waiting(told.0.clone()) };
                    self.updates.extend(tasks.map(waiting));
                    lane.told = Some(told);
                }
                return None;
            }
        };
        lane.told = None;
        let (task, plan) = lane.queue.pop_front()?;
        let (launcher, stopping) = (lane.launcher.clone(), lane.stopping);
        let spent = lane.spending.spent_words();
        Some(Queued { slot, task, plan, launcher, stopping, spent })
    }

    pub(super) fn start(&mut self, lane: LaneId, queued: Queued) {
        let Queued { slot, task, mut plan, launcher, stopping, spent } = queued;
        let refusal = match (&plan.refusal, stopping) {
            (Some(refusal), _) => Some((Outcome::SpawnFailure, refusal.clone())),
            (None, Some(_)) => {
                Some((Outcome::Cancelled, "Cancelled before it was started".to_owned()))
            }
            (None, None) => {
                let of_call = spent.map(|words| not_started(&words));
                let of_day = || plan.meta.ledger.as_deref().and_then(governor::day_is_spent);
                of_call.or_else(of_day).map(|words| (Outcome::Budget, words))
            }
        };
        if refusal.is_none() {
            plan.meta_mut().cgroup = cgroup_path(&plan.meta.run_id);
        }
        let (new_run, warnings) = match self.create(&plan) {
            Ok(created) => created,
            Err(error) => {
                let refusal = refusal.unwrap_or_else(|| spawn_failure(&error));
                let (record, result) = end_unstarted(&plan.meta, refusal);
                self.update(task, Change::Record(record));
                let report = Report::new(result, None, Vec::new(), Some(error));
                self.update(task, Change::Ended(report));
                return;
            }
        };
        let run_dir = new_run.dir.path().to_owned();
        if let Some(refusal) = refusal {
            self.update(task, Change::Started { run_dir });
            self.refuse(task, &new_run, refusal, warnings);
            return;
        }
        let is_alone = self.running.is_empty();
        match Run::start(&launcher, new_run, plan.secrets.clone(), warnings, slot) {
            Ok(run) => {
                let beginning = Some(Beginning { run_dir, plan, is_alone });
                self.running.insert(task, Running { lane, run, beginning });
            }
            Err(unstarted) if process::is_shortage(&unstarted.0) && !is_alone => {
                unstarted.1.dir.discard();
                self.queue_again(lane, task, plan);
            }
            Err(unstarted) => {
                let (error, new_run, warnings) = *unstarted;
                self.update(task, Change::Started { run_dir });
                self.refuse(task, &new_run, spawn_failure(&error.to_string()), warnings);
            }
        }
    }

    /// Makes the run directory, in the temporary directory if the project's cannot be written.
    fn create(&mut self, plan: &Plan) -> Result<(NewRun, Vec<String>), String> {
        let error = match self.store.create(plan) {
            Ok(new_run) => return Ok((new_run, Vec::new())),
            // It would be too long anywhere.
            Err(error @ StoreError::TaskTooLong { .. }) => return Err(error.to_string()),
            Err(error) => error,
        };
        // A background run would not be found in a temporary directory.
        if plan.meta.lifetime == Lifetime::Background {
            return Err(error.to_string());
        }
        let is_new = self.fallback.is_none();
        let fallback = self.fallback.take().map_or_else(Store::temporary, Ok);
        let created = fallback.and_then(|store| match store.create(plan) {
            Ok(new_run) => Ok((new_run, store)),
            Err(second) => {
                if is_new {
                    store.discard();
                }
                Err(second)
            }
        });
        let (new_run, fallback) = created
            .map_err(|second| format!("{error}; and no temporary directory either: {second}"))?;
        self.fallback = Some(fallback);
        let warning = format!(
            "{} cannot be written, so this run is kept in {} instead ({error})",
            self.store.path().display(),
            new_run.dir.path().display()
        );
        Ok((new_run, vec![warning]))
    }

    /// Ends a run that is not started, in the same way as any other.
    fn refuse(
        &mut self,
        task: TaskId,
        new_run: &NewRun,
        refusal: (Outcome, String),
        warnings: Vec<String>,
    ) {
        let (record, result) = end_unstarted(&new_run.meta, refusal);
        let kept = keep_unstarted(new_run, &record, &result);
        self.update(task, Change::Record(record));
        let not_kept = kept.err().map(|error| error.to_string());
        let run_dir = Some(new_run.dir.path().to_owned());
        self.update(task, Change::Ended(Report::new(result, run_dir, warnings, not_kept)));
    }
}
