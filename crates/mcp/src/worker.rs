//! The thread that serves calls: one loop over one [`CallServer`].

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use model::Owner;
use plan::Surroundings;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{broadcast, oneshot, watch};
use tools::{
    AskedQuestion, CallContext, CallEvent, CallReply, CallServer, Caller, Choices, FinishedCall,
    OpenCallId, QuestionId, Reporting, StopForce,
};

use crate::answer::{Answer, Reply};
use crate::changes::{Change, Changes};
use crate::elicitation::Asked;
use crate::flow::UnderWay;

/// How many changes are kept for a task of the SDK that is slow to take them.
const CHANGES: usize = 256;

/// How often a client gets a report about a call. Clients take a minute of silence for the end, some less.
const PROGRESS: Reporting = Reporting::Paced {
    busy: Duration::from_millis(500),
    quiet: Some(Duration::from_secs(5)),
    shows_activity: true,
};

/// Sends requests to the worker. All clones lead to the same one.
#[derive(Clone, Debug)]
pub(crate) struct CallHandle {
    requests: Sender<Request>,
    waker: Arc<UnixStream>,
    changes: broadcast::Sender<Change>,
    is_closed: watch::Sender<bool>,
}

/// What the worker is asked for.
#[derive(Debug)]
pub(crate) enum Request {
    /// The first request: which client is served, and where it works.
    Begin(Box<Surroundings>, Owner),
    Call(Box<CallRequest>),
    /// The client does not wait for this call any more.
    Cancel(CallNumber),
    /// Watch what is at this address, and say when it is watched.
    Subscribe(String, oneshot::Sender<()>),
    Unsubscribe(String),
    /// The client's user can be asked what agents ask.
    AskClient(UnboundedSender<Asked>),
    /// Something that the user should know.
    Warn(String),
    /// The client was told of these choices.
    Listed(Box<Choices>),
    /// The client has closed its end. It may still read.
    Close,
    /// The conversation is over.
    End,
}

/// Names a call among those of one client, before the worker has seen it.
pub(crate) type CallNumber = u64;

/// A call of a tool.
#[derive(Debug)]
pub(crate) struct CallRequest {
    pub(crate) name: String,
    pub(crate) arguments: Value,
    pub(crate) caller: WaitingCaller,
}

/// The side of the SDK that waits for an answer.
#[derive(Debug)]
pub(crate) struct WaitingCaller {
    pub(crate) number: CallNumber,
    /// Whether the answer may have any length.
    pub(crate) is_full: bool,
    pub(crate) answer: oneshot::Sender<Reply>,
    /// Takes reports about how the call stands, if the client has asked for them. A later one replaces
    /// one that the client has not taken.
    pub(crate) progress: Option<watch::Sender<String>>,
    /// The request counts as under way for as long as this is here, even if it was cancelled.
    pub(crate) _under_way: Option<UnderWay>,
}

impl CallHandle {
    pub(crate) fn send(&self, request: Request) {
        // A worker that is gone has dropped the channels of all callers, which ends their waiting.
        let _ = self.requests.send(request);
        self.wake();
    }

    /// The client has closed its end.
    pub(crate) fn close(&self) {
        self.is_closed.send_replace(true);
        self.send(Request::Close);
    }

    /// Waits until the client has closed its end.
    pub(crate) async fn closed(&self) {
        // This cannot fail: the sender is here.
        let _ = self.is_closed.subscribe().wait_for(|is_closed| *is_closed).await;
    }

    /// What changes from now on.
    pub(crate) fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    fn wake(&self) {
        // A full pipe wakes the worker as well.
        let _ = io::Write::write(&mut &*self.waker, &[1]);
    }
}

/// The worker before it knows its client.
pub(crate) struct Worker<'a> {
    requests: Receiver<Request>,
    waker: UnixStream,
    changes: broadcast::Sender<Change>,
    warn: &'a dyn Fn(&str),
}

impl<'a> Worker<'a> {
    pub(crate) fn new(warn: &'a dyn Fn(&str)) -> io::Result<(CallHandle, Worker<'a>)> {
        let (sender, requests) = channel();
        let (sending_waker, waker) = UnixStream::pair()?;
        sending_waker.set_nonblocking(true)?;
        waker.set_nonblocking(true)?;
        let (changes, _) = broadcast::channel(CHANGES);
        let handle = CallHandle {
            requests: sender,
            waker: Arc::new(sending_waker),
            changes: changes.clone(),
            is_closed: watch::Sender::new(false),
        };
        Ok((handle, Worker { requests, waker, changes, warn }))
    }

    /// Serves until the conversation is over.
    pub(crate) fn run(self) {
        let mut is_closed = false;
        while let Ok(request) = self.requests.recv() {
            match request {
                Request::Begin(surroundings, owner) => {
                    let mut service = Service::new(self, *surroundings, owner);
                    if is_closed {
                        service.calls.close();
                    }
                    service.run();
                    return;
                }
                Request::Close => is_closed = true,
                Request::End => return,
                // Nothing else comes before the client is known.
                _ => {}
            }
        }
    }
}

/// One client, and everything that runs for it.
struct Service<'a> {
    worker: Worker<'a>,
    calls: CallServer,
    callers: BTreeMap<OpenCallId, WaitingCaller>,
    changes: Changes,
    /// The name of the client.
    client: Option<String>,
    /// Takes what agents ask, if the client's user can be asked.
    asking: Option<UnboundedSender<Asked>>,
    /// The questions that the client's user has not answered. One that is removed is taken back.
    asked: BTreeMap<QuestionId, oneshot::Sender<()>>,
}

impl<'a> Service<'a> {
    fn new(worker: Worker<'a>, surroundings: Surroundings, owner: Owner) -> Service<'a> {
        let client = owner.id.clone();
        let caller = Caller {
            waits_for_sessions: true,
            remembers_sessions: true,
            ..Caller::new(surroundings, owner)
        };
        let calls = CallServer::new(caller);
        let changes = Changes::new(calls.store(), calls.surroundings(), worker.changes.clone());
        let (callers, asked) = (BTreeMap::new(), BTreeMap::new());
        Service { worker, calls, callers, changes, client, asking: None, asked }
    }

    fn run(mut self) {
        loop {
            loop {
                match self.worker.requests.try_recv() {
                    Ok(Request::End) | Err(TryRecvError::Disconnected) => return,
                    Ok(request) => self.serve(request),
                    Err(TryRecvError::Empty) => break,
                }
            }
            let events = self.wait();
            self.pass_on(events);
            self.changes.look(self.calls.store());
        }
    }

    fn wait(&mut self) -> Vec<CallEvent> {
        let limit = self.changes.next_look(Instant::now());
        let wakers = [self.worker.waker.as_fd()].into_iter().chain(self.changes.waker());
        let wakers: Vec<BorrowedFd<'_>> = wakers.collect();
        let events = self.calls.wait(&wakers, limit);
        while (&self.worker.waker).read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
        events
    }

    fn serve(&mut self, request: Request) {
        match request {
            Request::Call(request) => self.call(*request),
            Request::Cancel(number) => {
                // A call that was answered before its end has no caller any more, and goes on.
                let mut callers = self.callers.iter();
                if let Some((&call, _)) = callers.find(|(_, caller)| caller.number == number) {
                    self.callers.remove(&call);
                    self.calls.cancel(call, StopForce::Gracefully);
                }
            }
            Request::Subscribe(uri, watched) => {
                self.changes.subscribe(self.calls.store(), &uri);
                // The client may be gone.
                let _ = watched.send(());
            }
            Request::Unsubscribe(uri) => self.changes.unsubscribe(&uri),
            Request::AskClient(asking) => self.asking = Some(asking),
            Request::Warn(warning) => (self.worker.warn)(&warning),
            Request::Listed(choices) => self.changes.listed(*choices),
            Request::Close => {
                self.calls.close();
                // The SDK waits for all calls before it ends the conversation.
                self.callers.clear();
            }
            Request::Begin(..) | Request::End => {}
        }
    }

    /// Answers a call at once, or keeps its caller until it is over.
    fn call(&mut self, request: CallRequest) {
        let CallRequest { name, arguments, caller } = request;
        let reporting = if caller.progress.is_some() { PROGRESS } else { Reporting::Silent };
        let context = CallContext { reporting, ..CallContext::default() };
        let reply = self.calls.call(&name, &arguments, &context);
        let events = self.calls.take_events();
        self.pass_on(events);
        match reply {
            Ok(CallReply::Pending(call)) => {
                self.callers.insert(call, caller);
            }
            Ok(CallReply::Answer(answer)) => {
                let answer = Answer::of_tool(answer, caller.is_full, self.calls.store());
                caller.reply(Ok(answer));
            }
            Err(error) => caller.reply(Err(error.into())),
        }
    }

    fn pass_on(&mut self, events: Vec<CallEvent>) {
        for event in events {
            match event {
                CallEvent::Warning(warning) => (self.worker.warn)(&warning),
                CallEvent::ReportDue(call) => {
                    let caller = self.callers.get(&call);
                    if let Some(progress) = caller.and_then(|caller| caller.progress.as_ref()) {
                        progress.send_replace(self.calls.report(call));
                    }
                }
                CallEvent::AnswerDue { call, waited } => self.answer_early(call, waited),
                CallEvent::Over(call) => self.answer(call),
                CallEvent::QuestionAsked(asked) => self.ask(*asked),
                CallEvent::QuestionSettled(question) => drop(self.asked.remove(&question)),
                // Nothing here draws tasks, and nothing keeps a log.
                CallEvent::TaskEvent { .. }
                | CallEvent::TaskChanged(_)
                | CallEvent::TaskEnded { .. }
                | CallEvent::LogEntry { .. }
                | CallEvent::Footer(_)
                | CallEvent::BackgroundEnded(_) => {}
            }
        }
    }

    /// Puts a question to the client's user.
    fn ask(&mut self, question: AskedQuestion) {
        let Some(asking) = &self.asking else { return };
        let (open, settled) = oneshot::channel();
        self.asked.insert(question.id(), open);
        // Without a receiver the conversation is over.
        let _ = asking.send(Asked { question, client: self.client.clone(), settled });
    }

    fn answer(&mut self, call: OpenCallId) {
        let finished = self.calls.finish(call);
        let (Some(finished), Some(caller)) = (finished, self.callers.remove(&call)) else {
            return;
        };
        let reply = match finished {
            FinishedCall::Tasks(tasks) => {
                Ok(Answer::of_tasks(&tasks, &self.calls.surroundings().agent_dir))
            }
            FinishedCall::Answer(Ok(answer)) => {
                Ok(Answer::of_tool(answer, caller.is_full, self.calls.store()))
            }
            FinishedCall::Answer(Err(error)) => Err(error.into()),
        };
        caller.reply(reply);
    }

    /// Answers a client that gets no reports, before it gives up waiting. Tasks go on.
    fn answer_early(&mut self, call: OpenCallId, waited: Duration) {
        let Some(caller) = self.callers.remove(&call) else {
            return;
        };
        if let Some(tasks) = self.calls.running(call) {
            caller.reply(Ok(Answer::of_tasks_so_far(tasks, waited)));
        } else if let Some(session) = self.calls.awaited(call) {
            let report = self.calls.report(call);
            caller.reply(Ok(Answer::of_session_so_far(session, &report, waited)));
            self.calls.cancel(call, StopForce::Gracefully);
        }
    }
}

impl WaitingCaller {
    fn reply(self, reply: Reply) {
        // A caller that is gone has cancelled its call.
        let _ = self.answer.send(reply);
    }
}
