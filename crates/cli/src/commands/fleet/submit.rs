//! `fleet submit`: tasks from lines of JSON.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use fleet::{NewTask, Pool, Snapshot, Submission, Submitted, TaskName};
use serde_json::{Value, json};
use tools::{DelegateArguments, TaskArguments, now_ms};

use super::{at_server, batch_name};
use crate::arguments::{FleetSubmit, OnArguments};
use crate::commands::demands::read_schema;
use crate::commands::tasks::TaskRunner;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

/// The longest line. A server takes messages of up to a mebibyte.
const LONGEST_LINE: u64 = 900 * 1024;

pub(super) fn submit(arguments: &FleetSubmit, printer: &Printer) -> Result<Exit, CommandError> {
    let batch = batch_of(arguments)?;
    let input: Box<dyn Read> = if arguments.file == "-" {
        Box::new(std::io::stdin())
    } else {
        let opened = File::open(&arguments.file);
        Box::new(
            opened.map_err(|error| CommandError::usage(format!("{}: {error}", arguments.file)))?,
        )
    };
    let on = Some(arguments.pool.clone());
    let mut task_runner =
        TaskRunner::without_warnings(OnArguments { on, fleet: arguments.server.fleet.clone() })?;
    task_runner.print_warnings(printer);
    let submitted = at_server(&arguments.server, printer, async |fleet| {
        let mut submission = Submission::open(&fleet, batch.clone(), arguments.failed).await?;
        let snapshot = match &arguments.files {
            Some(directory) => Some(fleet::send_directory(&fleet, directory, true).await?),
            None => None,
        };
        let read =
            add_lines(BufReader::new(input), &task_runner, snapshot.as_ref(), &mut submission)
                .await;
        // What was read before a mistake is queued: the mended file adds the rest.
        let submitted = submission.finish().await?;
        read.map_err(|error| error.after(&submitted))?;
        fleet::prune_batches(&fleet).await?;
        Ok(submitted)
    })?;
    let Submitted { added, retried, present } = submitted;
    if arguments.json {
        let batch = batch.as_str();
        printer.json(
            &json!({"batch": batch, "added": added, "retried": retried, "present": present}),
        )?;
    } else {
        printer.answer(&format!("{batch}: {}", words(&submitted)))?;
        printer.note(&format!("`pi-subagents fleet watch {batch}` shows how far it is."));
    }
    Ok(Exit::Completed)
}

fn words(submitted: &Submitted) -> String {
    let Submitted { added, retried, present } = submitted;
    format!("{added} tasks added, {retried} tried again, {present} there already")
}

/// A mistake in the input.
struct Mistake {
    line: u64,
    error: CommandError,
}

impl Mistake {
    fn after(self, submitted: &Submitted) -> CommandError {
        let error = self.error.at(&format!("line {}", self.line));
        error.hint(format!("before it: {}; mend the line and repeat the command", words(submitted)))
    }
}

async fn add_lines(
    mut input: impl BufRead,
    task_runner: &TaskRunner,
    snapshot: Option<&Snapshot>,
    submission: &mut Submission<'_>,
) -> Result<(), Mistake> {
    let mut lines: HashMap<TaskName, u64> = HashMap::new();
    let mut text = String::new();
    for line in 1.. {
        let mistake = |error: CommandError| Mistake { line, error };
        text.clear();
        let read = (&mut input).take(LONGEST_LINE + 1).read_line(&mut text);
        let length = read.map_err(|error| mistake(CommandError::usage(error)))?;
        if length == 0 {
            break;
        }
        if length as u64 > LONGEST_LINE {
            let problem = format!("it is longer than {} KiB", LONGEST_LINE / 1024);
            return Err(mistake(CommandError::usage(problem)));
        }
        if text.trim().is_empty() {
            continue;
        }
        let (key, task) = parse(&text).map_err(mistake)?;
        if let Some(earlier) = lines.insert(key.clone(), line) {
            let problem = format!("the key {:?} stands in line {earlier}, too", key.as_str());
            return Err(mistake(CommandError::usage(problem)));
        }
        if !submission.wants(&key) {
            submission.skip();
            continue;
        }
        let new = plan_task(task_runner, key, task).map_err(mistake)?;
        let new = NewTask { snapshot: snapshot.cloned(), ..new };
        submission.add(new).await.map_err(|error| mistake(error.into()))?;
    }
    Ok(())
}

/// The task of a line, and its key.
fn parse(text: &str) -> Result<(TaskName, TaskArguments), CommandError> {
    let (key, mut fields) = fleet::read_task_line(text).map_err(CommandError::usage)?;
    if let Some(schema @ Value::String(_)) = fields.get_mut("schema") {
        let path = schema.as_str().unwrap_or_default().to_owned();
        *schema = read_schema(Path::new(&path), "schema:")?;
    }
    let call = json!({"tasks": [fields]});
    let call = DelegateArguments::parse(&call, None)
        .map_err(|error| CommandError::usage(error.to_string().replace("tasks[0].", "")))?;
    let task = call.tasks.into_iter().next().unwrap_or_default();
    Ok((key, task))
}

/// What is sent of a task. Everything that this machine can find wrong about it is found here.
fn plan_task(
    task_runner: &TaskRunner,
    key: TaskName,
    task: TaskArguments,
) -> Result<NewTask, CommandError> {
    let planned = task_runner.plan(DelegateArguments::of(vec![task]))?;
    let planned = planned.tasks.into_iter().next();
    let planned = planned.ok_or_else(|| CommandError::failure("the task was not planned"))?;
    if let Some(refusal) = &planned.refusal {
        return Err(CommandError::usage(refusal));
    }
    let remote = planned.remote.ok_or_else(|| CommandError::failure("the task stays here"))?;
    let ((pool, task), meta) = (*remote, &planned.plan.meta);
    Ok(NewTask {
        key,
        pool: Pool::parse(pool.name())?,
        run_id: meta.run_id.clone(),
        session_id: meta.session_id.clone(),
        submitted_at: now_ms(),
        snapshot: None,
        task,
    })
}

/// The name of the batch: the same for the same file, so that the command can be repeated.
fn batch_of(arguments: &FleetSubmit) -> Result<TaskName, CommandError> {
    if let Some(name) = &arguments.name {
        return batch_name(name);
    }
    if arguments.file == "-" {
        return Err(CommandError::usage("tasks from standard input have no name")
            .hint("name the batch with --name"));
    }
    let name = Path::new(&arguments.file).file_name().unwrap_or_default().to_string_lossy();
    let name = name.split('.').next().unwrap_or_default().to_owned();
    batch_name(&name).map_err(|error| error.hint("name the batch with --name"))
}
