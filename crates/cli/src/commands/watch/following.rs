//! What happens in runs, as their directories tell.

use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use model::{Event, Meta, Record, RunId, RunResult, Status};
use runner::{Recovery, recover};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use store::{EVENTS, RunDir, Store, StoreError, Tail, Watch};

/// Runs that are followed to their ends.
pub(super) struct Following {
    /// Where new ones are looked for, if they are.
    store: Option<Store>,
    /// Those that have been found there, whether they are followed or not.
    known: BTreeSet<RunId>,
    runs: Vec<Followed>,
    watch: Watch,
    looked: Option<Instant>,
    searched: Option<Instant>,
    /// Something has changed since the last search.
    is_search_due: bool,
}

struct Followed {
    dir: RunDir,
    meta: Meta,
    is_announced: bool,
    events: Tail,
    has_last_event: bool,
    /// When it was last made sure that it lives.
    checked: Option<Instant>,
    end: Option<End>,
}

#[derive(Clone, Copy)]
enum End {
    Known(Status),
    Lost,
}

/// Something that happened. Runs have numbers, in the order in which they appear.
pub(super) enum News {
    Appeared(Box<Meta>),
    Record { run: usize, record: Record },
    Ended { run: usize, result: Box<RunResult> },
    Lost { run: usize, error: StoreError },
}

/// What is written in between is read together.
const READING: Duration = Duration::from_millis(33);
/// How often new runs are looked for at most.
const SEARCHING: Duration = Duration::from_millis(250);
/// How often it is made sure that a quiet run lives.
const CHECKING: Duration = Duration::from_secs(1);

impl Following {
    /// All runs of a project that have not ended, also those that begin later.
    pub(super) fn all(store: &Store) -> Following {
        let mut following = Following::nothing();
        following.watch.add(store.path());
        following.store = Some(store.clone());
        following
    }

    /// These runs.
    pub(super) fn these(dirs: Vec<RunDir>) -> Result<Following, StoreError> {
        let mut following = Following::nothing();
        for dir in dirs {
            let meta = dir.meta()?;
            following.follow(dir, meta);
        }
        Ok(following)
    }

    fn nothing() -> Following {
        Following {
            store: None,
            known: BTreeSet::new(),
            runs: Vec::new(),
            watch: Watch::new(),
            looked: None,
            searched: None,
            is_search_due: false,
        }
    }

    pub(super) fn dir(&self, run: usize) -> Option<&RunDir> {
        self.runs.get(run).map(|run| &run.dir)
    }

    /// Whether there was nothing to follow.
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Whether everything that is followed has ended.
    pub(super) fn is_over(&self) -> bool {
        self.looked.is_some() && self.runs.iter().all(|run| run.end.is_some())
    }

    /// Whether every run has completed.
    pub(super) fn are_all_completed(&self) -> bool {
        self.runs.iter().all(|run| matches!(run.end, Some(End::Known(Status::Completed))))
    }

    /// What has happened since the last look.
    pub(super) fn look(&mut self) -> Vec<News> {
        let now = Instant::now();
        if !is_after(self.looked, READING, now) {
            return Vec::new();
        }
        self.looked = Some(now);
        // First, so that whatever happens after this look wakes us again.
        self.watch.drain();
        self.search(now);
        let mut news = Vec::new();
        for (number, run) in self.runs.iter_mut().enumerate().filter(|(_, run)| run.end.is_none()) {
            run.look(number, now, &mut news);
        }
        news
    }

    /// Waits until there may be something to look at, one of the wakers can be read, or the time is
    /// over.
    pub(super) fn wait(&self, wakers: &[BorrowedFd<'_>], limit: Option<Duration>) {
        let now = Instant::now();
        let until = |last: Option<Instant>, interval: Duration| {
            let since = last.map_or(interval, |last| now.saturating_duration_since(last));
            interval.saturating_sub(since)
        };
        let reading = until(self.looked, READING);
        // While it is too early to read, nobody wants to know of each line that is written.
        let watch = self.watch.waker().filter(|_| reading.is_zero());
        let mut limits = vec![self.watch.interval(), CHECKING];
        limits.extend(limit);
        limits.extend((!reading.is_zero()).then_some(reading));
        limits.extend(self.is_search_due.then(|| until(self.searched, SEARCHING)));
        let limit = limits.into_iter().min().unwrap_or(CHECKING);
        let fds = wakers.iter().copied().chain(watch);
        let mut fds: Vec<PollFd<'_>> =
            fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let _ = poll(&mut fds, Timespec::try_from(limit).ok().as_ref());
    }

    fn search(&mut self, now: Instant) {
        self.is_search_due = !is_after(self.searched, SEARCHING, now);
        let Some(store) = self.store.as_ref().filter(|_| !self.is_search_due) else {
            return;
        };
        self.searched = Some(now);
        // A store that cannot be read may be one that is not there yet.
        for dir in store.runs().unwrap_or_default() {
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
            checked: None,
            end: None,
        });
    }
}

impl Followed {
    fn look(&mut self, number: usize, now: Instant, news: &mut Vec<News>) {
        if !self.is_announced {
            self.is_announced = true;
            news.push(News::Appeared(Box::new(self.meta.clone())));
        }
        // Before its events are read, so that none is missed when it has ended.
        let mut end = Ok(None);
        if self.has_last_event || is_after(self.checked, CHECKING, now) {
            self.checked = Some(now);
            end = recover(&self.dir).map(Recovery::result);
        }
        while let Ok(Some(line)) = self.events.next_line() {
            // A line that is no event is passed over.
            if let Ok(record) = serde_json::from_slice::<Record>(&line) {
                self.has_last_event |= matches!(record.event, Event::RunEnded { .. });
                news.push(News::Record { run: number, record });
            }
        }
        match end {
            Ok(None) => {}
            Ok(Some(result)) => {
                self.end = Some(End::Known(result.status));
                news.push(News::Ended { run: number, result: Box::new(result) });
            }
            Err(error) => {
                self.end = Some(End::Lost);
                news.push(News::Lost { run: number, error });
            }
        }
    }
}

fn is_after(last: Option<Instant>, interval: Duration, now: Instant) -> bool {
    last.is_none_or(|last| now.saturating_duration_since(last) >= interval)
}
