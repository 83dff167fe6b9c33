//! Many tasks, a few at a time, in one linear order of events.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use model::{Activity, Event, Lifetime, Meta, Outcome, Plan, Record, RunId, RunResult};
use process::Pid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use session::Facts;
use store::{Journal, NewRun, Retention, Store};

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
    pub run_dir: PathBuf,
    /// What people should know about the record itself.
    pub warnings: Vec<String>,
}

/// Runs planned tasks, at most a given number at a time.
#[derive(Debug)]
pub struct Dispatcher {
    store: Store,
    launcher: Box<dyn Launcher>,
    concurrency: usize,
    adopts_orphans: bool,
    next_task: TaskId,
    queue: VecDeque<(TaskId, Plan)>,
    running: BTreeMap<TaskId, Running>,
    /// Used instead of `store` once that could not be written.
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
            adopts_orphans: false,
            next_task: 0,
            queue: VecDeque::new(),
            running: BTreeMap::new(),
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
        self.adopts_orphans = true;
        self
    }

    /// Queues a task.
    pub fn submit(&mut self, plan: Plan) -> TaskId {
        let task = self.next_task;
        self.next_task += 1;
        self.queue.push_back((task, plan));
        task
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
        self.start_queued();
        if !self.updates.is_empty() || self.running.is_empty() {
            return std::mem::take(&mut self.updates);
        }
        let ready = self.poll(wakers, limit);
        let pids: Vec<(TaskId, Pid)> = self
            .running
            .iter()
            .filter_map(|(task, running)| Some((*task, running.run.supervisor_pid()?)))
            .collect();
        for task in ready {
            let siblings: Vec<Pid> =
                pids.iter().filter(|(other, _)| *other != task).map(|(_, pid)| *pid).collect();
            self.receive(task, &siblings);
        }
        let now = Instant::now();
        for running in self.running.values_mut() {
            running.run.check_time(now);
        }
        std::mem::take(&mut self.updates)
    }

    fn poll(&self, wakers: &[BorrowedFd<'_>], limit: Option<Duration>) -> Vec<TaskId> {
        let lifelines = self.running.values().map(|running| running.run.lifeline());
        let mut fds: Vec<PollFd<'_>> = lifelines
            .chain(wakers.iter().copied())
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        let now = Instant::now();
        let deadlines = self.running.values().filter_map(|running| running.run.next_deadline());
        let deadline = deadlines.min().map(|deadline| deadline.saturating_duration_since(now));
        let timeout = limit.into_iter().chain(deadline).min();
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        if poll(&mut fds, timeout.as_ref()).is_err() {
            return Vec::new();
        }
        let tasks = self.running.keys().zip(&fds);
        tasks.filter(|(_, fd)| !fd.revents().is_empty()).map(|(task, _)| *task).collect()
    }

    fn receive(&mut self, task: TaskId, siblings: &[Pid]) {
        let Some(running) = self.running.get_mut(&task) else {
            return;
        };
        for news in running.run.receive(self.adopts_orphans.then_some(siblings)) {
            match news {
                News::Record(record) => self.updates.push(Update::Record { task, record }),
                News::Activity(activity) => self.updates.push(Update::Activity { task, activity }),
                News::Ended { result, not_kept } => {
                    if let Some(ended) = self.running.remove(&task) {
                        let run_dir = ended.run.run_dir();
                        self.report(task, *result, run_dir, ended.warnings, not_kept);
                    }
                    return;
                }
            }
        }
    }

    fn start_queued(&mut self) {
        while self.running.len() < self.concurrency
            && let Some((task, plan)) = self.queue.pop_front()
        {
            self.start(task, plan);
        }
    }

    fn start(&mut self, task: TaskId, plan: Plan) {
        let Plan { meta, prompt, refusal } = plan;
        let refusal = match (refusal, self.stopping) {
            (Some(refusal), _) => Some((Outcome::SpawnFailure, refusal)),
            (None, Some(_)) => {
                Some((Outcome::Cancelled, "Cancelled before it was started".to_owned()))
            }
            (None, None) => None,
        };
        let (new_run, warnings) = match self.create(&meta, &prompt) {
            Ok(created) => created,
            Err(error) => {
                let refusal = refusal.unwrap_or_else(|| {
                    let message = format!("Failed to spawn sub-agent process: {error}");
                    (Outcome::SpawnFailure, message)
                });
                let result = end_unstarted(&meta, refusal).1;
                self.report(task, result, PathBuf::new(), Vec::new(), Some(error));
                return;
            }
        };
        let run_dir = new_run.dir.path().to_owned();
        self.updates.push(Update::Started { task, run_dir });
        if let Some(refusal) = refusal {
            self.refuse(task, &meta, &new_run, refusal, warnings);
            return;
        }
        match Run::start(self.launcher.as_ref(), meta, new_run) {
            Ok(run) => {
                self.running.insert(task, Running { run, warnings });
            }
            Err((error, unstarted)) => {
                let (meta, new_run) = *unstarted;
                let message = format!("Failed to spawn sub-agent process: {error}");
                self.refuse(task, &meta, &new_run, (Outcome::SpawnFailure, message), warnings);
            }
        }
    }

    /// Makes the run directory, in the temporary directory if the project's cannot be written.
    fn create(&mut self, meta: &Meta, prompt: &str) -> Result<(NewRun, Vec<String>), String> {
        if self.fallback.is_none() {
            match self.store.create(meta, prompt) {
                Ok(new_run) => return Ok((new_run, Vec::new())),
                // Nobody would find a background run in a temporary directory.
                Err(error) if meta.lifetime == Lifetime::Background => {
                    return Err(error.to_string());
                }
                Err(error) => {
                    let fallback = Store::temporary().map_err(|second| {
                        format!("{error}; and no temporary directory either: {second}")
                    })?;
                    self.fallback = Some(fallback);
                }
            }
        }
        let store = self.fallback.as_ref().unwrap_or(&self.store);
        let new_run = store.create(meta, prompt).map_err(|error| error.to_string())?;
        let warning = format!(
            "{} cannot be written, so this run is kept in {} instead",
            self.store.path().display(),
            new_run.dir.path().display()
        );
        Ok((new_run, vec![warning]))
    }

    /// Ends a run that is not started, in the same way as any other.
    fn refuse(
        &mut self,
        task: TaskId,
        meta: &Meta,
        new_run: &NewRun,
        refusal: (Outcome, String),
        warnings: Vec<String>,
    ) {
        let (record, result) = end_unstarted(meta, refusal);
        let kept = Journal::begin(&new_run.dir, &meta.limits).and_then(|mut journal| {
            journal.record(record.at, record.event.clone());
            journal.finish(&result)
        });
        self.updates.push(Update::Record { task, record });
        let not_kept = kept.err().map(|error| error.to_string());
        self.report(task, result, new_run.dir.path().to_owned(), warnings, not_kept);
    }

    fn report(
        &mut self,
        task: TaskId,
        result: RunResult,
        run_dir: PathBuf,
        mut warnings: Vec<String>,
        not_kept: Option<String>,
    ) {
        warnings.extend(not_kept.map(|reason| format!("The result was not kept: {reason}")));
        if is_time_to_prune(&result.run_id) {
            // Old runs that cannot be removed are no concern of this one.
            let _ = self.store.prune(&Retention::default(), SystemTime::now());
        }
        let report = Box::new(Report { result, run_dir, warnings });
        self.updates.push(Update::Ended { task, report });
    }
}

/// Pruning reads the whole store, so only about one run in 256 does it, drawn by its random id:
/// no facts has to be shared between programs for that.
fn is_time_to_prune(run_id: &RunId) -> bool {
    run_id.as_str().ends_with("00")
}

fn end_unstarted(meta: &Meta, (outcome, error): (Outcome, String)) -> (Record, RunResult) {
    let event = Event::RunEnded { outcome, error: Some(error), exit_code: None, signal: None };
    let record = Record { seq: 1, at: now_ms(), event };
    let mut facts = Facts::default();
    facts.apply(&record);
    let result = result_of(meta, &facts, 0);
    (record, result)
}
