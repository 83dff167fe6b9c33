//! The life of a call, the same for every door: match the tool, read the arguments, plan, warn, start,
//! follow, answer.
//!
//! A door translates its wire, or draws. It hands calls to a [`CallServer`], waits in
//! [`CallServer::wait`] for what happens next, and acts on the events. Everything is done by the
//! thread that calls it, because the kernel ties supervisors to the thread that starts them.

mod background_log;
mod begin;
mod caller;
mod controlled_run;
mod open_call;
mod questions;
mod reply;
mod running_call;
mod siblings;
mod tool_call;
mod unknown_fields;

use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use model::{RunId, SessionId};
use plan::Surroundings;
use runner::{Change, Dispatcher, StopForce, Update};
use serde_json::Value;
use session::view::{self, Phase, TaskView};
use store::Store;

use self::background_log::BackgroundLog;
pub use self::caller::{CallContext, Caller};
use self::controlled_run::ControlledRun;
pub use self::open_call::Reporting;
use self::open_call::{AwaitedSession, OpenCall, Work};
use self::questions::ToldQuestions;
pub use self::questions::{AskedQuestion, QuestionId};
pub use self::reply::{CallEvent, CallReply, FinishedCall, OpenCallId, ToolAnswer};
pub use self::running_call::{CallKind, CallTask, RunningCall};
pub use self::tool_call::{Tool, ToolError};
use crate::{BackgroundBook, SESSION_ENTRY, SessionBook, ShownTask, StartedRun, now_ms};

/// Serves the calls of one caller.
#[derive(Debug)]
pub struct CallServer {
    caller: Caller,
    store: Store,
    dispatcher: Dispatcher,
    calls: Vec<OpenCall>,
    next_call: u64,
    /// Of a caller for whom sessions are remembered.
    sessions: Option<SessionBook>,
    /// Of a caller that keeps a log.
    background: Option<BackgroundLog>,
    /// What the user was warned of: once is enough.
    warned: BTreeSet<String>,
    questions: ToldQuestions,
    events: Vec<CallEvent>,
    is_closed: bool,
}

impl CallServer {
    /// How many of the running tasks a line about a call names.
    const MOST_NAMED: usize = 4;

    /// A server without calls.
    pub fn new(caller: Caller) -> CallServer {
        let store = Store::in_project(caller.surroundings.project_root());
        let sessions = caller.remembers_sessions.then(SessionBook::default);
        CallServer {
            dispatcher: Dispatcher::new(store.clone()).adopting_orphans(),
            background: caller.keeps_log.then(BackgroundLog::new),
            caller,
            store,
            calls: Vec::new(),
            next_call: 0,
            sessions,
            warned: BTreeSet::new(),
            questions: ToldQuestions::default(),
            events: Vec::new(),
            is_closed: false,
        }
    }

    /// The runs of the caller's project.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Where the caller works.
    pub fn surroundings(&self) -> &Surroundings {
        &self.caller.surroundings
    }

    /// Waits until something happens, one of `wakers` can be read, or the time is over.
    pub fn wait(&mut self, wakers: &[BorrowedFd<'_>], limit: Option<Duration>) -> Vec<CallEvent> {
        let now = Instant::now();
        let background = self.background.as_ref();
        let deadlines = self.calls.iter().filter_map(OpenCall::next_deadline);
        let deadlines = deadlines.chain(background.and_then(BackgroundLog::next_look));
        let limits = deadlines.map(|deadline| deadline.saturating_duration_since(now));
        let at_once = (!self.events.is_empty()).then_some(Duration::ZERO);
        let limit = limits.chain(limit).chain(at_once).min();
        let own = self.calls.iter().filter_map(OpenCall::waker);
        let own = own.chain(background.and_then(BackgroundLog::waker));
        let wakers: Vec<BorrowedFd<'_>> = wakers.iter().copied().chain(own).collect();
        for update in self.dispatcher.wait(&wakers, limit) {
            self.apply(update);
        }
        self.look_around();
        self.take_events()
    }

    /// What happened since the last wait, such as while calls were begun.
    pub fn take_events(&mut self) -> Vec<CallEvent> {
        std::mem::take(&mut self.events)
    }

    /// The tasks of a call, until it is finished.
    pub fn running(&self, call: OpenCallId) -> Option<&RunningCall> {
        self.open_call(call)?.tasks()
    }

    /// The windows of a call's tasks, until it is finished.
    pub fn shown(&self, call: OpenCallId) -> Vec<&ShownTask> {
        let tasks = self.running(call).map(RunningCall::tasks).unwrap_or_default();
        tasks.iter().map(|task| &task.shown).collect()
    }

    /// The session whose end a call waits for, until it is finished.
    pub fn awaited(&self, call: OpenCallId) -> Option<&SessionId> {
        match &self.open_call(call)?.work {
            Work::Tasks(_) | Work::Control(_) => None,
            Work::Session(session) => Some(&session.id),
        }
    }

    /// The task of a run of this caller, until its call is finished.
    pub fn task_of(&self, run: &RunId) -> Option<&ShownTask> {
        self.all_shown().find(|task| task.meta.run_id == *run)
    }

    /// How a call stands, in a line.
    pub fn report(&self, call: OpenCallId) -> String {
        match self.open_call(call).map(|open| &open.work) {
            None => String::new(),
            Some(Work::Tasks(tasks)) => {
                let views = tasks.views();
                let overview = [view::overview(&views)].into_iter();
                let running = views.iter().filter(|task| task.phase == Phase::Running);
                let running = running.take(CallServer::MOST_NAMED).map(view::compact_line);
                // All that wait wait for the same.
                let is_waiting = |task: &&TaskView<'_>| {
                    task.phase == Phase::Queued && task.state.facts.waiting.is_some()
                };
                let waiting = views.iter().find(is_waiting).map(view::compact_line);
                let parts = overview.chain(running).chain(waiting).map(|line| line.text());
                parts.collect::<Vec<String>>().join(" | ")
            }
            Some(Work::Session(session)) => {
                let line = |task: &ShownTask| view::compact_line(&task.view(now_ms())).text();
                if let Some(task) = self.unended_task(&session.id) {
                    return line(task);
                }
                let recorded = session.latest().and_then(|run| {
                    ShownTask::recorded(&self.store, run, &session.appearance).ok()
                });
                recorded.as_ref().map_or_else(|| "waiting".to_owned(), line)
            }
            Some(Work::Control(run)) => run.words.to_owned(),
        }
    }

    /// Takes a call that is over.
    pub fn finish(&mut self, call: OpenCallId) -> Option<FinishedCall> {
        let index = self.calls.iter().position(|open| open.id == call)?;
        let OpenCall { work, ignored, .. } = self.calls.remove(index);
        let answer = match work {
            Work::Tasks(tasks) => return Some(FinishedCall::Tasks(tasks)),
            Work::Session(AwaitedSession { id, max_lines, .. }) => {
                self.session_output(id.as_str(), max_lines)
            }
            Work::Control(run) => run.answer(),
        };
        Some(FinishedCall::Answer(answer.map(|answer| answer.with_warnings(&ignored))))
    }

    /// Stops the tasks of a call, or its waiting for a session.
    pub fn cancel(&mut self, call: OpenCallId, force: StopForce) {
        let Some(index) = self.calls.iter().position(|open| open.id == call) else {
            return;
        };
        match &self.calls[index].work {
            // The call stays until nothing of its tasks is left.
            Work::Tasks(tasks) => self.dispatcher.stop(tasks.submitted.lane, force),
            Work::Session(_) | Work::Control(_) => {
                self.calls.remove(index);
            }
        }
    }

    /// Stops one task of a call.
    pub fn cancel_task(&mut self, call: OpenCallId, task: usize, force: StopForce) {
        let Some(tasks) = self.running(call) else {
            return;
        };
        let number = tasks.submitted.tasks.start + task;
        self.dispatcher.stop_task(number, force);
    }

    /// The caller reads no answer any more. What runs for it goes on until the server is dropped.
    pub fn close(&mut self) {
        self.is_closed = true;
        self.calls.retain(|call| matches!(call.work, Work::Tasks(_)));
        self.calls.iter_mut().for_each(|call| call.reporting = Reporting::Unpaced);
    }

    /// Begins anew with the entries of the caller's log. What became of runs whose end is not in the
    /// log is read from their directories, and goes into the log now.
    pub fn restore<'a>(&mut self, entries: impl Iterator<Item = (&'a str, &'a Value)> + Clone) {
        let of_sessions = entries.clone().filter(|(kind, _)| *kind == SESSION_ENTRY);
        let mut sessions = SessionBook::restore(of_sessions.map(|(_, data)| data));
        for run in self.tasks().flat_map(RunningCall::running) {
            // The user has moved to an earlier point of the conversation. What runs stays known.
            sessions.start(StartedRun::of(&run.shown.meta));
        }
        let ended = sessions.catch_up(&self.store);
        self.sessions = Some(sessions);
        for run in ended {
            self.log(&run);
        }
        if let Some(background) = &mut self.background {
            let book = BackgroundBook::restore(entries);
            background.restore(book, &self.store, &self.caller.owner, &mut self.events);
        }
    }

    fn apply(&mut self, update: Update) {
        let found = self.calls.iter_mut().find_map(|call| {
            let task = call.tasks()?.index(update.task)?;
            Some((call, task))
        });
        let Some((open, index)) = found else {
            return;
        };
        open.note(&update.change);
        let call = open.id;
        let Work::Tasks(tasks) = &mut open.work else {
            return;
        };
        let task = tasks.task_mut(index);
        let run = match &update.change {
            Change::Started { .. } | Change::Ended(_) => Some(task.run_id().clone()),
            Change::Waiting(_) | Change::Record(_) | Change::Activity(_) => None,
        };
        let event = match task.apply(update.change, self.sessions.as_mut()) {
            Some((record, words)) => CallEvent::TaskEvent { call, task: index, record, words },
            None if task.report.is_some() => {
                tasks.look_at_disk();
                CallEvent::TaskEnded { call, task: index }
            }
            None => CallEvent::TaskChanged(call),
        };
        self.events.push(event);
        if let Some(run) = run {
            self.log(&run);
        }
    }

    /// Looks for what no update says: background runs and sessions that have ended, calls that are
    /// over, and what is due.
    fn look_around(&mut self) {
        if let Some(background) = &mut self.background {
            background.look_if_due(&self.store, &mut self.events);
        }
        self.compare_questions();
        for call in &mut self.calls {
            match &mut call.work {
                Work::Session(session) => session.look(&self.store),
                Work::Control(run) => run.look(),
                Work::Tasks(_) => {}
            }
        }
        let over: Vec<bool> = self.calls.iter().map(|call| self.is_over(call)).collect();
        let now = Instant::now();
        for (call, is_over) in self.calls.iter_mut().zip(over) {
            let event = if is_over { Some(CallEvent::Over(call.id)) } else { call.due(now) };
            self.events.extend(event);
        }
    }

    fn compare_questions(&mut self) {
        let CallServer { calls, background, questions, events, .. } = self;
        let tasks = calls.iter().filter_map(OpenCall::tasks).flat_map(RunningCall::tasks);
        // One that has ended waits for nothing, even if its supervisor could not say so.
        let running = tasks.map(|task| &task.shown).filter(|task| task.phase == Phase::Running);
        let of_tasks = running.filter_map(|task| {
            let dir = task.dir.as_ref()?;
            Some(
                task.state
                    .facts
                    .open_questions
                    .iter()
                    .map(move |open| (&*task.meta.name, dir, open)),
            )
        });
        let of_background = background.iter().flat_map(BackgroundLog::questions);
        questions.compare(of_tasks.flatten().chain(of_background), events);
    }

    fn open_call(&self, call: OpenCallId) -> Option<&OpenCall> {
        self.calls.iter().find(|open| open.id == call)
    }

    fn is_over(&self, call: &OpenCall) -> bool {
        match &call.work {
            Work::Tasks(tasks) => tasks.is_over(),
            Work::Control(run) => run.is_over(),
            // A task in the queue has no directory yet.
            Work::Session(session) => session.is_over && self.unended_task(&session.id).is_none(),
        }
    }

    /// The task of a session that runs for this caller, or is queued.
    fn unended_task(&self, session: &SessionId) -> Option<&ShownTask> {
        self.all_shown().find(|task| task.meta.session_id == *session && task.phase != Phase::Ended)
    }

    fn all_shown(&self) -> impl Iterator<Item = &ShownTask> {
        self.tasks().flat_map(RunningCall::tasks).map(|task| &task.shown)
    }

    fn tasks(&self) -> impl Iterator<Item = &RunningCall> {
        self.calls.iter().filter_map(OpenCall::tasks)
    }

    /// Puts into the log what is known about a run.
    fn log(&mut self, run: &RunId) {
        let sessions = self.sessions.as_ref().filter(|_| self.caller.keeps_log);
        let entry = sessions.and_then(|sessions| sessions.to_entry(run));
        let entry = entry.map(|data| CallEvent::LogEntry { kind: SESSION_ENTRY, data });
        self.events.extend(entry);
    }

    fn warn(&mut self, warnings: &[String]) {
        for warning in warnings {
            if self.warned.insert(warning.clone()) {
                self.events.push(CallEvent::Warning(warning.clone()));
            }
        }
    }
}
