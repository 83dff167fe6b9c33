//! `run`: one task, from its prompt to its answer.

use std::io::{self, Read};

use tools::{DelegateArguments, TaskArguments};

use super::tasks::{Answers, Results, TaskRunner};
use super::typed_paths;
use crate::arguments::Run;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(crate) fn run(arguments: Run, printer: &mut Printer) -> Result<Exit, CommandError> {
    let prompt = read_prompt(arguments.prompt)?;
    if arguments.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
        return Err(CommandError::usage("the name is empty"));
    }
    let cwd = arguments.work.cwd.as_deref().map(typed_paths::directory).transpose()?;
    let files = arguments.files.iter().map(|typed| typed_paths::file(typed, cwd.as_deref()));
    let files = files.collect::<Result<_, _>>()?;
    let mut task_runner = TaskRunner::open(&arguments.agent, printer)?;
    let resumed = arguments.resume.map(|word| task_runner.resumed(&word)).transpose()?;
    let (resume, resumed_name) = resumed.unzip();
    let name = arguments.name.or(resumed_name).or_else(|| arguments.preset.clone());
    let name = name.unwrap_or_else(|| "task".to_owned());
    let title = name.clone();
    let mut task = TaskArguments {
        name,
        prompt,
        cwd,
        profile: arguments.profile,
        timeout: arguments.timeout,
        resume,
        files,
        model: arguments.work.model,
        fallback_models: arguments.work.fallback_models,
        preset: arguments.preset,
        budget: arguments.budget.budget(),
        ..TaskArguments::default()
    };
    arguments.demands.add_to([&mut task])?;
    task_runner.find_scripts(&mut task);
    let call = DelegateArguments::of(vec![task]);
    let answers = if arguments.output.json { Answers::Json } else { Answers::Text };
    let planned = task_runner.plan(call)?;
    task_runner.refuse_mistake(&planned, printer)?;
    let results = Results { notify: arguments.notify, ..answers.into() };
    let exit = task_runner.run(planned, None, results, printer)?;
    arguments.notify.tell(&title, exit);
    Ok(exit)
}

pub(super) fn read_prompt(argument: String) -> Result<String, CommandError> {
    let prompt = if argument == "-" { read_standard_input("the prompt")? } else { argument };
    if prompt.trim().is_empty() {
        return Err(CommandError::usage("the prompt is empty")
            .hint("say what the agent should do, or give `-` and the prompt on standard input"));
    }
    Ok(prompt)
}

pub(super) fn read_standard_input(what: &str) -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes).map_err(|error| {
        CommandError::usage(format!("{what} cannot be read from standard input: {error}"))
    })?;
    String::from_utf8(bytes)
        .map_err(|_| CommandError::usage(format!("{what} on standard input is not valid UTF-8")))
}
