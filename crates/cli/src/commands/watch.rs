//! `watch`: shows runs that other programs started.

mod following;
mod screen;

use std::os::fd::AsFd;
use std::thread::JoinHandle;

use plan::Surroundings;
use process::SignalPipe;
use runner::{StopError, StopForce, Stopped, stop_run};
use store::{RunDir, Store};
use tools::{Appearance, RunNames, Workspace};
use tui::{Command, Controls, Ownership};

use self::following::Following;
use self::screen::WatchScreen;
use crate::arguments::Watch;
use crate::error::{CommandError, Exit};
use crate::live::Live;
use crate::printer::Printer;
use crate::screen::Screen;
use crate::tellings::{Telling, Tellings};

pub(crate) fn watch(arguments: &Watch, printer: &mut Printer) -> Result<Exit, CommandError> {
    let workspace = Workspace::load(Surroundings::of_this_process()?, None);
    let store = tools::project_store(&workspace);
    let mut following = if arguments.everywhere {
        Following::everywhere(workspace.admission())
    } else if arguments.ids.is_empty() {
        Following::all(&store)
    } else {
        Following::these(find(&store, &arguments.ids)?)?
    };
    let mut signals = SignalPipe::for_quitting()
        .map_err(|error| CommandError::failure(format!("signals cannot be caught: {error}")))?;
    printer.listen_to(&signals);
    let printer = &*printer;
    let appearance = Appearance::new(&workspace, printer.columns());
    let live = Live::open(printer, Controls::new(Ownership::Watcher));
    let screen = Screen::new(printer, live, arguments.notify);
    let mut screen = WatchScreen { printer, appearance, screen, runs: Vec::new() };
    let mut stops = Stops::default();
    let mut tellings = Tellings::default();
    let left = loop {
        for change in following.look(&|| signals.is_told()) {
            screen.show(&change, &following)?;
        }
        stops.report_failures(&mut screen);
        tellings.report_failures(&mut screen.screen);
        let mut is_left = false;
        for command in screen.turn()? {
            match command {
                Command::Stop(run) => stops.add(run, following.dir(run), &mut screen),
                Command::Tell(run, text) => {
                    let name = screen.name(run);
                    let message = Telling::Message(text);
                    tellings.add(&name, following.dir(run), message, &mut screen.screen);
                }
                Command::Answer { task: run, question, text } => {
                    let name = screen.name(run);
                    let answer = Telling::Answer(question, text);
                    tellings.add(&name, following.dir(run), answer, &mut screen.screen);
                }
                _ => is_left = true,
            }
        }
        if is_left {
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
    screen.close()?;
    let title = screen.title();
    if let Some(exit) = left {
        printer.note("Stopped watching. The runs continue.");
        return Ok(exit);
    }
    if following.is_empty() {
        printer.note("Nothing running.");
    }
    let exit = if following.are_all_completed() { Exit::Completed } else { Exit::TaskFailed };
    if let Some(title) = title {
        arguments.notify.tell(&title, exit);
    }
    Ok(exit)
}

/// The runs that the words mean, each once.
fn find(store: &Store, words: &[String]) -> Result<Vec<RunDir>, CommandError> {
    let names = RunNames::load(store)?;
    let mut found: Vec<RunDir> = Vec::new();
    for word in words {
        for run in names.runs(word)? {
            if !found.contains(&run) {
                found.push(run);
            }
        }
    }
    Ok(found)
}

/// Runs that are being stopped, each in its own thread, while the others are still watched.
#[derive(Default)]
struct Stops {
    requested: Vec<usize>,
    threads: Vec<(String, StoppingThread)>,
}

/// Ends with how the run was stopped.
type StoppingThread = JoinHandle<Option<Result<Stopped, StopError>>>;

impl Stops {
    /// Stops a run; a second request stops it at once.
    fn add(&mut self, run: usize, dir: Option<&RunDir>, screen: &mut WatchScreen<'_>) {
        let Some(dir) = dir.cloned() else { return };
        let is_repeated = self.requested.contains(&run);
        let force = if is_repeated { StopForce::AtOnce } else { StopForce::Gracefully };
        self.requested.push(run);
        // Requested here, so that the run stops even if `watch` ends first. The thread reports errors.
        let _ = dir.request_stop(force);
        let name = dir.run_id().to_string();
        match process::start_thread(move || stop_run(&dir, force)) {
            Ok(thread) => self.threads.push((name, thread)),
            Err(no_thread) => screen.screen.warn(format!(
                "{name} was asked to stop, but nothing can check that it does: {}",
                no_thread.error
            )),
        }
    }

    fn report_failures(&mut self, screen: &mut WatchScreen<'_>) {
        let is_done = |stop: &mut (String, StoppingThread)| stop.1.is_finished();
        for (name, stop) in self.threads.extract_if(.., is_done) {
            match stop.join() {
                Ok(Some(Err(error))) => screen.screen.warn(format!("cannot stop {name}: {error}")),
                Ok(Some(Ok(stopped))) if !stopped.is_proven() => {
                    screen.screen.warn(format!("{name}: {}", stopped.words()));
                }
                _ => {}
            }
        }
    }
}
