//! One run, as its parent sees it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use model::{Meta, Record, RunResult};
use process::Pid;
use session::Facts;
use store::{Hold, NewRun, RunDir};

use crate::launcher::{Launcher, Supervisor};
use crate::lifeline::{Lifeline, ToParent, ToSupervisor};
use crate::recover::{SUPERVISOR_DIED, duration, interrupted, recover, stop_leftovers};
use crate::result::result_of;
use crate::{STOP_GRACE, now_ms};

/// How hard to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopForce {
    /// SIGTERM, grace, SIGKILL.
    Gracefully,
    /// SIGKILL.
    AtOnce,
}

/// A supervisor that was told to kill must have done so after this time.
const KILL_ANSWER: Duration = Duration::from_secs(3);
/// A supervisor that has handed over its result exits within this time.
const EXIT_ANSWER: Duration = Duration::from_secs(2);

/// A run with its supervisor.
pub(crate) struct Run {
    meta: Meta,
    dir: RunDir,
    /// Given back as soon as the supervisor has its own.
    hold: Option<Hold>,
    lifeline: Lifeline,
    supervisor: Box<dyn Supervisor>,
    facts: Facts,
    refusal: Option<String>,
    /// When the supervisor is killed if it has not answered.
    kill_at: Option<Instant>,
}

/// What came from the supervisor.
pub(crate) enum News {
    Record(Record),
    Activity(model::Activity),
    /// Nothing of the run is left, and its supervisor is gone too.
    Ended {
        result: Box<RunResult>,
        not_kept: Option<String>,
    },
}

impl Run {
    pub(crate) fn start(
        launcher: &dyn Launcher,
        meta: Meta,
        new_run: NewRun,
    ) -> Result<Run, (io::Error, Box<(Meta, NewRun)>)> {
        let started = launcher
            .launch(&new_run.dir)
            .and_then(|launched| Ok((Lifeline::new(launched.lifeline)?, launched.supervisor)));
        match started {
            Ok((lifeline, supervisor)) => Ok(Run {
                meta,
                dir: new_run.dir,
                hold: Some(new_run.hold),
                lifeline,
                supervisor,
                facts: Facts::default(),
                refusal: None,
                kill_at: None,
            }),
            Err(error) => Err((error, Box::new((meta, new_run)))),
        }
    }

    pub(crate) fn run_dir(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    pub(crate) fn supervisor_pid(&self) -> Option<Pid> {
        self.supervisor.child_pid()
    }

    /// Where to wait for news.
    pub(crate) fn lifeline(&self) -> BorrowedFd<'_> {
        self.lifeline.as_fd()
    }

    /// When to call [`Run::check_time`].
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.kill_at
    }

    pub(crate) fn stop(&mut self, force: StopForce) {
        match force {
            StopForce::Gracefully => self.lifeline.say(&ToSupervisor::Stop),
            StopForce::AtOnce => {
                self.lifeline.say(&ToSupervisor::Kill);
                self.kill_at.get_or_insert(Instant::now() + KILL_ANSWER);
            }
        }
        // Two short words always fit into an empty socket.
        self.lifeline.flush();
    }

    /// Kills a supervisor that does not answer; its end will be noticed on the lifeline.
    pub(crate) fn check_time(&mut self, now: Instant) {
        if self.kill_at.is_some_and(|at| now >= at) {
            self.kill_at = None;
            self.supervisor.kill();
        }
    }

    /// Takes in what has arrived. `siblings` are the supervisors of the other runs; with them,
    /// this process is a subreaper and adopts what a dead supervisor leaves behind.
    pub(crate) fn receive(&mut self, siblings: Option<&[Pid]>) -> Vec<News> {
        let mut news = Vec::new();
        for message in self.lifeline.receive::<ToParent>() {
            match message {
                ToParent::Ready => self.hold = None,
                ToParent::Refused(reason) => self.refusal = Some(reason),
                ToParent::Event(record) => {
                    self.facts.apply(&record);
                    news.push(News::Record(record));
                }
                ToParent::Activity(activity) => news.push(News::Activity(activity)),
                ToParent::Result { result, not_kept } => {
                    self.await_exit();
                    news.push(News::Ended { result, not_kept });
                    return news;
                }
            }
        }
        if !self.lifeline.is_open() {
            news.extend(self.bury(siblings));
        }
        news
    }

    /// The supervisor is gone without a result: what it left is stopped, and the run is ended in
    /// its place.
    fn bury(&mut self, siblings: Option<&[Pid]>) -> [News; 2] {
        self.await_exit();
        stop_leftovers(&self.meta);
        if let Some(siblings) = siblings {
            process::stop_adopted(siblings, STOP_GRACE);
        }
        self.hold = None;
        let (ended, not_kept) = match recover(&self.dir) {
            Ok(Some(result)) => (result, None),
            Ok(None) => (self.ended_here(), Some("somebody else holds the run's lock".to_owned())),
            Err(error) => (self.ended_here(), Some(error.to_string())),
        };
        let record = Record {
            seq: u64::MAX,
            at: ended.ended_at,
            event: model::Event::RunEnded {
                outcome: ended.outcome,
                error: ended.error.clone(),
                exit_code: ended.exit_code,
                signal: ended.signal,
            },
        };
        [News::Record(record), News::Ended { result: Box::new(ended), not_kept }]
    }

    /// The result as far as this process knows it, for when the run directory cannot tell.
    fn ended_here(&mut self) -> RunResult {
        let error = match &self.refusal {
            Some(reason) => format!("Interrupted: the supervisor refused: {reason}"),
            None => SUPERVISOR_DIED.to_owned(),
        };
        let record = Record { seq: u64::MAX, at: now_ms(), event: interrupted(&error) };
        self.facts.apply(&record);
        result_of(&self.meta, &self.facts, duration(&self.facts))
    }

    /// The slot of a run is free when its supervisor has been reaped, not before.
    fn await_exit(&mut self) {
        let deadline = Instant::now() + EXIT_ANSWER;
        while self.supervisor.try_wait().is_none() {
            if Instant::now() >= deadline {
                self.supervisor.kill();
            }
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}
