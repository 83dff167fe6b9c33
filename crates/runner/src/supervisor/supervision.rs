//! The loop around one child.

use std::mem;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use model::{Event, Outcome, StopCause, StopReason, Verdict};
use process::{Child, Exit, Keep, Notice, Signal, SignalPipe, Tree};
use protocol::Protocol;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use session::{Ending, decide};
use store::StopForce;

use super::child_streams::{Input, Source};
use super::event_sink::EventSink;
use super::interpreter::Interpreter;
use super::requests::Requests;
use super::rules::{Ruling, Situation};
use super::screen::ScreenRequest;
use super::stopper::{StopStep, Stopper};
use crate::lifeline::ToSupervisor;
use crate::recover::survivors_warning;

/// How often a stream is read before the others have their turn.
const READS_IN_A_ROW: usize = 8;

/// What is said of an answer that did not come to its end.
const CUT_OFF: &str = "The answer was cut off at the model's limit of length";

pub(crate) struct Supervision {
    tree: Tree,
    input: Input,
    stdout: Source,
    stderr: Source,
    interpreter: Interpreter,
    signals: SignalPipe,
    requests: Requests,
    stopper: Stopper,
    exit: Option<Exit>,
    exited_at: Option<Instant>,
    is_gone: bool,
    /// The signal that has asked this process to end.
    quit: Option<Notice>,
    /// Whether the user has pressed Ctrl-C in the pane.
    is_interrupted: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Waker {
    Signals,
    Lifeline,
    Screen,
    Requests,
    Stdout,
    Stderr,
    Input,
}

impl Supervision {
    pub(crate) fn new(
        child: Child,
        protocol: Protocol,
        prompt: String,
        interpreter: Interpreter,
        signals: SignalPipe,
        requests: Requests,
    ) -> Supervision {
        Supervision {
            tree: child.tree,
            input: Input::new(child.stdin, protocol.opening(prompt)),
            stdout: Source::new(child.stdout, protocol.keep()),
            stderr: Source::new(child.stderr, |_| Keep::Ends),
            interpreter,
            signals,
            requests,
            stopper: Stopper::default(),
            exit: None,
            exited_at: None,
            is_gone: false,
            quit: None,
            is_interrupted: false,
        }
    }

    /// Watches over the child until nothing of its tree is left, and ends the run.
    pub(crate) fn run(mut self) {
        self.input.write();
        while !self.is_gone {
            self.interpreter.sink.flush();
            let wakers = self.wait();
            self.handle(&wakers);
            self.check_time();
        }
        self.finish();
    }

    fn wait(&self) -> Vec<Waker> {
        let sink = &self.interpreter.sink;
        // A parent that does not keep up slows the child down; nothing is dropped, and no memory
        // grows.
        let reads = !sink.is_congested();
        let sources = [
            (Waker::Signals, Some((self.signals.as_fd(), PollFlags::IN))),
            (Waker::Lifeline, sink.lifeline()),
            (Waker::Screen, sink.screen()),
            (Waker::Requests, self.requests.waker().map(|fd| (fd, PollFlags::IN))),
            (Waker::Stdout, self.stdout.pipe().filter(|_| reads).map(|fd| (fd, PollFlags::IN))),
            (Waker::Stderr, self.stderr.pipe().filter(|_| reads).map(|fd| (fd, PollFlags::IN))),
            (Waker::Input, self.input.pipe().map(|fd| (fd, PollFlags::OUT))),
        ];
        let (wakers, mut fds): (Vec<Waker>, Vec<PollFd<'_>>) = sources
            .into_iter()
            .filter_map(|(waker, source)| {
                source.map(|(fd, flags)| (waker, PollFd::from_borrowed_fd(fd, flags)))
            })
            .unzip();
        let timeout = self.next_deadline().map(|deadline| {
            // The kernel never wakes too early for a deadline, but may be asked too late for one.
            let duration = deadline.saturating_duration_since(Instant::now());
            Timespec::try_from(duration).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 })
        });
        match poll(&mut fds, timeout.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => Vec::new(),
            Err(_) => {
                // Out of memory, most likely: it must not become a busy loop as well.
                std::thread::sleep(Duration::from_millis(10));
                Vec::new()
            }
            Ok(_) => {
                let ready = fds.iter().zip(wakers).filter(|(fd, _)| !fd.revents().is_empty());
                ready.map(|(_, waker)| waker).collect()
            }
        }
    }

    fn handle(&mut self, wakers: &[Waker]) {
        for waker in wakers {
            match waker {
                Waker::Signals => self.handle_signals(),
                Waker::Lifeline => self.handle_lifeline(),
                Waker::Screen => self.handle_screen(),
                Waker::Requests => self.handle_requests(),
                Waker::Stdout => {
                    let now = Instant::now();
                    // A child in full flow is read a few times in a row, so that what it said is
                    // written in larger pieces.
                    (0..READS_IN_A_ROW)
                        .all(|_| self.stdout.read(|line| self.interpreter.read_stdout(line, now)));
                    self.input.push(&mem::take(&mut self.interpreter.replies));
                    if self.interpreter.verdict.is_some() {
                        self.input.close_when_written();
                    }
                    if self.interpreter.is_stopped {
                        self.terminate();
                    }
                }
                Waker::Stderr => {
                    self.stderr.read(|line| self.interpreter.read_stderr(line));
                }
                Waker::Input => self.input.write(),
            }
        }
    }

    fn handle_signals(&mut self) {
        for notice in self.signals.drain() {
            match notice {
                Notice::ChildEnded => self.reap(),
                // Hanging up and terminating often come together, and to the parent as well, and
                // mean one thing. Only the same signal again means more.
                quit if self.quit == Some(quit) => self.stopper.hasten(Instant::now()),
                quit => {
                    self.quit.get_or_insert(quit);
                    // If this process was stopped while its parent died, the kernel hangs up on it, as
                    // on every stopped process that is orphaned. That is no request, and the end of
                    // the lifeline says what it is.
                    self.handle_lifeline();
                    self.request_stop(StopCause::Cancelled);
                }
            }
        }
    }

    fn reap(&mut self) {
        let reaped = self.tree.reap();
        if self.exit.is_none() && reaped.child.is_some() {
            self.exit = reaped.child;
            self.exited_at = Some(Instant::now());
            // The rest will not be read.
            self.input.close();
        }
        self.is_gone = reaped.gone;
    }

    fn handle_lifeline(&mut self) {
        let (requests, parent_is_gone) = self.interpreter.sink.parent_requests();
        for request in requests {
            match request {
                ToSupervisor::Start { .. } => {}
                ToSupervisor::Stop => self.request_stop(StopCause::Cancelled),
                ToSupervisor::Kill => self.kill(),
            }
        }
        if parent_is_gone {
            self.request_stop(StopCause::ParentDied);
        }
    }

    /// Ctrl-C in the pane, or its end, stops the run; a second Ctrl-C kills it.
    fn handle_screen(&mut self) {
        for request in self.interpreter.sink.screen_requests() {
            match request {
                ScreenRequest::Interrupt if self.is_interrupted => self.kill(),
                ScreenRequest::Interrupt => {
                    self.is_interrupted = true;
                    self.request_stop(StopCause::Cancelled);
                }
                ScreenRequest::Closed => self.request_stop(StopCause::Cancelled),
            }
        }
    }

    fn handle_requests(&mut self) {
        match self.requests.look(Instant::now()) {
            Some(StopForce::Gracefully) => self.request_stop(StopCause::Cancelled),
            Some(StopForce::AtOnce) => self.kill(),
            None if self.requests.is_removed => self.request_stop(StopCause::DirectoryRemoved),
            None => {}
        }
    }

    fn kill(&mut self) {
        self.request_stop(StopCause::Cancelled);
        self.stopper.hasten(Instant::now());
    }

    fn request_stop(&mut self, cause: StopCause) {
        self.interpreter.rules.request(cause);
        self.apply_rules(Instant::now());
    }

    /// The one place that decides whether the run is stopped.
    fn apply_rules(&mut self, now: Instant) {
        let Interpreter { sink, rules, .. } = &mut self.interpreter;
        let situation = situation(sink, self.exited_at);
        match rules.check(&situation, now) {
            Some(Ruling::Stop(cause)) => {
                sink.record(Event::Stopping { cause });
                self.terminate();
            }
            Some(Ruling::Record(event)) => sink.record(event),
            None => {}
        }
    }

    fn check_time(&mut self) {
        let now = Instant::now();
        if !self.stopper.is_idle() {
            // Without a subreaper the end of a grandchild brings no signal.
            self.reap();
        }
        if self.is_gone {
            return;
        }
        if self.requests.is_due(now) {
            self.handle_requests();
        }
        self.apply_rules(now);
        match self.stopper.check(now) {
            Some(StopStep::Kill) => self.tree.signal(Signal::Kill),
            Some(StopStep::GiveUp) => {
                let warning = survivors_warning(self.tree.count());
                self.interpreter.sink.record(warning);
                self.is_gone = true;
            }
            None => {}
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let Interpreter { sink, rules, .. } = &self.interpreter;
        let rules = rules.next_deadline(&situation(sink, self.exited_at));
        [rules, self.stopper.next(), self.requests.look_at].into_iter().flatten().min()
    }

    /// Begins to stop the tree, unless that has begun already.
    fn terminate(&mut self) {
        if self.stopper.is_idle() {
            self.tree.signal(Signal::Terminate);
            self.stopper.asked(Instant::now());
        }
    }

    /// Nothing of the tree is left: takes in what it still had to say, and ends the run.
    fn finish(mut self) {
        let now = Instant::now();
        self.stdout.finish(|line| self.interpreter.read_stdout(line, now));
        self.stderr.finish(|line| self.interpreter.read_stderr(line));
        let (exit_code, signal) = match self.exit {
            Some(Exit::Code(code)) => (Some(code), None),
            Some(Exit::Signal(signal)) => (None, Some(signal)),
            None => (None, None),
        };
        let sink = &mut self.interpreter.sink;
        let verdict = decide(Ending {
            facts: &sink.facts,
            limits: &sink.meta.limits,
            agent_working: self.interpreter.rules.agent_is_working(),
            told: self.interpreter.verdict.as_ref(),
            exit_code,
            signal,
        });
        // It said all that it could, which may not be all that it wanted to say.
        let is_cut_off = sink.facts.stop_reason == Some(StopReason::Length);
        if verdict.outcome == Outcome::Completed && is_cut_off {
            sink.record(Event::Warning { message: CUT_OFF.to_owned() });
        }
        let Verdict { outcome, error } = verdict;
        self.interpreter.end(Event::RunEnded { outcome, error, exit_code, signal });
    }
}

fn situation(sink: &EventSink, exited_at: Option<Instant>) -> Situation<'_> {
    Situation { facts: &sink.facts, exited_at, is_unread: sink.is_congested() }
}
