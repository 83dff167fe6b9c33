//! Where everything that was asked for is done: one loop over one dispatcher, on one thread.

mod requests;

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use model::{Owner, SessionId};
use plan::Surroundings;
use runner::{Dispatcher, Update};
use session::view::Phase;
use store::Store;
use tokio::sync::{broadcast, oneshot, watch};
use tools::{RunningCall, SessionBook, ShownTask, Workspace};

use crate::changes::{Change, Changes};
use crate::pending::{Caller, Pending, Work};

/// How many changes are kept for those who have not heard of them yet.
const CHANGES: usize = 256;

/// Where requests are handed in. All counters lead to the same desk.
#[derive(Clone, Debug)]
pub(crate) struct Counter {
    requests: Sender<Request>,
    bell: Arc<UnixStream>,
    changes: broadcast::Sender<Change>,
    is_closed: watch::Sender<bool>,
}

/// What is handed in.
#[derive(Debug)]
pub(crate) enum Request {
    /// Who is served, and where. The first request.
    Begin(Box<Surroundings>, Owner),
    /// A tool is called.
    Call(Box<Asked>),
    /// Nobody waits for the answer to this call any more.
    Cancel(CallNumber),
    /// Somebody wants to hear when something at an address changes, and whether we look from now on.
    Subscribe(String, oneshot::Sender<()>),
    /// Nobody does any more.
    Unsubscribe(String),
    /// The client says nothing any more.
    Close,
    /// The conversation is over.
    End,
}

/// A call, among all of one client.
pub(crate) type CallNumber = u64;

/// A call of a tool, and who waits for the answer.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) number: CallNumber,
    pub(crate) name: String,
    pub(crate) arguments: serde_json::Value,
    /// Whether the answer may be of any length.
    pub(crate) is_full: bool,
    pub(crate) caller: Caller,
}

impl Counter {
    pub(crate) fn hand_in(&self, request: Request) {
        // A desk that has closed answers nobody, which the caller's end of the channel tells.
        let _ = self.requests.send(request);
        self.ring();
    }

    /// The client says nothing any more.
    pub(crate) fn close(&self) {
        self.is_closed.send_replace(true);
        self.hand_in(Request::Close);
    }

    /// Waits until the client says nothing any more.
    pub(crate) async fn closed(&self) {
        // The sender is here, so that there is an end.
        let _ = self.is_closed.subscribe().wait_for(|is_closed| *is_closed).await;
    }

    /// The conversation is over.
    pub(crate) fn end(&self) {
        self.hand_in(Request::End);
    }

    /// What changes from now on.
    pub(crate) fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    fn ring(&self) {
        // A full bell has been rung already.
        let _ = io::Write::write(&mut &*self.bell, &[1]);
    }
}

/// The desk before it is known who is served.
pub(crate) struct Desk<'a> {
    requests: Receiver<Request>,
    bell: UnixStream,
    changes: broadcast::Sender<Change>,
    warn: &'a dyn Fn(&str),
}

impl<'a> Desk<'a> {
    pub(crate) fn open(warn: &'a dyn Fn(&str)) -> io::Result<(Counter, Desk<'a>)> {
        let (sender, requests) = channel();
        let (rung, bell) = UnixStream::pair()?;
        rung.set_nonblocking(true)?;
        bell.set_nonblocking(true)?;
        let (changes, _) = broadcast::channel(CHANGES);
        let counter = Counter {
            requests: sender,
            bell: Arc::new(rung),
            changes: changes.clone(),
            is_closed: watch::Sender::new(false),
        };
        Ok((counter, Desk { requests, bell, changes, warn }))
    }

    /// Serves until the conversation is over.
    pub(crate) fn run(self) {
        let mut is_closed = false;
        while let Ok(request) = self.requests.recv() {
            match request {
                Request::Begin(surroundings, owner) => {
                    Service::new(self, *surroundings, owner, is_closed).run();
                    return;
                }
                Request::Close => is_closed = true,
                Request::End => return,
                // Nothing is asked before it is known by whom.
                _ => {}
            }
        }
    }
}

/// One client, and everything that runs for it.
struct Service<'a> {
    desk: Desk<'a>,
    surroundings: Surroundings,
    owner: Owner,
    store: Store,
    dispatcher: Dispatcher,
    pending: Vec<Pending>,
    book: SessionBook,
    changes: Changes,
    /// What people were warned of: once is enough.
    warned: BTreeSet<String>,
    /// Whether the client says nothing any more. It may still read.
    is_closed: bool,
}

impl<'a> Service<'a> {
    fn new(
        desk: Desk<'a>,
        surroundings: Surroundings,
        owner: Owner,
        is_closed: bool,
    ) -> Service<'a> {
        let store = Store::in_project(surroundings.project_root());
        Service {
            dispatcher: Dispatcher::new(store.clone()).adopting_orphans(),
            changes: Changes::new(&store, desk.changes.clone()),
            desk,
            surroundings,
            owner,
            store,
            pending: Vec::new(),
            book: SessionBook::default(),
            warned: BTreeSet::new(),
            is_closed,
        }
    }

    fn run(mut self) {
        loop {
            loop {
                match self.desk.requests.try_recv() {
                    Ok(Request::End) | Err(TryRecvError::Disconnected) => return,
                    Ok(request) => self.serve(request),
                    Err(TryRecvError::Empty) => break,
                }
            }
            let updates = self.await_something();
            for update in updates {
                self.take(update);
            }
            self.look_at_sessions();
            self.changes.look(&self.store);
            for place in (0..self.pending.len()).rev() {
                self.attend_to(place);
            }
        }
    }

    fn await_something(&mut self) -> Vec<Update> {
        let now = Instant::now();
        let deadlines = self.pending.iter().filter_map(|pending| pending.next_deadline(now));
        let limit: Option<Duration> = deadlines.chain(self.changes.next_look(now)).min();
        let watches = self.pending.iter().filter_map(Pending::waker);
        let wakers: Vec<BorrowedFd<'_>> = [self.desk.bell.as_fd()]
            .into_iter()
            .chain(watches)
            .chain(self.changes.waker())
            .collect();
        let updates = self.dispatcher.wait(&wakers, limit);
        while (&self.desk.bell).read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
        updates
    }

    fn serve(&mut self, request: Request) {
        match request {
            Request::Call(asked) => self.call(*asked),
            Request::Cancel(number) => self.cancel(number),
            Request::Subscribe(uri, watched) => {
                self.changes.subscribe(&self.store, &uri);
                // Somebody who is gone does not have to know.
                let _ = watched.send(());
            }
            Request::Unsubscribe(uri) => self.changes.unsubscribe(&uri),
            Request::Close => {
                self.is_closed = true;
                // Nobody hears of it, and nobody is to wait for it.
                self.pending.iter_mut().for_each(Pending::forget_caller);
            }
            Request::Begin(..) | Request::End => {}
        }
    }

    fn cancel(&mut self, number: CallNumber) {
        // What was answered before its end goes on.
        let is_meant = |pending: &Pending| pending.number == number && pending.is_awaited();
        let Some(place) = self.pending.iter().position(is_meant) else {
            return;
        };
        self.pending[place].forget_caller();
        if let Work::Tasks(call) = &self.pending[place].work {
            // It stays until nothing of it is left.
            call.stop(&mut self.dispatcher);
        } else {
            self.pending.remove(place);
        }
    }

    fn take(&mut self, update: Update) {
        let is_its =
            |pending: &&mut Pending| pending.tasks().is_some_and(|call| call.has(update.task));
        let Some(pending) = self.pending.iter_mut().find(is_its) else {
            return;
        };
        pending.is_changed = true;
        if let Work::Tasks(call) = &mut pending.work {
            call.take(update, &mut self.book);
        }
    }

    /// Looks whether the sessions that somebody waits for have ended.
    fn look_at_sessions(&mut self) {
        for pending in &mut self.pending {
            if let Work::Session(session) = &mut pending.work {
                session.look(&self.store);
            }
        }
    }

    /// Answers a call, tells how it stands, or lets it be, whatever it is time for.
    fn attend_to(&mut self, place: usize) {
        let pending = &self.pending[place];
        let is_over = match &pending.work {
            Work::Tasks(call) => call.is_over(),
            // A task that waits for its turn has no directory yet.
            Work::Session(session) => session.is_over && !self.is_own_running(&session.id),
        };
        let is_late = pending.is_late(Instant::now());
        if is_over {
            let answer = self.final_answer(&pending.work);
            self.pending.remove(place).answer(answer);
        } else if is_late {
            let answer = self.answer_so_far(&pending.work, pending.patience());
            let pending = &mut self.pending[place];
            pending.answer_once(Ok(answer));
            if matches!(pending.work, Work::Session(_)) {
                self.pending.remove(place);
            }
        } else if pending.is_word_due(Instant::now()) {
            let words = self.words(&pending.work);
            self.pending[place].tell(words);
        }
    }

    /// The task of a session that runs for this client, or waits for its turn.
    fn own_task(&self, session: &SessionId) -> Option<&ShownTask> {
        self.calls()
            .flat_map(RunningCall::tasks)
            .find(|task| task.meta.session_id == *session && task.phase != Phase::Ended)
    }

    fn is_own_running(&self, session: &SessionId) -> bool {
        self.own_task(session).is_some()
    }

    fn calls(&self) -> impl Iterator<Item = &RunningCall> {
        self.pending.iter().filter_map(Pending::tasks)
    }

    /// Everything that is read anew for each call: whoever changes a profile sees it at once.
    fn workspace(&self) -> Workspace {
        Workspace::load(self.surroundings.clone(), None)
    }

    fn warn<'w>(&mut self, warnings: impl IntoIterator<Item = &'w String>) {
        for warning in warnings {
            if self.warned.insert(warning.clone()) {
                (self.desk.warn)(warning);
            }
        }
    }
}
