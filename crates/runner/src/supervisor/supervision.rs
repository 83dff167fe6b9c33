//! The loop around one child.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use model::{Event, Outcome, StopCause};
use process::{Child, Exit, Keep, Notice, Signal, SignalPipe, Tree};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use session::{Ending, decide};
use store::StopRequest;

use super::child_streams::{Feed, Source};
use super::interpreter::Interpreter;
use super::requests::Requests;
use super::screen::ScreenWish;
use super::stopper::{StopStep, Stopper};
use super::watchdog::Alarm;
use crate::dialect::pi;
use crate::lifeline::ToSupervisor;
use crate::recover::survivors_warning;

/// What the child has left behind may take this long to end by itself before it is stopped.
const LEFTOVER_PATIENCE: Duration = Duration::from_millis(100);

/// How often a stream is read before the others have their turn.
const READS_IN_A_ROW: usize = 8;

/// What is said of an answer that did not come to its end.
const CUT_OFF: &str = "The answer was cut off at the model's limit of length";

/// A child and everything that watches over it.
pub(crate) struct Supervision {
    tree: Tree,
    feed: Feed,
    stdout: Source,
    stderr: Source,
    interpreter: Interpreter,
    signals: SignalPipe,
    requests: Requests,
    stopper: Stopper,
    exit: Option<Exit>,
    exit_seen_at: Option<Instant>,
    is_gone: bool,
    /// The signal that has asked this process to end.
    quit: Option<Notice>,
    /// Whether somebody has pressed Ctrl-C in the pane.
    is_interrupted: bool,
}

/// Whom the poll is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waker {
    Signals,
    Lifeline,
    Screen,
    Requests,
    Stdout,
    Stderr,
    Feed,
}

impl Supervision {
    pub(crate) fn new(
        child: Child,
        prompt: String,
        interpreter: Interpreter,
        signals: SignalPipe,
        requests: Requests,
    ) -> Supervision {
        Supervision {
            tree: child.tree,
            feed: Feed::new(child.stdin, prompt),
            stdout: Source::new(child.stdout, pi::keep),
            stderr: Source::new(child.stderr, |_| Keep::Ends),
            interpreter,
            signals,
            requests,
            stopper: Stopper::default(),
            exit: None,
            exit_seen_at: None,
            is_gone: false,
            quit: None,
            is_interrupted: false,
        }
    }

    /// Watches over the child until nothing of its tree is left, and ends the run.
    pub(crate) fn run(mut self) {
        self.feed.write();
        while !self.is_gone {
            self.interpreter.chronicle.flush();
            let wakers = self.wait();
            self.handle(&wakers);
            self.check_time();
        }
        self.finish();
    }

    /// Sleeps until something can be done.
    fn wait(&self) -> Vec<Waker> {
        let chronicle = &self.interpreter.chronicle;
        // A parent that does not keep up slows the child down; nothing is dropped, and no memory
        // grows.
        let reads = !chronicle.is_congested();
        let sources = [
            (Waker::Signals, Some((self.signals.as_fd(), PollFlags::IN))),
            (Waker::Lifeline, chronicle.lifeline()),
            (Waker::Screen, chronicle.screen()),
            (Waker::Requests, self.requests.waker().map(|fd| (fd, PollFlags::IN))),
            (Waker::Stdout, self.stdout.pipe().filter(|_| reads).map(|fd| (fd, PollFlags::IN))),
            (Waker::Stderr, self.stderr.pipe().filter(|_| reads).map(|fd| (fd, PollFlags::IN))),
            (Waker::Feed, self.feed.pipe().map(|fd| (fd, PollFlags::OUT))),
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
                    if self.interpreter.has_looped() {
                        self.ask_to_end();
                    }
                }
                Waker::Stderr => {
                    self.stderr.read(|line| self.interpreter.read_stderr(line));
                }
                Waker::Feed => self.feed.write(),
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
                    // If we were stopped while our parent died, the kernel hangs up on us, as on all
                    // who are stopped and have nobody left: that is no wish, and the end of the
                    // lifeline says what it is.
                    self.handle_lifeline();
                    self.stop(StopCause::Cancelled);
                }
            }
        }
    }

    fn reap(&mut self) {
        let reaped = self.tree.reap();
        if self.exit.is_none() && reaped.child.is_some() {
            self.exit = reaped.child;
            self.exit_seen_at = Some(Instant::now());
            // Nobody will read the rest.
            self.feed.close();
        }
        self.is_gone = reaped.gone;
    }

    fn handle_lifeline(&mut self) {
        let (wishes, parent_is_gone) = self.interpreter.chronicle.hear();
        for wish in wishes {
            match wish {
                ToSupervisor::Start(_) => {}
                ToSupervisor::Stop => self.stop(StopCause::Cancelled),
                ToSupervisor::Kill => self.kill(),
            }
        }
        if parent_is_gone {
            self.stop(StopCause::ParentDied);
        }
    }

    /// Whoever closes the pane, or presses Ctrl-C in it, wants the run to end; twice, at once.
    fn handle_screen(&mut self) {
        for wish in self.interpreter.chronicle.hear_screen() {
            match wish {
                ScreenWish::Interrupt if self.is_interrupted => self.kill(),
                ScreenWish::Interrupt => {
                    self.is_interrupted = true;
                    self.stop(StopCause::Cancelled);
                }
                ScreenWish::Closed => self.stop(StopCause::Cancelled),
            }
        }
    }

    fn handle_requests(&mut self) {
        match self.requests.look(Instant::now()) {
            Some(StopRequest::Gracefully) => self.stop(StopCause::Cancelled),
            Some(StopRequest::AtOnce) => self.kill(),
            None => {}
        }
    }

    fn kill(&mut self) {
        self.stop(StopCause::Cancelled);
        self.stopper.hasten(Instant::now());
    }

    fn check_time(&mut self) {
        let now = Instant::now();
        let is_deaf = self.interpreter.chronicle.is_congested();
        self.interpreter.watchdog.set_deaf(is_deaf, now);
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
        if self.stopper.is_idle() {
            if self.leftovers_due().is_some_and(|due| now >= due) {
                self.stop(StopCause::Leftovers);
            } else if self.exit.is_none() {
                match self.interpreter.watchdog.check(now) {
                    Some(Alarm::Timeout) => self.stop(StopCause::Timeout),
                    Some(Alarm::LastWord) => self.stop(StopCause::LastWord),
                    Some(Alarm::TimeoutExtended) => {
                        self.interpreter.chronicle.tell(Event::TimeoutExtended);
                    }
                    None => {}
                }
            }
        }
        match self.stopper.check(now) {
            Some(StopStep::Kill) => self.tree.signal(Signal::Kill),
            Some(StopStep::GiveUp) => {
                let warning = survivors_warning(self.tree.count());
                self.interpreter.chronicle.tell(warning);
                self.is_gone = true;
            }
            None => {}
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let own = if !self.stopper.is_idle() {
            self.stopper.next()
        } else if self.exit.is_some() {
            self.leftovers_due()
        } else {
            self.interpreter.watchdog.next()
        };
        own.into_iter().chain(self.requests.next()).min()
    }

    fn leftovers_due(&self) -> Option<Instant> {
        self.exit_seen_at.map(|seen| seen + LEFTOVER_PATIENCE)
    }

    /// Begins to stop the tree, unless that has begun already.
    fn stop(&mut self, cause: StopCause) {
        if !self.stopper.is_idle() {
            return;
        }
        // What has already been decided is not changed by a later wish.
        let cause = if self.exit.is_some() {
            StopCause::Leftovers
        } else if self.interpreter.watchdog.has_settled() {
            StopCause::LastWord
        } else {
            cause
        };
        self.interpreter.chronicle.tell(Event::Stopping { cause });
        self.ask_to_end();
    }

    fn ask_to_end(&mut self) {
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
        let mut chronicle = self.interpreter.chronicle;
        let verdict = decide(Ending {
            facts: chronicle.facts(),
            limits: &chronicle.meta().limits,
            agent_working: self.interpreter.watchdog.is_working(),
            exit_code,
            signal,
        });
        // It said all that it could, which may not be all that it wanted to say.
        let is_cut_off = chronicle.facts().stop_reason.as_deref() == Some("length");
        if verdict.outcome == Outcome::Completed && is_cut_off {
            chronicle.tell(Event::Warning { message: CUT_OFF.to_owned() });
        }
        chronicle.end(Event::RunEnded {
            outcome: verdict.outcome,
            error: verdict.error,
            exit_code,
            signal,
        });
    }
}
