//! Many tasks, a few at a time, in one linear order of events.

mod starting;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};

use governor::{Applicant, Slot};
use model::{Budget, Event, Meta, Plan, RunId};
use rustix::event::{PollFd, PollFlags};
use store::{RunDir, StopForce, Store};

use crate::background::{Background, BackgroundError, start_background};
use crate::lane::{Lane, Queued};
use crate::launcher::Launcher;
use crate::leftovers::remove_abandoned_cgroups;
use crate::poll::poll_ready;
use crate::run::Run;
use crate::spending::Spending;
use crate::update::{Change, TaskId, Update};
use crate::worktree::release_before_pruning;

/// Names a lane within its dispatcher.
pub type LaneId = usize;

/// Tasks that were queued together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Submitted {
    pub lane: LaneId,
    pub tasks: Range<TaskId>,
}

/// Runs planned tasks in lanes.
///
/// A program has one dispatcher, however many calls it answers at a time: only one that knows of
/// every supervisor can tell what a dead one has left behind.
#[derive(Debug)]
pub struct Dispatcher {
    store: Store,
    /// Whether this process adopts orphans, and nothing but what its supervisors leave.
    adopts_orphans: bool,
    next_task: TaskId,
    next_lane: LaneId,
    lanes: BTreeMap<LaneId, Lane>,
    running: BTreeMap<TaskId, Running>,
    /// The background runs that this process has started and that have not ended. They are no
    /// tasks: no caller waits for them here, and nothing stops them.
    background: Vec<Background>,
    /// Made when the store cannot be written, and then used again.
    fallback: Option<Store>,
    /// A task could not be started for want of processes, and none has ended since.
    is_short: bool,
    /// Whether nothing can be started now, however few agents run.
    is_held_up: bool,
    updates: Vec<Update>,
}

struct Running {
    lane: LaneId,
    run: Run,
    /// Until something happens in the run.
    beginning: Option<Beginning>,
}

/// A run whose child has not started.
struct Beginning {
    run_dir: PathBuf,
    /// With which the task is queued again if there is no room for its child.
    plan: Box<Plan>,
    /// Whether no other run was there when it began.
    is_alone: bool,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Running").field("lane", &self.lane).finish_non_exhaustive()
    }
}

impl Dispatcher {
    /// Runs are recorded in `store`.
    pub fn new(store: Store) -> Dispatcher {
        Dispatcher {
            store,
            adopts_orphans: false,
            next_task: 0,
            next_lane: 0,
            lanes: BTreeMap::new(),
            running: BTreeMap::new(),
            background: Vec::new(),
            fallback: None,
            is_short: false,
            is_held_up: false,
            updates: Vec::new(),
        }
    }

    /// Makes this process a child subreaper, so that it also finds what a killed supervisor leaves
    /// behind without the run's marker. Only for programs that start nothing but supervisors:
    /// whatever else they adopt would be stopped as well.
    ///
    /// A program that a shell has become (`exec`) may have children from before, and would adopt what
    /// they leave. Such a program does not become a subreaper.
    #[must_use]
    pub fn adopting_orphans(mut self) -> Dispatcher {
        if process::has_children() == Some(false) {
            process::become_subreaper();
            self.adopts_orphans = true;
        }
        self
    }

    /// Queues the tasks of one call, which are started by `launcher`, so many at a time.
    pub fn submit(
        &mut self,
        launcher: Launcher,
        concurrency: usize,
        plans: impl IntoIterator<Item = Box<Plan>>,
    ) -> Submitted {
        process::raise_open_files();
        let first = self.next_task;
        let queue: VecDeque<(TaskId, Box<Plan>)> = (first..).zip(plans).collect();
        self.next_task += queue.len();
        let lane = self.next_lane;
        self.next_lane += 1;
        let (launcher, concurrency) = (Rc::new(launcher), concurrency.max(1));
        // All tasks of a call have the same.
        let admission = queue.front().and_then(|(_, plan)| plan.meta.admission.as_deref());
        let applicant = Applicant::new(admission);
        let lane_of_call = Lane {
            launcher,
            concurrency,
            queue,
            stopping: None,
            spending: Spending::default(),
            applicant,
            told: None,
        };
        self.lanes.insert(lane, lane_of_call);
        Submitted { lane, tasks: first..self.next_task }
    }

    /// Limits what the tasks of a lane may spend together, from now on. Where nothing is left, those that run are
    /// stopped, and those that wait do not start.
    pub fn limit(&mut self, lane: LaneId, budget: Budget) {
        if let Some(lane) = self.lanes.get_mut(&lane) {
            lane.spending = Spending::of(budget);
        }
    }

    /// Starts a run that outlives this process, and returns when its supervisor has taken it over.
    /// The launcher may be another one than that of the tasks.
    pub fn start_background(
        &mut self,
        launcher: &Launcher,
        plan: Plan,
    ) -> Result<(RunDir, Meta), BackgroundError> {
        // A new supervisor must not be taken for something that a dead one left behind.
        while self.is_cleaning_up() {
            self.pump(&[], None);
        }
        self.reap_background();
        let background = start_background(&self.store, launcher, plan)?;
        let started = (background.dir.clone(), background.meta.clone());
        self.background.push(background);
        Ok(started)
    }

    /// Whether every task has ended.
    pub fn is_idle(&self) -> bool {
        self.lanes.values().all(|lane| lane.queue.is_empty())
            && self.running.is_empty()
            && self.updates.is_empty()
    }

    /// Stops everything in a lane, also what is queued.
    pub fn stop(&mut self, lane: LaneId, force: StopForce) {
        let Some(stopped) = self.lanes.get_mut(&lane) else { return };
        if stopped.stopping.is_some_and(|stopping| stopping >= force) {
            return;
        }
        stopped.stopping = Some(force);
        for running in self.running.values_mut().filter(|running| running.lane == lane) {
            running.run.stop(force);
        }
    }

    /// Stops one task; if it is queued, it is not started any more.
    pub fn stop_task(&mut self, task: TaskId, force: StopForce) {
        if let Some(running) = self.running.get_mut(&task) {
            running.run.stop(force);
            return;
        }
        let queued = self.lanes.iter_mut().find_map(|(id, lane)| {
            let position = lane.queue.iter().position(|(queued, _)| *queued == task)?;
            let (task, plan) = lane.queue.remove(position)?;
            let launcher = lane.launcher.clone();
            let slot = Slot::ungoverned();
            Some((*id, Queued { slot, task, plan, launcher, stopping: Some(force), spent: None }))
        });
        if let Some((lane, queued)) = queued {
            self.start(lane, queued);
        }
    }

    /// Starts what can be started, and waits until something happens, one of `wakers` can be
    /// read, or the time is over. Where nothing of that can come, it does not wait.
    pub fn wait(&mut self, wakers: &[BorrowedFd<'_>], limit: Option<Duration>) -> Vec<Update> {
        self.reap_background();
        self.start_queued();
        let waits = self.lanes.values().any(|lane| lane.applicant.ask_at().is_some());
        let can_come = waits || !self.running.is_empty() || !wakers.is_empty() || limit.is_some();
        if self.updates.is_empty() && can_come {
            self.pump(wakers, limit);
        }
        std::mem::take(&mut self.updates)
    }

    fn pump(&mut self, wakers: &[BorrowedFd<'_>], limit: Option<Duration>) {
        for task in self.poll(wakers, limit) {
            self.receive(task);
        }
        let now = Instant::now();
        for running in self.running.values_mut() {
            running.run.check_time(now);
        }
    }

    fn reap_background(&mut self) {
        self.background.retain_mut(|background| background.supervisor.try_wait().is_none());
    }

    fn is_cleaning_up(&self) -> bool {
        self.running.values().any(|running| running.run.is_cleaning_up())
    }

    fn poll(&self, wakers: &[BorrowedFd<'_>], limit: Option<Duration>) -> Vec<TaskId> {
        let (tasks, mut fds): (Vec<TaskId>, Vec<PollFd<'_>>) = self
            .running
            .iter()
            .filter_map(|(task, running)| {
                let mut flags = PollFlags::IN;
                flags.set(PollFlags::OUT, running.run.wants_to_write());
                Some((*task, PollFd::from_borrowed_fd(running.run.waker()?, flags)))
            })
            .unzip();
        // As long as nothing could be started, it is of no use to ask whether it may.
        let applicants = || {
            let lanes = self.lanes.values().filter(|_| !self.is_held_up);
            lanes.map(|lane| &lane.applicant)
        };
        let wakers = wakers.iter().copied().chain(applicants().filter_map(Applicant::waker));
        fds.extend(wakers.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let now = Instant::now();
        let deadlines = self.running.values().filter_map(|running| running.run.deadline());
        let deadlines = deadlines.chain(applicants().filter_map(Applicant::ask_at));
        let deadline = deadlines.min().map(|deadline| deadline.saturating_duration_since(now));
        let timeout = limit.into_iter().chain(deadline).min();
        if !poll_ready(&mut fds, timeout) {
            return Vec::new();
        }
        let ready = tasks.into_iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty());
        ready.map(|(task, _)| task).collect()
    }

    fn receive(&mut self, task: TaskId) {
        self.reap_background();
        let siblings = self.adopts_orphans.then(|| {
            let background = self.background.iter();
            let background = background.map(|run| run.supervisor.pid());
            let others = self.running.iter().filter(|(other, _)| **other != task);
            let pids = others.filter_map(|(_, running)| running.run.supervisor_pid());
            pids.chain(background).collect()
        });
        let Some(running) = self.running.get_mut(&task) else { return };
        for change in running.run.receive(siblings) {
            self.update(task, change);
        }
        if let Some(running) = self.running.get_mut(&task)
            && let Some(reason) = running.run.no_room.take()
        {
            self.begin_again(task, &reason);
        }
    }

    /// Adds what a task has told to what its lane has spent, and tells the tasks of the lane what comes of it.
    fn spend(&mut self, task: TaskId, event: &Event) {
        let Some(id) = self.running.get(&task).map(|running| running.lane) else { return };
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        let Some(notice) = lane.spending.add(event) else { return };
        for running in self.running.values_mut().filter(|running| running.lane == id) {
            running.run.tell(&notice);
        }
    }

    /// Passes a change on. A task that has ended gives its slot back.
    fn update(&mut self, task: TaskId, change: Change) {
        if let Change::Record(record) = &change {
            self.spend(task, &record.event);
        }
        let beginning = self.running.get_mut(&task).and_then(|running| running.beginning.take());
        if let Some(Beginning { run_dir, .. }) = beginning {
            self.updates.push(Update { task, change: Change::Started { run_dir } });
        }
        if let Change::Ended(report) = &change {
            self.running.remove(&task);
            self.is_short = false;
            prune_now_and_then(&self.store, &report.result.run_id);
        }
        self.updates.push(Update { task, change });
    }
}

/// Removes old runs, and what killed ones left. That reads the whole store, so only about one run in 256 does it,
/// drawn by its random id: no state has to be shared between programs for that.
pub(crate) fn prune_now_and_then(store: &Store, run_id: &RunId) {
    if run_id.as_str().ends_with("00") {
        // Old runs that cannot be removed are no concern of this one.
        let _ = store.prune_by_itself(SystemTime::now(), &release_before_pruning);
        remove_abandoned_cgroups();
    }
}
