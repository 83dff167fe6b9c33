//! `bg start`.

use std::path::Path;

use serde::Serialize;
use tools::{
    BackgroundArguments, BackgroundCounts, BackgroundRecord, CallContext, CallOptions,
    TaskArguments,
};

use super::super::run::read_prompt;
use super::super::tasks::TaskRunner;
use super::super::typed_paths;
use crate::arguments::Start;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(super) fn start(arguments: Start, printer: &Printer) -> Result<Exit, CommandError> {
    let prompt = read_prompt(arguments.task)?;
    if arguments.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
        return Err(CommandError::usage("the name is empty"));
    }
    let mut task_runner = TaskRunner::open(&arguments.agent, printer)?;
    let definition = arguments.preset.clone().or_else(|| arguments.profile.clone());
    let name = arguments.name.or(definition);
    let mut task = TaskArguments {
        name: name.unwrap_or_else(|| "task".to_owned()),
        preset: arguments.preset,
        profile: arguments.profile,
        timeout: arguments.timeout,
        prompt,
        budget: arguments.budget.budget(),
        model: arguments.work.model,
        fallback_models: arguments.work.fallback_models,
        cwd: arguments.work.cwd.as_deref().map(typed_paths::directory).transpose()?,
        ..TaskArguments::default()
    };
    arguments.demands.add_to([&mut task])?;
    task_runner.find_scripts(&mut task);
    let call = BackgroundArguments { task };
    let plan =
        |options: &CallOptions<'_>| tools::plan_background(&task_runner.workspace, call, options);
    let planned = task_runner.server.plan(&task_runner.workspace, &CallContext::default(), plan)?;
    task_runner.refuse_mistake(&planned, printer)?;
    let started = task_runner.server.start_background(planned);
    task_runner.print_warnings(printer);
    let record = started?;
    let run_dir = &record.paths.run_dir;
    if arguments.output.json {
        let counts = task_runner.server.background_counts()?;
        printer.json(&Document { record: &record, run_dir, counts })?;
    } else {
        // Alone on standard output, so that a shell can take it into a variable.
        printer.answer(record.run_id.as_str())?;
        let (title, run_dir) = (record.title(), run_dir.display());
        printer.note(&format!("Started {title} in the background: {run_dir}"));
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
