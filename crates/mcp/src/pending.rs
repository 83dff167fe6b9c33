//! A call that is not answered at once: who waits for what, and until when.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use model::{RunId, SessionId};
use store::{RunDir, Store, Watch};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use tools::RunningCall;

use crate::answer::Reply;
use crate::desk::CallNumber;

/// How often a client is told at most when something happens.
const BETWEEN_WORDS: Duration = Duration::from_millis(500);
/// How often it is told at least. Clients take a minute of silence for the end, some less.
const SILENCE: Duration = Duration::from_secs(5);

/// Who waits for an answer.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) answer: oneshot::Sender<Reply>,
    /// Where it hears how the work stands, if it can.
    pub(crate) progress: Option<UnboundedSender<String>>,
}

/// What is waited for.
#[derive(Debug)]
pub(crate) enum Work {
    /// The tasks of the call itself.
    Tasks(RunningCall),
    /// A session that another call, or another program, runs.
    Session(AwaitedSession),
}

/// A session whose end somebody waits for.
#[derive(Debug)]
pub(crate) struct AwaitedSession {
    pub(crate) id: SessionId,
    /// Whether the answer may be of any length.
    pub(crate) is_full: bool,
    /// Whether it has ended, as far as its directories tell.
    pub(crate) is_over: bool,
    dirs: Vec<RunDir>,
    watch: Watch,
    looked: Instant,
}

impl AwaitedSession {
    /// `running` are those of its runs that have not ended.
    pub(crate) fn new(id: SessionId, running: Vec<RunDir>, is_full: bool) -> AwaitedSession {
        let mut watch = Watch::new();
        running.iter().for_each(|dir| watch.add(dir.path()));
        let is_over = running.is_empty();
        let looked = Instant::now();
        // Something may have happened before it was watched.
        let looked = looked.checked_sub(watch.interval()).unwrap_or(looked);
        AwaitedSession { id, is_full, is_over, dirs: running, watch, looked }
    }

    /// The latest of its runs that have not ended.
    pub(crate) fn latest(&self) -> Option<&RunId> {
        self.dirs.last().map(RunDir::run_id)
    }

    /// Finds out whether it has ended, if it is time for that.
    pub(crate) fn look(&mut self, store: &Store) {
        if self.looked.elapsed() < self.watch.interval() && !self.watch.is_told() {
            return;
        }
        self.watch.drain();
        self.looked = Instant::now();
        // What cannot be read now can perhaps be read the next time.
        let Ok(dirs) = tools::running_runs(store, &self.id) else {
            return;
        };
        self.is_over = dirs.is_empty();
        if dirs != self.dirs {
            self.watch = Watch::new();
            dirs.iter().for_each(|dir| self.watch.add(dir.path()));
            self.dirs = dirs;
        }
    }
}

/// A call that is not answered yet, or that was answered while its tasks go on.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) number: CallNumber,
    pub(crate) work: Work,
    /// Whether something has happened that the caller was not told of.
    pub(crate) is_changed: bool,
    caller: Option<Caller>,
    /// After which time a caller is answered who hears nothing meanwhile.
    patience: Duration,
    began: Instant,
    told: Option<Instant>,
}

impl Pending {
    pub(crate) fn new(
        number: CallNumber,
        work: Work,
        caller: Caller,
        patience: Duration,
    ) -> Pending {
        let began = Instant::now();
        Pending {
            number,
            work,
            is_changed: true,
            caller: Some(caller),
            patience,
            began,
            told: None,
        }
    }

    pub(crate) fn tasks(&self) -> Option<&RunningCall> {
        match &self.work {
            Work::Tasks(call) => Some(call),
            Work::Session(_) => None,
        }
    }

    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// What can be read when something has changed.
    pub(crate) fn waker(&self) -> Option<BorrowedFd<'_>> {
        match &self.work {
            Work::Tasks(_) => None,
            Work::Session(session) => session.watch.waker(),
        }
    }

    /// How long until something is to be done, as things stand.
    pub(crate) fn next_deadline(&self, now: Instant) -> Option<Duration> {
        let until = |time: Instant| time.saturating_duration_since(now);
        let look = match &self.work {
            Work::Tasks(_) => None,
            Work::Session(session) => Some(until(session.looked + session.watch.interval())),
        };
        let word = self.next_word().map(until);
        let late = self.is_kept_in_the_dark().then(|| until(self.began + self.patience));
        look.into_iter().chain(word).chain(late).min()
    }

    /// Whether the caller has waited long enough without hearing anything.
    pub(crate) fn is_late(&self, now: Instant) -> bool {
        self.is_kept_in_the_dark() && now >= self.began + self.patience
    }

    pub(crate) fn is_word_due(&self, now: Instant) -> bool {
        self.next_word().is_some_and(|due| now >= due)
    }

    /// Tells the caller how the work stands.
    pub(crate) fn tell(&mut self, words: String) {
        self.told = Some(Instant::now());
        self.is_changed = false;
        let progress = self.caller.as_ref().and_then(|caller| caller.progress.as_ref());
        // A caller that is gone is told so elsewhere.
        let _ = progress.map(|progress| progress.send(words));
    }

    pub(crate) fn answer(mut self, reply: Reply) {
        self.answer_once(reply);
    }

    /// Answers the caller, if nobody has.
    pub(crate) fn answer_once(&mut self, reply: Reply) {
        if let Some(caller) = self.caller.take() {
            // A caller that is gone is told so elsewhere.
            let _ = caller.answer.send(reply);
        }
    }

    /// Whether somebody still waits for the answer.
    pub(crate) fn is_awaited(&self) -> bool {
        self.caller.is_some()
    }

    pub(crate) fn forget_caller(&mut self) {
        self.caller = None;
    }

    fn next_word(&self) -> Option<Instant> {
        self.caller.as_ref()?.progress.as_ref()?;
        let interval = if self.is_changed { BETWEEN_WORDS } else { SILENCE };
        Some(self.told.map_or(self.began, |told| told + interval))
    }

    fn is_kept_in_the_dark(&self) -> bool {
        self.caller.as_ref().is_some_and(|caller| caller.progress.is_none())
    }
}
