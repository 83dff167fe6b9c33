//! What happens before the agent: its worktree is made, and a command prepares it. Requests to stop the run are heard
//! meanwhile.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use model::{CheckResult, Event, ShellCommand};
use process::{Child, Keep, Signal};
use rustix::event::{PollFd, PollFlags};
use session::failed_command;
use store::Log;

use super::agent_starter::AgentStarter;
use super::child_streams::Source;
use super::confined_start::Started;
use super::early_end::{EarlyEnd, Unprepared};
use super::early_stop::EarlyStop;
use super::review::step::{StepEnd, Tail};
use super::sanitizer::Sanitizer;
use super::stopper::{StopStep, Stopper};
use crate::durations::REQUEST_INTERVAL;
use crate::leftovers::survivors;
use crate::poll::poll_ready;
use crate::worktree::Worktree;

/// Makes the worktree of the run, if it has one.
pub(super) fn make_worktree(stop: &mut EarlyStop<'_>) -> Result<Option<Worktree>, Unprepared> {
    let meta = stop.sink.meta.clone();
    let looked = RefCell::new(&mut *stop);
    let made = Worktree::prepare(&meta, &|| looked.borrow_mut().look());
    match made {
        Ok(worktree) => {
            let warning = worktree.as_ref().and_then(|worktree| worktree.warning.clone());
            warning.into_iter().for_each(|message| stop.sink.record(Event::Warning { message }));
            Ok(worktree)
        }
        Err(error) => {
            Err(Unprepared::new(stop, format!("The worktree could not be made: {error}")))
        }
    }
}

/// Runs the command that prepares the worktree, if there is one.
pub(super) fn run_preparation(
    starter: &mut AgentStarter,
    sanitizer: &Sanitizer,
    stop: &mut EarlyStop<'_>,
) -> Result<(), EarlyEnd> {
    let plan = starter.meta.worktree.as_ref();
    let Some(command) = plan.and_then(|plan| plan.prepare.clone()) else { return Ok(()) };
    let started = Event::PreparationStarted { command: command.command.clone() };
    stop.sink.record(sanitizer.event(started));
    let Started { child, .. } = starter.start_command(&command.command)?;
    Ok(attend_command(child, &command, sanitizer, stop)?)
}

/// Waits until the command that prepares the worktree has ended and nothing of it is left. What it prints is kept.
fn attend_command(
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
    let late_after = is_late.then_some(timeout);
    let end = StepEnd::new(exit, stop.cause.is_some(), late_after, output.text());
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
    let pipes = pipes.map(|pipe| (pipe, PollFlags::IN));
    let mut fds: Vec<PollFd<'_>> =
        stop.wakers().chain(pipes).map(|(fd, flags)| PollFd::from_borrowed_fd(fd, flags)).collect();
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let pause = left.map_or(REQUEST_INTERVAL, |left| left.min(REQUEST_INTERVAL));
    poll_ready(&mut fds, Some(pause));
}
