//! What the supervisor sleeps for, and what it does about each.

use std::os::fd::AsFd;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags};

use super::Supervision;
use crate::poll::poll_ready;

/// How often a stream is read before the others have their turn.
const READS_IN_A_ROW: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Waker {
    Signals,
    Lifeline,
    Screen,
    Requests,
    Stdout,
    Stderr,
    Input,
    StepStdout,
    StepStderr,
    StepInput,
}

impl Supervision {
    /// Waits until something can be done, or it is time to look.
    pub(super) fn wait(&self) -> Vec<Waker> {
        let sink = &self.interpreter.sink;
        // A parent that does not keep up slows the child down, and so does a child that does not read
        // what it asked for; nothing is dropped, and no memory grows.
        let reads = !sink.is_congested() && !self.input.is_congested();
        let sources = [
            (Waker::Signals, Some((self.signals.as_fd(), PollFlags::IN))),
            (Waker::Lifeline, sink.lifeline()),
            (Waker::Screen, sink.screen()),
            (Waker::Requests, self.requests.waker().map(|fd| (fd, PollFlags::IN))),
            (Waker::Stdout, self.stdout.pipe().filter(|_| reads).map(|fd| (fd, PollFlags::IN))),
            (Waker::Stderr, self.stderr.pipe().filter(|_| reads).map(|fd| (fd, PollFlags::IN))),
            (Waker::Input, self.input.pipe().map(|fd| (fd, PollFlags::OUT))),
        ];
        let of_step = self.step.iter().flat_map(|step| {
            [
                (Waker::StepStdout, step.stdout.pipe().map(|fd| (fd, PollFlags::IN))),
                (Waker::StepStderr, step.stderr.pipe().map(|fd| (fd, PollFlags::IN))),
                (Waker::StepInput, step.input.pipe().map(|fd| (fd, PollFlags::OUT))),
            ]
        });
        let (wakers, mut fds): (Vec<Waker>, Vec<PollFd<'_>>) = sources
            .into_iter()
            .chain(of_step)
            .filter_map(|(waker, source)| {
                source.map(|(fd, flags)| (waker, PollFd::from_borrowed_fd(fd, flags)))
            })
            .unzip();
        let timeout =
            self.next_deadline().map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if !poll_ready(&mut fds, timeout) {
            return Vec::new();
        }
        let ready = fds.iter().zip(wakers).filter(|(fd, _)| !fd.revents().is_empty());
        ready.map(|(_, waker)| waker).collect()
    }

    pub(super) fn handle(&mut self, wakers: &[Waker]) {
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
                    self.refuse_early_answers();
                    self.converse(now);
                    if self.interpreter.is_stopped {
                        self.terminate();
                    }
                }
                Waker::Stderr => {
                    self.stderr.read(|line| self.interpreter.read_stderr(line));
                }
                Waker::Input => self.input.write(),
                Waker::StepStdout | Waker::StepStderr => self.read_step(),
                Waker::StepInput => {
                    if let Some(step) = &mut self.step {
                        step.input.write();
                    }
                }
            }
        }
    }
}
