//! `bg`: runs that go on by themselves.

mod logs;
mod look;
mod start;
mod stop;
mod wait;

use plan::Surroundings;
use store::Store;
use tools::{BackgroundRun, BackgroundRunError};

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

fn find(store: &Store, id: &str) -> Result<BackgroundRun, CommandError> {
    tools::find_background(store, id).map_err(|error| {
        let refused = CommandError::usage(error.to_string());
        match error {
            BackgroundRunError::NotFound(id) => {
                let meant = plan::did_you_mean(&tools::similar_background(store, &id));
                let list = " `pi-subagents bg list --all --everyone` lists the background runs of \
                            this project";
                refused.hint(format!("{meant}{list}").trim_start())
            }
            BackgroundRunError::Ambiguous { .. } => refused.hint("give more of the id"),
            BackgroundRunError::Store(_) => refused,
        }
    })
}

/// The runs with these ids, each once, in the order in which they are named.
fn find_all(store: &Store, ids: &[String]) -> Result<Vec<BackgroundRun>, CommandError> {
    let mut runs: Vec<BackgroundRun> = Vec::new();
    for id in ids {
        let run = find(store, id)?;
        if runs.iter().all(|known| known.dir != run.dir) {
            runs.push(run);
        }
    }
    Ok(runs)
}
