//! One run, as its parent sees it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use model::{Activity, Meta, Record, RunResult, Secrets};
use process::Pid;
use session::Facts;
use store::{Hold, NewRun, RunDir, StopRequest};

use crate::launcher::{Launcher, Supervisor};
use crate::lifeline::{Lifeline, Start, ToParent, ToSupervisor};
use crate::recover::{
    Recovery, SUPERVISOR_DIED, duration, interrupted, recover_because, stop_leftovers,
};
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

impl StopForce {
    /// The same as a request to somebody else's supervisor.
    pub(crate) fn request(self) -> StopRequest {
        match self {
            StopForce::Gracefully => StopRequest::Gracefully,
            StopForce::AtOnce => StopRequest::AtOnce,
        }
    }
}

/// A supervisor that was told to kill must have done so after this time.
pub(crate) const KILL_ANSWER: Duration = Duration::from_secs(3);
/// A supervisor that was told to stop needs at most its grace and its patience, and some time.
pub(crate) const STOP_ANSWER: Duration = Duration::from_secs(5 + 10 + 3);
/// A supervisor that has handed over its result exits within this time.
pub(crate) const EXIT_ANSWER: Duration = Duration::from_secs(2);

/// A run with its supervisor.
pub(crate) struct Run {
    meta: Meta,
    dir: RunDir,
    /// Given back as soon as the supervisor has its own.
    hold: Option<Hold>,
    phase: Phase,
    facts: Facts,
    refusal: Option<String>,
    /// When the supervisor is killed if it has not answered.
    kill_at: Option<Instant>,
}

enum Phase {
    /// The supervisor is at work.
    Live {
        lifeline: Lifeline,
        supervisor: Box<dyn Supervisor>,
    },
    /// The supervisor is gone without a result, and what it left is being stopped. That can take
    /// its time, during which this process must stay awake; hence a thread.
    Burying {
        done: UnixStream,
        burial: JoinHandle<Buried>,
    },
    Over,
}

struct Buried {
    record: Option<Record>,
    result: Box<RunResult>,
    not_kept: Option<String>,
}

/// What came from the supervisor.
pub(crate) enum News {
    Record(Record),
    Activity(Activity),
    /// Nothing of the run is left, and its supervisor is gone too.
    Ended {
        result: Box<RunResult>,
        not_kept: Option<String>,
    },
}

impl Run {
    pub(crate) fn start(
        launcher: &dyn Launcher,
        new_run: NewRun,
        secrets: Secrets,
    ) -> Result<Run, Box<(io::Error, NewRun)>> {
        let lifetime = new_run.meta.lifetime;
        let started = launcher.launch(&new_run.dir, lifetime).and_then(|launched| {
            let mut lifeline = Lifeline::new(launched.lifeline)?;
            lifeline.say(&ToSupervisor::Start(Start { secrets }));
            lifeline.flush();
            Ok(Phase::Live { lifeline, supervisor: launched.supervisor })
        });
        match started {
            Ok(phase) => Ok(Run {
                meta: new_run.meta,
                dir: new_run.dir,
                hold: Some(new_run.hold),
                phase,
                facts: Facts::default(),
                refusal: None,
                kill_at: None,
            }),
            Err(error) => Err(Box::new((error, new_run))),
        }
    }

    pub(crate) fn run_dir(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    /// The supervisor's process id, while it is at work as a child of this process.
    pub(crate) fn supervisor_pid(&self) -> Option<Pid> {
        match &self.phase {
            Phase::Live { supervisor, .. } => supervisor.child_pid(),
            Phase::Burying { .. } | Phase::Over => None,
        }
    }

    /// Whether what a dead supervisor left is being stopped.
    pub(crate) fn is_burying(&self) -> bool {
        matches!(self.phase, Phase::Burying { .. })
    }

    /// Where to wait for news.
    pub(crate) fn waker(&self) -> Option<BorrowedFd<'_>> {
        match &self.phase {
            Phase::Live { lifeline, .. } => Some(lifeline.as_fd()),
            Phase::Burying { done, .. } => Some(done.as_fd()),
            Phase::Over => None,
        }
    }

    /// Whether something waits to be said to the supervisor.
    pub(crate) fn wants_to_write(&self) -> bool {
        matches!(&self.phase, Phase::Live { lifeline, .. } if lifeline.wants_to_write())
    }

    /// When to call [`Run::check_time`].
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.kill_at
    }

    pub(crate) fn stop(&mut self, force: StopForce) {
        let Phase::Live { lifeline, supervisor } = &mut self.phase else {
            return;
        };
        supervisor.wake();
        let (wish, answer) = match force {
            StopForce::Gracefully => (ToSupervisor::Stop, STOP_ANSWER),
            StopForce::AtOnce => (ToSupervisor::Kill, KILL_ANSWER),
        };
        lifeline.say(&wish);
        lifeline.flush();
        let deadline = Instant::now() + answer;
        self.kill_at = Some(self.kill_at.map_or(deadline, |earlier| earlier.min(deadline)));
    }

    /// Kills a supervisor that does not answer; its end will be noticed on the lifeline.
    pub(crate) fn check_time(&mut self, now: Instant) {
        if self.kill_at.is_some_and(|at| now >= at) {
            self.kill_at = None;
            if let Phase::Live { supervisor, .. } = &mut self.phase {
                supervisor.kill();
            }
        }
    }

    /// Takes in what has arrived. `siblings` are the supervisors of the other runs; with them,
    /// this process is a subreaper and adopts what a dead supervisor leaves behind.
    pub(crate) fn receive(&mut self, siblings: Option<Vec<Pid>>) -> Vec<News> {
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Live { lifeline, supervisor } => self.listen(lifeline, supervisor, siblings),
            Phase::Burying { burial, .. } => {
                let buried = burial.join().unwrap_or_else(|_| {
                    let facts = self.facts.clone();
                    end_in_memory(&self.meta, facts, SUPERVISOR_DIED, "the burial failed")
                });
                self.mourn(buried).collect()
            }
            Phase::Over => Vec::new(),
        }
    }

    fn listen(
        &mut self,
        mut lifeline: Lifeline,
        mut supervisor: Box<dyn Supervisor>,
        siblings: Option<Vec<Pid>>,
    ) -> Vec<News> {
        let mut news = Vec::new();
        lifeline.flush();
        for message in lifeline.receive::<ToParent>() {
            match message {
                ToParent::Ready => self.hold = None,
                ToParent::Refused(reason) => self.refusal = Some(reason),
                ToParent::Event(record) => {
                    self.facts.apply(&record);
                    news.push(News::Record(record));
                }
                ToParent::Activity(activity) => news.push(News::Activity(activity)),
                ToParent::Result { result, not_kept } => {
                    await_exit(supervisor.as_mut());
                    news.push(News::Ended { result, not_kept });
                    return news;
                }
            }
        }
        if lifeline.is_open() {
            self.phase = Phase::Live { lifeline, supervisor };
        } else if let Some(buried) = self.bury(supervisor, siblings) {
            news.extend(self.mourn(buried));
        }
        news
    }

    /// The supervisor is gone without a result: what it left is stopped, and the run is ended in
    /// its place; later, or, if there is no way to be told of it later, now.
    fn bury(
        &mut self,
        mut supervisor: Box<dyn Supervisor>,
        siblings: Option<Vec<Pid>>,
    ) -> Option<Buried> {
        self.hold = None;
        let (meta, dir, facts) = (self.meta.clone(), self.dir.clone(), self.facts.clone());
        let reason = self.refusal.as_ref().map_or_else(
            || SUPERVISOR_DIED.to_owned(),
            |refusal| format!("Interrupted: the supervisor refused: {refusal}"),
        );
        let work = move || {
            await_exit(supervisor.as_mut());
            stop_leftovers(&meta);
            if let Some(siblings) = siblings {
                process::stop_adopted(&siblings, STOP_GRACE);
            }
            end_in_its_place(&meta, &dir, facts, &reason)
        };
        let Ok((done, ours)) = UnixStream::pair() else {
            return Some(work());
        };
        let burial = std::thread::spawn(move || {
            let buried = work();
            drop(ours);
            buried
        });
        self.phase = Phase::Burying { done, burial };
        None
    }

    fn mourn(&self, buried: Buried) -> impl Iterator<Item = News> + use<> {
        let had_ended = self.facts.outcome.is_some();
        let record = buried.record.filter(|_| !had_ended).map(News::Record);
        let ended = News::Ended { result: buried.result, not_kept: buried.not_kept };
        record.into_iter().chain([ended])
    }
}

fn end_in_its_place(meta: &Meta, dir: &RunDir, facts: Facts, reason: &str) -> Buried {
    match recover_because(dir, reason) {
        Ok(Recovery::Ended { record, result }) => Buried { record, result, not_kept: None },
        Ok(Recovery::HadEnded(result)) => Buried { record: None, result, not_kept: None },
        Ok(Recovery::Alive) => {
            end_in_memory(meta, facts, reason, "somebody else holds the run's lock")
        }
        // This process may know more than what could be written.
        Ok(Recovery::NotKept { error, .. }) | Err(error) => {
            end_in_memory(meta, facts, reason, &error.to_string())
        }
    }
}

/// The end as far as this process knows it, for when the run directory cannot tell.
fn end_in_memory(meta: &Meta, mut facts: Facts, reason: &str, not_kept: &str) -> Buried {
    let mut record = None;
    if facts.outcome.is_none() {
        // Nobody will ever read this number: the event is in no file.
        let ended = Record { seq: 0, at: now_ms(), event: interrupted(reason) };
        facts.apply(&ended);
        record = Some(ended);
    }
    let result = Box::new(result_of(meta, &facts, duration(&facts)));
    Buried { record, result, not_kept: Some(not_kept.to_owned()) }
}

/// The slot of a run is free when its supervisor has been reaped, not before.
fn await_exit(supervisor: &mut dyn Supervisor) {
    let start = Instant::now();
    while supervisor.try_wait().is_none() && start.elapsed() < 2 * EXIT_ANSWER {
        if start.elapsed() > EXIT_ANSWER {
            supervisor.kill();
        }
        std::thread::sleep(Duration::from_micros(100));
    }
}
