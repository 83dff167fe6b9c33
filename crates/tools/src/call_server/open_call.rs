//! A call that is not over: what it waits for, and what its caller gets until then.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use model::{RunId, SessionId};
use runner::Change;
use store::{RunDir, Store, Watch};

use super::{CallEvent, ControlledRun, OpenCallId, RunningCall};
use crate::Appearance;

/// What the caller of a call gets before the answer.
#[derive(Clone, Copy, Debug, Default)]
pub enum Reporting {
    /// The door draws when it wants to.
    #[default]
    Unpaced,
    /// The door gets [`CallEvent::ReportDue`] at these intervals.
    Paced {
        /// While something changes.
        busy: Duration,
        /// While nothing changes; never if absent.
        quiet: Option<Duration>,
        /// Whether reports say what an agent does between two events.
        shows_activity: bool,
    },
    /// The wire cannot carry reports, so that [`CallEvent::AnswerDue`] comes after the time that the
    /// setting `mcpAnswerAfter` says.
    Silent,
}

/// What a call waits for.
#[derive(Debug)]
pub(super) enum Work {
    /// The tasks of the call itself.
    Tasks(Box<RunningCall>),
    /// The end of a session that another call, or another program, runs.
    Session(AwaitedSession),
    /// The end of a background run that the call stops.
    Control(Box<ControlledRun>),
}

/// A session whose end a call waits for.
#[derive(Debug)]
pub(super) struct AwaitedSession {
    pub(super) id: SessionId,
    pub(super) appearance: Appearance,
    pub(super) max_lines: usize,
    /// Whether its directories say that it has ended.
    pub(super) is_over: bool,
    unended: Vec<RunDir>,
    watch: Watch,
    looked: Instant,
}

impl AwaitedSession {
    /// `unended` are those of its runs that have not ended.
    pub(super) fn new(
        id: SessionId,
        unended: Vec<RunDir>,
        appearance: Appearance,
        max_lines: usize,
    ) -> AwaitedSession {
        let watch = watch(&unended);
        let now = Instant::now();
        // A run may have ended before it was watched.
        let looked = now.checked_sub(watch.interval()).unwrap_or(now);
        let is_over = unended.is_empty();
        AwaitedSession { id, appearance, max_lines, is_over, unended, watch, looked }
    }

    /// The latest of its runs that have not ended.
    pub(super) fn latest(&self) -> Option<&RunId> {
        self.unended.last().map(RunDir::run_id)
    }

    /// Reads its directories, if they may have changed.
    pub(super) fn look(&mut self, store: &Store) {
        if self.looked.elapsed() < self.watch.interval() && !self.watch.is_told() {
            return;
        }
        self.watch.drain();
        self.looked = Instant::now();
        // What cannot be read now can perhaps be read the next time.
        let Ok(unended) = crate::running_runs(store, &self.id) else {
            return;
        };
        self.is_over = unended.is_empty();
        if unended != self.unended {
            self.watch = watch(&unended);
            self.unended = unended;
        }
    }
}

pub(super) fn watch(dirs: &[RunDir]) -> Watch {
    let mut watch = Watch::new();
    dirs.iter().for_each(|dir| watch.add(dir.path()));
    watch
}

/// A call that is not over. Its caller may have an answer already, while its tasks go on.
#[derive(Debug)]
pub(super) struct OpenCall {
    pub(super) id: OpenCallId,
    pub(super) work: Work,
    pub(super) reporting: Reporting,
    /// What the caller should know about fields that were left out, where the work does not say it.
    pub(super) ignored: Vec<String>,
    /// How long a caller waits that gets no reports.
    patience: Duration,
    began: Instant,
    reported: Option<Instant>,
    /// Whether something has changed since the last report.
    is_changed: bool,
}

impl OpenCall {
    pub(super) fn new(
        id: OpenCallId,
        work: Work,
        reporting: Reporting,
        patience: Duration,
        ignored: Vec<String>,
    ) -> OpenCall {
        let began = Instant::now();
        OpenCall { id, work, reporting, ignored, patience, began, reported: None, is_changed: true }
    }

    pub(super) fn tasks(&self) -> Option<&RunningCall> {
        match &self.work {
            Work::Tasks(call) => Some(call),
            Work::Session(_) | Work::Control(_) => None,
        }
    }

    /// Remembers that there is something to report.
    pub(super) fn note(&mut self, change: &Change) {
        let is_hidden = matches!(
            (change, self.reporting),
            (Change::Activity(_), Reporting::Paced { shows_activity: false, .. })
        );
        self.is_changed |= !is_hidden;
    }

    /// Becomes readable when a session that is waited for has changed.
    pub(super) fn waker(&self) -> Option<BorrowedFd<'_>> {
        match &self.work {
            Work::Tasks(_) => None,
            Work::Session(session) => session.watch.waker(),
            Work::Control(run) => run.waker(),
        }
    }

    /// When something is to be done next, even if nothing happens.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let look = match &self.work {
            Work::Tasks(_) | Work::Control(_) => None,
            Work::Session(session) => Some(session.looked + session.watch.interval()),
        };
        look.into_iter().chain(self.due_at()).min()
    }

    /// The report or the early answer that is due.
    pub(super) fn due(&mut self, now: Instant) -> Option<CallEvent> {
        self.due_at().filter(|due| now >= *due)?;
        let call = self.id;
        if matches!(self.reporting, Reporting::Silent) {
            self.reporting = Reporting::Unpaced;
            return Some(CallEvent::AnswerDue { call, waited: self.patience });
        }
        self.reported = Some(now);
        self.is_changed = false;
        Some(CallEvent::ReportDue(call))
    }

    fn due_at(&self) -> Option<Instant> {
        match self.reporting {
            Reporting::Unpaced => None,
            // It ends soon, and what was not stopped must not look stopped.
            Reporting::Silent if matches!(self.work, Work::Control(_)) => None,
            Reporting::Silent => self.began.checked_add(self.patience),
            Reporting::Paced { busy, quiet, .. } => {
                let interval = if self.is_changed { Some(busy) } else { quiet };
                match self.reported {
                    None => Some(self.began),
                    Some(reported) => interval.map(|interval| reported + interval),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, session_id};

    const BUSY: Duration = Duration::from_millis(500);
    const QUIET: Duration = Duration::from_secs(5);
    const PATIENCE: Duration = Duration::from_secs(60);

    fn open_call(reporting: Reporting) -> OpenCall {
        let appearance = Appearance::new(&World::new().workspace(None), None);
        let session = AwaitedSession::new(session_id(1), Vec::new(), appearance, 5);
        OpenCall::new(OpenCallId(1), Work::Session(session), reporting, PATIENCE, Vec::new())
    }

    #[test]
    fn reports_are_due_at_once_then_often_while_something_changes_and_seldom_while_nothing_does() {
        let paced = |shows_activity| Reporting::Paced { busy: BUSY, quiet: None, shows_activity };
        let activity = Change::Activity(model::Activity::Thinking);
        for (shows_activity, expected) in [(true, Some(BUSY)), (false, None)] {
            let mut call = open_call(paced(shows_activity));
            let now = call.began;
            assert!(matches!(call.due(now), Some(CallEvent::ReportDue(OpenCallId(1)))));
            assert!(call.due(now + PATIENCE).is_none(), "nothing has changed");
            call.note(&activity);
            assert_eq!(call.due_at(), expected.map(|interval| now + interval));
        }
        let mut call =
            open_call(Reporting::Paced { busy: BUSY, quiet: Some(QUIET), shows_activity: true });
        let now = call.began;
        call.due(now);
        assert_eq!(call.due_at(), Some(now + QUIET));
        call.note(&activity);
        assert!(call.due(now + BUSY - Duration::from_millis(1)).is_none());
        assert!(call.due(now + BUSY).is_some());
    }

    #[test]
    fn a_caller_that_hears_nothing_is_answered_once_when_its_patience_is_over() {
        let mut call = open_call(Reporting::Silent);
        let now = call.began;
        assert!(call.due(now + PATIENCE - Duration::from_millis(1)).is_none());
        let due = call.due(now + PATIENCE);
        assert!(matches!(due, Some(CallEvent::AnswerDue { waited: PATIENCE, .. })), "{due:?}");
        assert!(call.due(now + 2 * PATIENCE).is_none());
        assert!(open_call(Reporting::Unpaced).due(now + 2 * PATIENCE).is_none());
    }
}
