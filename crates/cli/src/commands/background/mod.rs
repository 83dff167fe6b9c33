//! `bg`: runs that go on by themselves.

mod logs;
mod look;
mod start;
mod stop;
mod wait;

use plan::Surroundings;
use store::{RunDir, Store};
use tools::{BackgroundRecord, BackgroundRun, RunNames};

use super::named::refused_in_background;
use crate::arguments::{Background, BackgroundCommand};
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(crate) fn background(
    arguments: Background,
    printer: &mut Printer,
) -> Result<Exit, CommandError> {
    match arguments.command {
        BackgroundCommand::Start(arguments) => start::start(*arguments, printer),
        BackgroundCommand::List(arguments) => look::list(&arguments, &store()?, printer),
        BackgroundCommand::Status(arguments) => look::status(&arguments, &store()?, printer),
        BackgroundCommand::Wait(arguments) => wait::wait(&arguments, &store()?, printer),
        BackgroundCommand::Logs(arguments) => logs::logs(&arguments, &store()?, printer),
        BackgroundCommand::Stop(arguments) => stop::stop(&arguments, &store()?, printer),
    }
}

fn store() -> Result<Store, CommandError> {
    Ok(Store::in_project(Surroundings::of_this_process()?.project_root()))
}

/// The one run that a word means.
fn find(store: &Store, word: &str) -> Result<BackgroundRun, CommandError> {
    let run = RunNames::load_background(store)?.run(word).map_err(refused_in_background)?;
    load(&run)
}

/// The runs that words mean, each once, in the order in which they are named.
fn find_all<'a>(
    store: &Store,
    words: impl IntoIterator<Item = &'a String>,
) -> Result<Vec<BackgroundRun>, CommandError> {
    let names = RunNames::load_background(store)?;
    let mut runs: Vec<BackgroundRun> = Vec::new();
    for word in words {
        for dir in names.runs(word).map_err(refused_in_background)? {
            if runs.iter().all(|known| known.dir != dir) {
                runs.push(load(&dir)?);
            }
        }
    }
    Ok(runs)
}

fn load(dir: &RunDir) -> Result<BackgroundRun, CommandError> {
    tools::load_background_run(dir).map_err(CommandError::usage)
}

/// What people should know about a run that has ended.
fn print_warnings(run: &BackgroundRecord, printer: &Printer) {
    for warning in &run.ending.warnings {
        printer.warning(&format!("{}: {warning}", run.title()));
    }
}
