//! Many tasks, a few at a time, in one linear order of events.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use model::{Activity, Event, Lifetime, Meta, Outcome, Plan, Record, RunId, RunResult};
use process::Pid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use session::Facts;
use store::{Journal, NewRun, Retention, RunDir, Store};

use crate::background::{Background, BackgroundError, start_background};
use crate::launcher::Launcher;
use crate::now_ms;
use crate::result::result_of;
use crate::run::{News, Run, StopForce};

/// Names a task within its dispatcher; counts from zero in the order of submission.
pub type TaskId = usize;

/// Something that the owner of a task should know.
#[derive(Debug)]
pub enum Update {
    /// It has left the queue.
    Started {
        /// Which.
        task: TaskId,
        /// Where it is recorded.
        run_dir: PathBuf,
    },
    /// Something happened in it.
    Record {
        /// Which.
        task: TaskId,
        /// What.
        record: Record,
    },
    /// Its child does something else now.
    Activity {
        /// Which.
        task: TaskId,
        /// What.
        activity: Activity,
    },
    /// Nothing of it is left. The last update of a task.
    Ended {
        /// Which.
        task: TaskId,
        /// How.
        report: Box<Report>,
    },
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The result, the same as in `result.json`.
    pub result: RunResult,
    /// Where the run is recorded, if anywhere.
    pub run_dir: Option<PathBuf>,
    /// What people should know about the record itself.
    pub warnings: Vec<String>,
}

/// Runs planned tasks, at most a given number at a time.
#[derive(Debug)]
pub struct Dispatcher {
    store: Store,
    launcher: Box<dyn Launcher>,
    concurrency: usize,
    /// The children that were there before us, if this process adopts orphans.
    inherited: Option<Vec<Pid>>,
    next_task: TaskId,
    queue: VecDeque<(TaskId, Plan)>,
    running: BTreeMap<TaskId, Running>,
    /// The background runs that this process has started and that have not ended. They are no
    /// tasks: nobody waits for them here, and nothing stops them.
    background: Vec<Background>,
    /// Made when the store cannot be written, and then used again.
    fallback: Option<Store>,
    stopping: Option<StopForce>,
    updates: Vec<Update>,
}

struct Running {
    run: Run,
    warnings: Vec<String>,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Running").field("run_dir", &self.run.run_dir()).finish()
    }
}

impl Dispatcher {
    /// Runs are recorded in `store` and started by `launcher`.
    pub fn new(store: Store, launcher: Box<dyn Launcher>, concurrency: usize) -> Dispatcher {
        Dispatcher {
            store,
            launcher,
            concurrency: concurrency.max(1),
            inherited: None,
            next_task: 0,
            queue: VecDeque::new(),
            running: BTreeMap::new(),
            background: Vec::new(),
            fallback: None,
            stopping: None,
            updates: Vec::new(),
        }
    }

    /// Makes this process a child subreaper, so that it also finds what a killed supervisor leaves
    /// behind without the run's marker. Only for programs that start nothing but supervisors:
    /// whatever else they adopt would be stopped as well.
    #[must_use]
    pub fn adopting_orphans(mut self) -> Dispatcher {
        process::become_subreaper();
        self.inherited = Some(process::children());
        self
    }

    /// Queues a task.
    pub fn submit(&mut self, plan: Plan) -> TaskId {
        let task = self.next_task;
        self.next_task += 1;
        self.queue.push_back((task, plan));
        task
    }

    /// Starts a run that outlives this process, and returns when its supervisor has taken it over.
    /// The launcher may be another one than that of the tasks.
    pub fn start_background(
        &mut self,
        launcher: &dyn Launcher,
        plan: Plan,
    ) -> Result<(RunDir, Meta), BackgroundError> {
        // A new supervisor must not be taken for something that a dead one left behind.
        while self.is_burying() {
            self.pump(&[], None);
        }
        self.forget_ended_background();
        let background = start_background(&self.store, launcher, plan)?;
        let started = (background.dir.clone(), background.meta.clone());
        self.background.push(background);
        Ok(started)
    }

    /// Whether every task has ended.
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.running.is_empty() && self.updates.is_empty()
    }

    /// Stops everything, also what is queued.
    pub fn stop(&mut self, force: StopForce) {
        if self.stopping.is_some_and(|stopping| stopping >= force) {
            return;
        }
        self.stopping = Some(force);
        for running in self.running.values_mut() {
            running.run.stop(force);
        }
    }

    /// Starts what can be started, and waits until something happens, one of `wakers` can be
    /// read, or the time is over.
    pub fn wait(&mut self, wakers: &[BorrowedFd<'_>], limit: Option<Duration>) -> Vec<Update> {
        self.forget_ended_background();
        self.start_queued();
        if !self.updates.is_empty() || self.running.is_empty() {
            return std::mem::take(&mut self.updates);
        }
        self.pump(wakers, limit);
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

    /// Takes those of our background supervisors that have ended from among the dead.
    fn forget_ended_background(&mut self) {
        self.background.retain_mut(|background| background.supervisor.try_wait().is_none());
    }

    fn is_burying(&self) -> bool {
        self.running.values().any(|running| running.run.is_burying())
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
        fds.extend(wakers.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)));
        let now = Instant::now();
        let deadlines = self.running.values().filter_map(|running| running.run.next_deadline());
        let deadline = deadlines.min().map(|deadline| deadline.saturating_duration_since(now));
        let timeout = limit.into_iter().chain(deadline).min();
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) => {
                let ready = tasks.into_iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty());
                ready.map(|(task, _)| task).collect()
            }
            Err(rustix::io::Errno::INTR) => Vec::new(),
            Err(_) => {
                // Out of memory, most likely: it must not become a busy loop as well.
                std::thread::sleep(Duration::from_millis(10));
                Vec::new()
            }
        }
    }

    fn receive(&mut self, task: TaskId) {
        self.forget_ended_background();
        let siblings = self.inherited.as_ref().map(|inherited| {
            let background = self.background.iter();
            let background = background.filter_map(|run| run.supervisor.child_pid());
            let others = self.running.iter().filter(|(other, _)| **other != task);
            let pids = others.filter_map(|(_, running)| running.run.supervisor_pid());
            pids.chain(inherited.iter().copied()).chain(background).collect()
        });
        let Some(running) = self.running.get_mut(&task) else {
            return;
        };
        for news in running.run.receive(siblings) {
            match news {
                News::Record(record) => self.updates.push(Update::Record { task, record }),
                News::Activity(activity) => self.updates.push(Update::Activity { task, activity }),
                News::Ended { result, not_kept } => {
                    if let Some(ended) = self.running.remove(&task) {
                        let run_dir = ended.run.run_dir();
                        self.report(task, *result, Some(run_dir), ended.warnings, not_kept);
                    }
                    return;
                }
            }
        }
    }

    fn start_queued(&mut self) {
        // A new supervisor must not be taken for something that a dead one left behind.
        while self.running.len() < self.concurrency
            && !self.is_burying()
            && let Some((task, plan)) = self.queue.pop_front()
        {
            self.start(task, plan);
        }
    }

    fn start(&mut self, task: TaskId, plan: Plan) {
        let refusal = match (&plan.refusal, self.stopping) {
            (Some(refusal), _) => Some((Outcome::SpawnFailure, refusal.clone())),
            (None, Some(_)) => {
                Some((Outcome::Cancelled, "Cancelled before it was started".to_owned()))
            }
            (None, None) => None,
        };
        let (new_run, warnings) = match self.create(&plan) {
            Ok(created) => created,
            Err(error) => {
                let refusal = refusal.unwrap_or_else(|| spawn_failure(&error));
                let (record, result) = end_unstarted(&plan.meta, refusal);
                self.updates.push(Update::Record { task, record });
                self.report(task, result, None, Vec::new(), Some(error));
                return;
            }
        };
        let run_dir = new_run.dir.path().to_owned();
        self.updates.push(Update::Started { task, run_dir });
        if let Some(refusal) = refusal {
            self.refuse(task, &new_run, refusal, warnings);
            return;
        }
        match Run::start(self.launcher.as_ref(), new_run, plan.secrets) {
            Ok(run) => {
                self.running.insert(task, Running { run, warnings });
            }
            Err(unstarted) => {
                let (error, new_run) = *unstarted;
                self.refuse(task, &new_run, spawn_failure(&error.to_string()), warnings);
            }
        }
    }

    /// Makes the run directory, in the temporary directory if the project's cannot be written.
    fn create(&mut self, plan: &Plan) -> Result<(NewRun, Vec<String>), String> {
        let error = match self.store.create(plan) {
            Ok(new_run) => return Ok((new_run, Vec::new())),
            Err(error) => error,
        };
        // Nobody would find a background run in a temporary directory.
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
        let kept = Journal::begin(&new_run.dir, &new_run.meta.limits).and_then(|mut journal| {
            journal.record(record.at, record.event.clone());
            journal.finish(&result)
        });
        self.updates.push(Update::Record { task, record });
        let not_kept = kept.err().map(|error| error.to_string());
        let run_dir = new_run.dir.path().to_owned();
        self.report(task, result, Some(run_dir), warnings, not_kept);
    }

    fn report(
        &mut self,
        task: TaskId,
        result: RunResult,
        run_dir: Option<PathBuf>,
        mut warnings: Vec<String>,
        not_kept: Option<String>,
    ) {
        warnings.extend(not_kept.map(|reason| format!("The result was not kept: {reason}")));
        prune_now_and_then(&self.store, &result.run_id);
        let report = Box::new(Report { result, run_dir, warnings });
        self.updates.push(Update::Ended { task, report });
    }
}

fn spawn_failure(error: &str) -> (Outcome, String) {
    (Outcome::SpawnFailure, format!("Failed to spawn sub-agent process: {error}"))
}

/// Removes old runs. That reads the whole store, so only about one run in 256 does it, drawn by its
/// random id: no state has to be shared between programs for that.
pub(crate) fn prune_now_and_then(store: &Store, run_id: &RunId) {
    if run_id.as_str().ends_with("00") {
        // Old runs that cannot be removed are no concern of this one.
        let _ = store.prune(&Retention::default(), SystemTime::now());
    }
}

/// The end of a run that was not started.
pub(crate) fn end_unstarted(
    meta: &Meta,
    (outcome, error): (Outcome, String),
) -> (Record, RunResult) {
    let event = Event::RunEnded { outcome, error: Some(error), exit_code: None, signal: None };
    let record = Record { seq: 1, at: now_ms(), event };
    let mut facts = Facts::default();
    facts.apply(&record);
    let result = result_of(meta, &facts, 0);
    (record, result)
}
