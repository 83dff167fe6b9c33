//! `delegate`: many tasks, from one JSON document.

use std::io::IsTerminal;
use std::path::Path;

use serde_json::{Value, json};
use tools::DelegateArguments;

use super::demands::read_schema;
use super::run::read_standard_input;
use super::tasks::{Answers, OutputFiles, Results, TaskRunner};
use crate::arguments::Delegate;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(crate) fn delegate(arguments: &Delegate, printer: &mut Printer) -> Result<Exit, CommandError> {
    let mut call = read_call(arguments, printer)?;
    arguments.demands.add_to(&mut call.tasks)?;
    let mut task_runner = TaskRunner::open(&arguments.agent, printer)?;
    task_runner.server.limit_calls(arguments.budget.budget());
    for (index, task) in call.tasks.iter_mut().enumerate() {
        if let Some(word) = &task.resume {
            let (session, _) = task_runner
                .resumed(word)
                .map_err(|error| error.at(&format!("tasks[{index}].resume")))?;
            task.resume = Some(session);
        }
    }
    call.tasks.iter_mut().for_each(|task| task_runner.find_scripts(task));
    let concurrency = arguments.concurrency.map(usize::from);
    let most = task_runner.workspace.admission().machine_concurrency;
    if let Some(asked) = concurrency.filter(|asked| *asked > most) {
        printer.warning(&format!(
            "--concurrency {asked} is more than the {most} agents that may run at a time on this machine \
             (machineConcurrency), so {most} is the limit"
        ));
    }
    let answers = match (arguments.output.json, arguments.quiet) {
        (true, _) => Answers::Json,
        (false, true) => Answers::Summaries,
        (false, false) => Answers::Everything,
    };
    let names = call.tasks.iter().map(|task| task.name.as_str());
    let directory = arguments.output_dir.as_ref();
    let files = directory.map(|directory| OutputFiles::new(directory, names)).transpose()?;
    let title = match call.tasks.as_slice() {
        [task] => task.name.clone(),
        tasks => format!("{} tasks", tasks.len()),
    };
    let planned = task_runner.plan(call)?;
    let results = Results { answers, files, notify: arguments.notify };
    let exit = task_runner.run(planned, concurrency, results, printer)?;
    arguments.notify.tell(&title, exit);
    Ok(exit)
}

/// The tasks of the document, with what the options say where the tasks say nothing.
fn read_call(
    arguments: &Delegate,
    printer: &mut Printer,
) -> Result<DelegateArguments, CommandError> {
    let is_standard_input = arguments.file == "-";
    // Which document is wrong.
    let document = |message: String| {
        if is_standard_input { message } else { format!("{}: {message}", arguments.file) }
    };
    let text = if is_standard_input {
        if std::io::stdin().is_terminal() {
            printer.note(
                "Reading the tasks from this terminal, as JSON such as [{\"name\": \"a\", \"prompt\": \
                 \"Count the tests\"}]; Ctrl-D ends them.",
            );
        }
        read_standard_input("the tasks")?
    } else {
        std::fs::read_to_string(&arguments.file)
            .map_err(|error| CommandError::usage(format!("{}: {error}", arguments.file)))?
    };
    if text.trim().is_empty() {
        let source = if is_standard_input { "standard input" } else { &arguments.file };
        return Err(CommandError::usage(format!(
            "{source} is empty; it must have the tasks as JSON"
        ))
        .hint(
            "echo '[{\"name\": \"a\", \"prompt\": \"Count the tests\"}]' | pi-subagents delegate -",
        ));
    }
    let mut value: Value = serde_json::from_str(&text).map_err(|error| {
        CommandError::usage(document(format!("the tasks are not JSON: {error}")))
    })?;
    if value.is_array() {
        value = json!({"tasks": value});
    }
    read_schemas(&mut value)?;
    let places = take_places(&mut value)?;
    let mut call = DelegateArguments::parse(&value, None)
        .map_err(|error| CommandError::usage(document(error.to_string())))?;
    let of_document = call.profile.take();
    for (task, on) in call.tasks.iter_mut().zip(places) {
        task.on = on;
        task.profile = task.profile.take().or_else(|| of_document.clone());
        if task.profile.is_none() {
            task.profile.clone_from(&arguments.profile);
            task.preset.clone_from(&arguments.preset);
        }
        task.model = task.model.take().or_else(|| arguments.model.clone());
        task.fallback_models.clone_from(&arguments.fallback_models);
        task.timeout = task.timeout.or(arguments.timeout);
    }
    Ok(call)
}

/// Takes out where each task is carried out. Only the user says that, who has named the document; a model cannot.
fn take_places(call: &mut Value) -> Result<Vec<Option<String>>, CommandError> {
    let tasks = call.get_mut("tasks").and_then(Value::as_array_mut);
    let taken = tasks.into_iter().flatten().enumerate().map(|(index, task)| {
        match task.as_object_mut().and_then(|fields| fields.shift_remove("on")) {
            None => Ok(None),
            Some(Value::String(on)) => Ok(Some(on)),
            Some(_) => Err(CommandError::usage(format!("tasks[{index}].on: must be a text"))),
        }
    });
    taken.collect()
}

/// Puts schemas in the place of the paths of their files.
fn read_schemas(call: &mut Value) -> Result<(), CommandError> {
    let tasks = call.get_mut("tasks").and_then(Value::as_array_mut);
    for (index, task) in tasks.into_iter().flatten().enumerate() {
        if let Some(schema @ Value::String(_)) = task.get_mut("schema") {
            let path = schema.as_str().unwrap_or_default().to_owned();
            *schema = read_schema(Path::new(&path), &format!("tasks[{index}].schema:"))?;
        }
    }
    Ok(())
}
