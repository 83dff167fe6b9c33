//! `bg start`.

use std::path::Path;

use plan::Refusal;
use runner::{BackgroundError, Dispatcher, Launcher};
use serde::Serialize;
use tools::{BackgroundArguments, BackgroundCounts, BackgroundRecord, Whose};

use super::super::run::read_prompt;
use super::super::tasks::Door;
use super::SHELL;
use crate::arguments::Start;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(super) fn start(arguments: Start, printer: &Printer) -> Result<Exit, CommandError> {
    let task = read_prompt(arguments.task)?;
    if arguments.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
        return Err(CommandError::usage("the name is empty"));
    }
    let Door { workspace, options } = Door::open(&arguments.agent, printer)?;
    let call = BackgroundArguments {
        preset: arguments.preset,
        task,
        model: arguments.work.model,
        cwd: arguments.work.cwd,
        name: arguments.name,
    };
    let call = tools::plan_background(&workspace, call, &options)?;
    for warning in &call.warnings {
        printer.warning(warning);
    }
    let launcher = Launcher::own().map_err(|error| {
        CommandError::failure(format!("this program cannot find itself: {error}"))
    })?;
    let store = tools::project_store(&workspace);
    let mut dispatcher = Dispatcher::new(store.clone());
    for task in call.tasks {
        let hint = task.refusal.as_ref().and_then(Refusal::hint);
        let started = dispatcher.start_background(&launcher, task.plan);
        let (dir, meta) = started.map_err(|error| match hint {
            Some(hint) => CommandError::from(error).hint(hint),
            None => error.into(),
        })?;
        let record = BackgroundRecord::started(&dir, &meta);
        let run_dir = dir.path();
        if arguments.output.json {
            let loaded = tools::load_background(&store, Whose::Of(&SHELL))?;
            printer.json(&Document { record: &record, run_dir, counts: loaded.counts() })?;
        } else {
            // Alone on standard output, so that a shell can take it into a variable.
            printer.answer(record.run_id.as_str())?;
            printer.note(&format!(
                "Started {} in the background: {}",
                record.title(),
                run_dir.display()
            ));
        }
    }
    Ok(Exit::Completed)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    #[serde(flatten)]
    record: &'a BackgroundRecord,
    run_dir: &'a Path,
    counts: BackgroundCounts,
}

impl From<BackgroundError> for CommandError {
    fn from(error: BackgroundError) -> CommandError {
        match error {
            BackgroundError::Refused(refusal) => CommandError::usage(refusal),
            BackgroundError::Store(error) => CommandError::failure(format!(
                "a background run must be recorded: {error}"
            ))
            .hint("make the directory writable, or use `pi-subagents run`, which can do without"),
            error => CommandError::failure(error.to_string()),
        }
    }
}
