//! `watch`: shows runs that other programs started.

mod following;
mod screen;

use std::os::fd::AsFd;
use std::thread::JoinHandle;

use plan::Surroundings;
use process::SignalPipe;
use runner::{StopError, StopForce, Stopped, stop_run};
use store::{RunDir, Store};
use tools::{Appearance, Workspace};
use tui::{Command, Ownership};

use self::following::Following;
use self::screen::WatchScreen;
use super::sessions;
use crate::arguments::Watch;
use crate::error::{CommandError, Exit};
use crate::live::Live;
use crate::printer::Printer;
use crate::screen::Screen;

pub(crate) fn watch(arguments: &Watch, printer: &mut Printer) -> Result<Exit, CommandError> {
    let workspace = Workspace::load(Surroundings::of_this_process()?, None);
    let store = tools::project_store(&workspace);
    let mut following = if arguments.ids.is_empty() {
        Following::all(&store)
    } else {
        Following::these(find(&store, &arguments.ids)?)?
    };
    let mut signals = SignalPipe::for_quitting()
        .map_err(|error| CommandError::failure(format!("signals cannot be caught: {error}")))?;
    printer.listen_to(&signals);
    let printer = &*printer;
    let appearance = Appearance::new(&workspace, printer.columns());
    let screen = Screen::new(printer, Live::open(printer, Ownership::Watcher));
    let mut screen = WatchScreen { printer, appearance, screen, runs: Vec::new() };
    let mut stops = Stops::default();
    let left = loop {
        for change in following.look() {
            screen.show(&change)?;
        }
        stops.report_failures(&mut screen);
        let commands = screen.turn()?;
        for command in &commands {
            if let Command::Stop(run) = command {
                stops.add(*run, following.dir(*run));
            }
        }
        if commands.iter().any(|command| !matches!(command, Command::Stop(_))) {
            break Some(Exit::Completed);
        }
        if signals.drain().next().is_some() {
            printer.hurry();
            break Some(Exit::Interrupted);
        }
        if following.is_over() && !arguments.follow {
            break None;
        }
        let mut wakers = vec![signals.as_fd()];
        wakers.extend(screen.screen.wakers());
        following.wait(&wakers, screen.patience());
    };
    screen.screen.close()?;
    if let Some(exit) = left {
        printer.note("Stopped watching. The runs continue.");
        return Ok(exit);
    }
    if following.is_empty() {
        printer.note("Nothing running.");
    }
    Ok(if following.are_all_completed() { Exit::Completed } else { Exit::TaskFailed })
}

/// The runs that the ids mean: a run itself; of a session, its running runs or else its latest run.
fn find(store: &Store, ids: &[String]) -> Result<Vec<RunDir>, CommandError> {
    let mut found: Vec<RunDir> = Vec::new();
    for id in ids {
        let session = sessions::find(store, id)?;
        let is_named = |run: &tools::KnownRun| run.meta.run_id.as_str().starts_with(id.as_str());
        let has_named = session.runs.iter().any(is_named);
        let is_running = session.is_running();
        let last = session.runs.last().map(|run| run.dir.clone());
        for run in session.runs {
            let is_meant = match (has_named, is_running) {
                (true, _) => is_named(&run),
                (false, true) => run.result.is_none(),
                (false, false) => Some(&run.dir) == last.as_ref(),
            };
            if is_meant && !found.contains(&run.dir) {
                found.push(run.dir);
            }
        }
    }
    Ok(found)
}

/// Runs that are being stopped, each in its own thread, while the others are still watched.
#[derive(Default)]
struct Stops {
    requested: Vec<usize>,
    threads: Vec<(String, JoinHandle<Result<Stopped, StopError>>)>,
}

impl Stops {
    /// Stops a run; a second request stops it at once.
    fn add(&mut self, run: usize, dir: Option<&RunDir>) {
        let Some(dir) = dir.cloned() else { return };
        let is_repeated = self.requested.contains(&run);
        let force = if is_repeated { StopForce::AtOnce } else { StopForce::Gracefully };
        self.requested.push(run);
        // Requested here, so that the run stops even if `watch` ends first. The thread reports errors.
        let _ = dir.request_stop(force);
        let name = dir.run_id().to_string();
        self.threads.push((name, std::thread::spawn(move || stop_run(&dir, force))));
    }

    fn report_failures(&mut self, screen: &mut WatchScreen<'_>) {
        let is_done = |stop: &mut (String, JoinHandle<_>)| stop.1.is_finished();
        for (name, stop) in self.threads.extract_if(.., is_done) {
            if let Ok(Err(error)) = stop.join() {
                screen.screen.warn(format!("cannot stop {name}: {error}"));
            }
        }
    }
}
