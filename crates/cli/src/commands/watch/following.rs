//! Follows runs by reading their directories.

use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use model::{Admission, Event, Meta, Record, RunId, RunResult, Status};
use runner::{Recovery, recover};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use store::{EVENTS, RunDir, Store, StoreError, Tail, Watch};

#[derive(Default)]
pub(super) struct Following {
    /// Where to look for new runs, if at all.
    source: Option<Source>,
    /// All runs that were found, followed or not.
    known: BTreeSet<RunId>,
    runs: Vec<Followed>,
    watch: Watch,
    last_look: Option<Instant>,
    last_search: Option<Instant>,
    /// The store may have changed since the last search.
    is_search_due: bool,
}

/// Where runs are found.
enum Source {
    /// In one project.
    Store(Store),
    /// Among all agents of the user that run on this machine, or wait to.
    Machine(Admission),
}

struct Followed {
    dir: RunDir,
    meta: Meta,
    is_announced: bool,
    events: Tail,
    has_last_event: bool,
    /// When its supervisor was last seen alive.
    last_check: Option<Instant>,
    end: Option<End>,
}

#[derive(Clone, Copy)]
enum End {
    Known(Status),
    Lost,
}

/// What happened to a run. Runs are numbered in the order in which they appear.
pub(super) enum Change {
    Appeared(Box<Meta>),
    Record { run: usize, record: Record },
    Ended { run: usize, result: Box<RunResult> },
    // The directory cannot be read any more.
    Lost { run: usize, name: String, error: StoreError },
}

/// Lines that are written within this time are read together.
const READ_INTERVAL: Duration = Duration::from_millis(33);
/// The shortest time between two searches for new runs.
const SEARCH_INTERVAL: Duration = Duration::from_millis(250);
/// How often the supervisor of a quiet run is checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

impl Following {
    /// Follows all running runs of a project, and those that start later.
    pub(super) fn all(store: &Store) -> Following {
        let mut following = Following::default();
        following.watch.add(store.path());
        following.source = Some(Source::Store(store.clone()));
        following
    }

    /// Follows all running runs of the user on this machine, and those that start later.
    pub(super) fn everywhere(admission: Admission) -> Following {
        Following { source: Some(Source::Machine(admission)), ..Following::default() }
    }

    pub(super) fn these(dirs: Vec<RunDir>) -> Result<Following, StoreError> {
        let mut following = Following::default();
        for dir in dirs {
            let meta = dir.meta()?;
            following.follow(dir, meta);
        }
        Ok(following)
    }

    pub(super) fn dir(&self, run: usize) -> Option<&RunDir> {
        self.runs.get(run).map(|run| &run.dir)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(super) fn is_over(&self) -> bool {
        self.last_look.is_some() && self.runs.iter().all(|run| run.end.is_some())
    }

    pub(super) fn are_all_completed(&self) -> bool {
        self.runs.iter().all(|run| matches!(run.end, Some(End::Known(Status::Completed))))
    }

    /// What has happened since the last call, or a part of it: it returns early when a signal has
    /// come, so that no number and no length of runs makes the command deaf to it.
    pub(super) fn look(&mut self, is_interrupted: &dyn Fn() -> bool) -> Vec<Change> {
        let now = Instant::now();
        if !is_after(self.last_look, READ_INTERVAL, now) {
            return Vec::new();
        }
        self.last_look = Some(now);
        // Drained before reading, so that a later change wakes `wait` again.
        self.watch.drain();
        self.search(now, is_interrupted);
        let mut changes = Vec::new();
        for (number, run) in self.runs.iter_mut().enumerate().filter(|(_, run)| run.end.is_none()) {
            if is_interrupted() {
                break;
            }
            run.look(number, now, is_interrupted, &mut changes);
        }
        changes
    }

    /// Waits until a run may have changed, a waker is readable, or the limit has passed.
    pub(super) fn wait(&self, wakers: &[BorrowedFd<'_>], limit: Option<Duration>) {
        let now = Instant::now();
        let until = |last: Option<Instant>, interval: Duration| {
            let since = last.map_or(interval, |last| now.saturating_duration_since(last));
            interval.saturating_sub(since)
        };
        let reading = until(self.last_look, READ_INTERVAL);
        // While it is too early to read, new lines must not wake the loop.
        let watch = self.watch.waker().filter(|_| reading.is_zero());
        let mut limits = vec![self.watch.interval(), CHECK_INTERVAL];
        limits.extend(limit);
        limits.extend((!reading.is_zero()).then_some(reading));
        limits.extend(self.is_search_due.then(|| until(self.last_search, SEARCH_INTERVAL)));
        let limit = limits.into_iter().min().unwrap_or(CHECK_INTERVAL);
        let fds = wakers.iter().copied().chain(watch);
        let mut fds: Vec<PollFd<'_>> =
            fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let _ = poll(&mut fds, Timespec::try_from(limit).ok().as_ref());
    }

    fn search(&mut self, now: Instant, is_interrupted: &dyn Fn() -> bool) {
        self.is_search_due = !is_after(self.last_search, SEARCH_INTERVAL, now);
        let Some(source) = self.source.as_ref().filter(|_| !self.is_search_due) else { return };
        self.last_search = Some(now);
        for dir in source.runs() {
            if is_interrupted() {
                return;
            }
            if !self.known.insert(dir.run_id().clone()) {
                continue;
            }
            let is_alive = matches!(recover(&dir), Ok(Recovery::Alive));
            if let Some(meta) = dir.meta().ok().filter(|_| is_alive) {
                self.follow(dir, meta);
            }
        }
    }

    fn follow(&mut self, dir: RunDir, meta: Meta) {
        self.watch.add_with_writes(dir.path());
        self.runs.push(Followed {
            events: dir.tail(EVENTS),
            dir,
            meta,
            is_announced: false,
            has_last_event: false,
            last_check: None,
            end: None,
        });
    }
}

impl Source {
    fn runs(&self) -> Vec<RunDir> {
        match self {
            // A store that cannot be read may not exist yet.
            Source::Store(store) => store.runs().unwrap_or_default(),
            Source::Machine(admission) => {
                let waiting = governor::waiting_calls(admission).into_iter();
                let waiting = waiting.filter_map(|notice| notice.run_dir);
                let running = governor::running_agents(admission).into_iter();
                let running = running.filter_map(|agent| agent.run_dir);
                waiting.chain(running).filter_map(|path| RunDir::open(&path).ok()).collect()
            }
        }
    }
}

impl Followed {
    fn look(
        &mut self,
        number: usize,
        now: Instant,
        is_interrupted: &dyn Fn() -> bool,
        changes: &mut Vec<Change>,
    ) {
        if !self.is_announced {
            self.is_announced = true;
            changes.push(Change::Appeared(Box::new(self.meta.clone())));
        }
        // Checked before reading the events, so that no event of a finished run is missed.
        let mut end = Ok(None);
        if self.has_last_event || is_after(self.last_check, CHECK_INTERVAL, now) {
            self.last_check = Some(now);
            end = recover(&self.dir).map(Recovery::result);
        }
        loop {
            let line = match self.events.next_line() {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(error) => {
                    // Without its events the run is shown no more.
                    end = Err(error);
                    break;
                }
            };
            // A line that is not an event is skipped.
            if let Ok(record) = serde_json::from_slice::<Record>(&line) {
                self.has_last_event |= matches!(record.event, Event::RunEnded { .. });
                changes.push(Change::Record { run: number, record });
            }
            if is_interrupted() {
                return;
            }
        }
        match end {
            Ok(None) => {}
            Ok(Some(result)) => {
                self.end = Some(End::Known(result.status));
                changes.push(Change::Ended { run: number, result: Box::new(result) });
            }
            Err(error) => {
                self.end = Some(End::Lost);
                let name = self.meta.name.clone();
                changes.push(Change::Lost { run: number, name, error });
            }
        }
    }
}

fn is_after(last: Option<Instant>, interval: Duration, now: Instant) -> bool {
    last.is_none_or(|last| now.saturating_duration_since(last) >= interval)
}
