//! What happens before the agent: its worktree is made, and a command prepares it. Requests to stop the run are heard
//! meanwhile.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use model::{CheckResult, Event, Leftovers, Outcome, ShellCommand, StopCause, Verdict};
use process::{Child, Exit, Keep, Signal};
use rustix::event::{PollFd, Timespec, poll};
use session::failed_command;
use store::Log;

use super::child_streams::Source;
use super::early_stop::EarlyStop;
use super::review::step::{StepEnd, Tail};
use super::sanitizer::Sanitizer;
use super::stopper::{StopStep, Stopper};
use crate::durations::REQUEST_INTERVAL;
use crate::leftovers::survivors;
use crate::worktree::Worktree;

/// Why the agent is not started.
pub(super) struct Unprepared {
    pub(super) cause: Option<StopCause>,
    pub(super) verdict: Verdict,
    /// What did not go away.
    pub(super) leftovers: Option<Leftovers>,
}

impl Unprepared {
    /// Something failed, unless the run was stopped: then that is why.
    pub(super) fn new(stop: &EarlyStop<'_>, error: String) -> Unprepared {
        let (cause, verdict) = match stop.verdict() {
            Some((cause, verdict)) => (Some(cause), verdict),
            None => (None, Verdict { outcome: Outcome::SpawnFailure, error: Some(error) }),
        };
        Unprepared { cause, verdict, leftovers: None }
    }
}

/// Makes the worktree of the run, if it has one.
pub(super) fn make_worktree(stop: &mut EarlyStop<'_>) -> Result<Option<Worktree>, Unprepared> {
    let meta = stop.sink.meta.clone();
    let looked = RefCell::new(&mut *stop);
    let made = Worktree::prepare(&meta, &|| looked.borrow_mut().look());
    made.map_err(|error| Unprepared::new(stop, format!("The worktree could not be made: {error}")))
}

/// Waits until the command that prepares the worktree has ended and nothing of it is left. What it prints is kept.
pub(super) fn attend_command(
    child: Child,
    command: &ShellCommand,
    sanitizer: &Sanitizer,
    stop: &mut EarlyStop<'_>,
) -> Result<(), Unprepared> {
    drop(child.stdin);
    let mut tree = child.tree;
    let mut streams = [child.stdout, child.stderr].map(|pipe| Source::new(pipe, |_| Keep::Ends));
    let timeout = Duration::from_millis(command.timeout_ms);
    let deadline = Instant::now().checked_add(timeout);
    let (mut stopper, mut output) = (Stopper::default(), Tail::default());
    let (mut exit, mut is_late, mut leftovers) = (None, false, None);
    let mut take = |line: process::Line<'_>, stop: &mut EarlyStop<'_>| {
        let logged = sanitizer.line(line);
        stop.sink.log(Log::Prepare, &logged);
        output.push(String::from_utf8_lossy(&logged).into_owned());
    };
    loop {
        stop.sink.flush();
        wait(stop, &streams, stopper.next().or(deadline));
        for stream in &mut streams {
            stream.read(|line| take(line, stop));
        }
        let reaped = tree.reap();
        exit = exit.or(reaped.child);
        if reaped.gone {
            break;
        }
        let now = Instant::now();
        let is_stopped = stop.look();
        let is_over = deadline.is_some_and(|deadline| now >= deadline);
        // What it has left behind goes, too.
        if stopper.is_idle() && (is_stopped || is_over || exit.is_some()) {
            is_late = !is_stopped && exit.is_none();
            tree.signal(Signal::Terminate);
            stopper.asked(now);
        }
        if stop.is_urgent {
            stopper.hasten(now);
        }
        match stopper.check(now) {
            Some(StopStep::Kill) => tree.signal(Signal::Kill),
            Some(StopStep::GiveUp) => {
                let (warning, left) = survivors(&tree.members());
                stop.sink.record(warning);
                leftovers = Some(left);
                break;
            }
            None => {}
        }
    }
    for stream in &mut streams {
        stream.finish(|line| take(line, stop));
    }
    tree.remove_cgroup();
    let problem = if stop.cause.is_some() {
        Some("stopped before it had ended".to_owned())
    } else {
        is_late.then(|| format!("stopped after {} s, its timeout", timeout.as_secs_f64()))
    };
    let (exit_code, signal) = match exit {
        Some(Exit::Code(code)) => (Some(code), None),
        Some(Exit::Signal(signal)) => (None, Some(signal)),
        None => (None, None),
    };
    let end = StepEnd { problem, exit_code, signal, output: output.text() };
    let is_good = note_end(&end, sanitizer, stop);
    if is_good && leftovers.is_none() {
        return Ok(());
    }
    let StepEnd { problem, exit_code, signal, output } = end;
    let command = command.command.clone();
    let result = CheckResult { command, passed: false, problem, exit_code, signal, output };
    let error = failed_command("The preparation", &result);
    Err(Unprepared { leftovers, ..Unprepared::new(stop, error) })
}

/// Records how the preparation ended, and returns whether it succeeded.
fn note_end(end: &StepEnd, sanitizer: &Sanitizer, stop: &mut EarlyStop<'_>) -> bool {
    let succeeded = end.has_succeeded();
    stop.sink.record(sanitizer.event(Event::PreparationEnded {
        succeeded,
        problem: end.problem.clone(),
        exit_code: end.exit_code,
        signal: end.signal,
        output: end.output.clone(),
    }));
    succeeded
}

fn wait(stop: &EarlyStop<'_>, streams: &[Source], deadline: Option<Instant>) {
    let pipes = streams.iter().filter_map(Source::pipe);
    let pipes = pipes.map(|pipe| (pipe, rustix::event::PollFlags::IN));
    let mut fds: Vec<PollFd<'_>> =
        stop.wakers().chain(pipes).map(|(fd, flags)| PollFd::from_borrowed_fd(fd, flags)).collect();
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let pause = left.map_or(REQUEST_INTERVAL, |left| left.min(REQUEST_INTERVAL));
    let timeout = Timespec::try_from(pause).ok();
    if poll(&mut fds, timeout.as_ref()).is_err_and(|error| error != rustix::io::Errno::INTR) {
        // Out of memory, most likely: it must not become a busy loop as well.
        std::thread::sleep(Duration::from_millis(10));
    }
}
