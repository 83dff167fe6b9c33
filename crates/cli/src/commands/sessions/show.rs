//! `sessions show` on a terminal: everything that was said and done, to scroll, unfold and search.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use process::SignalPipe;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use session::view::{Line, Phase, Role};
use tools::{Appearance, Session, ShownTask, Workspace};
use tui::{Command, Controls, styled};

use crate::error::{CommandError, Exit};
use crate::live::Live;
use crate::printer::Printer;
use crate::terminal;

/// How often a run that still works is read again.
const INTERVAL: Duration = Duration::from_secs(1);

/// Shows the session, and says whether it did: false if there is no terminal to show it on.
pub(super) fn show(
    session: &Session,
    workspace: &Workspace,
    printer: &Printer,
) -> Result<Option<Exit>, CommandError> {
    let has_terminal = printer.can_draw && io::stdout().is_terminal() && io::stdin().is_terminal();
    let Some(size) = has_terminal.then(terminal::size).flatten() else { return Ok(None) };
    let appearance = Appearance::new(workspace, Some(size.columns));
    let load = || -> Result<Vec<ShownTask>, CommandError> {
        let runs = session.runs.iter();
        Ok(runs
            .map(|run| ShownTask::of_run(run.dir.clone(), &appearance))
            .collect::<Result<_, _>>()?)
    };
    let mut tasks = load()?;
    let lines = whole(&tasks, size.columns.saturating_sub(1));
    if lines.len() < size.rows && !is_running(&tasks) {
        let lines = lines.iter().map(|line| format!("{}\n", styled(line, printer.palette)));
        printer.script(lines.collect::<String>())?;
        return Ok(Some(Exit::Completed));
    }
    let mut signals = SignalPipe::for_quitting()
        .map_err(|error| CommandError::failure(format!("signals cannot be caught: {error}")))?;
    let controls = Controls::reading(tasks.len().saturating_sub(1));
    let Some(mut live) = Live::open(printer, controls) else { return Ok(None) };
    live.change();
    let mut loaded = Instant::now();
    loop {
        let shown: Vec<&ShownTask> = tasks.iter().collect();
        if live.turn(&shown)?.contains(&Command::Leave) || signals.drain().next().is_some() {
            return Ok(Some(Exit::Completed));
        }
        let mut fds = live.wakers();
        fds.push(signals.as_fd());
        let mut fds: Vec<PollFd<'_>> =
            fds.into_iter().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let limit = live.patience(&shown).and_then(|limit| Timespec::try_from(limit).ok());
        let _ = poll(&mut fds, limit.as_ref());
        if is_running(&tasks) && loaded.elapsed() > INTERVAL {
            tasks = load()?;
            live.reload();
            loaded = Instant::now();
        }
    }
}

fn is_running(tasks: &[ShownTask]) -> bool {
    tasks.iter().any(|task| task.phase == Phase::Running)
}

/// All runs below each other.
fn whole(tasks: &[ShownTask], columns: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for (index, task) in tasks.iter().enumerate() {
        if tasks.len() > 1 {
            let heading = format!("── run {} of {}", index + 1, tasks.len());
            lines.push(Line::of(Role::Dim, &heading));
        }
        let conversation = task.conversation();
        lines.extend(conversation.iter().flat_map(|whole| tui::whole(whole, columns)));
    }
    lines
}
