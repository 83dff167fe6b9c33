//! `fleet`: tasks on other machines that no process waits for.

mod init;
mod results;
mod screen;
mod show;
mod status;
mod submit;
mod watch;

use std::pin::pin;
use std::time::{Duration, Instant};

use fleet::{FleetError, InvalidName, TaskName};
use plan::load_settings;
use serde_json::json;
use tools::now_ms;

use super::surroundings;
use crate::arguments::{FleetCommand, NamedBatch, ServerArguments};
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(crate) fn fleet(command: FleetCommand, printer: &mut Printer) -> Result<Exit, CommandError> {
    match command {
        FleetCommand::Init(arguments) => init::init(&arguments, printer),
        FleetCommand::Submit(arguments) => submit::submit(&arguments, printer),
        FleetCommand::Status { batch, json, server } => {
            status::status(batch.as_deref(), json, &server, printer)
        }
        FleetCommand::Watch { batch, server, .. } => watch::watch(&batch, &server, printer),
        FleetCommand::Results(arguments) => results::results(&arguments, printer),
        FleetCommand::Show { batch, key, follow, json, server } => {
            let shown = show::Shown { batch: &batch, key: &key, follow, json };
            show::show(&shown, &server, printer)
        }
        FleetCommand::Cancel(named) => cancel(&named, printer),
        FleetCommand::Delete(named) => delete(&named, printer),
        FleetCommand::Workers { json, server } => status::workers(json, &server, printer),
    }
}

/// How long a connection may take before the user is told what the command waits for.
const QUIET: Duration = Duration::from_secs(2);

/// Connects to the server, and does something there.
fn at_server<T>(
    server: &ServerArguments,
    printer: &Printer,
    work: impl AsyncFnOnce(fleet::Fleet) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    // What is wrong in the settings is said where agents are started.
    let surroundings = surroundings()?;
    let (settings, _) = load_settings(&surroundings);
    let address = super::fleet_server::fleet_server(server, &settings, &surroundings)?;
    fleet::block_on(async {
        let mut connecting = pin!(fleet::Fleet::connect(&address, "pi-subagents fleet"));
        let connected = match fleet::ready_within(Instant::now() + QUIET, connecting.as_mut()).await
        {
            Some(connected) => connected,
            None => {
                printer.note(&format!("Trying to reach {address}."));
                connecting.await
            }
        };
        work(connected.map_err(|error| {
            match error {
                FleetError::Unreachable { .. } => CommandError::failure(error)
                    .hint("start the server, or name another one with --fleet URL"),
                error => error.into(),
            }
        })?)
        .await
    })
    .map_err(|error| CommandError::failure(format!("the fleet cannot be used: {error}")))?
}

fn batch_name(text: &str) -> Result<TaskName, CommandError> {
    Ok(TaskName::parse(text)?)
}

fn no_batch(name: &TaskName) -> CommandError {
    CommandError::usage(format!("there is no batch {:?}", name.as_str()))
        .hint("`pi-subagents fleet status` lists the batches")
}

fn cancel(named: &NamedBatch, printer: &Printer) -> Result<Exit, CommandError> {
    let batch = batch_name(&named.batch)?;
    let cancelled = at_server(&named.server, printer, async |fleet| {
        let cancelled = fleet::cancel_batch(&fleet, &batch, now_ms()).await?;
        if cancelled == fleet::Cancelled::default() {
            return Err(no_batch(&batch));
        }
        Ok(cancelled)
    })?;
    let fleet::Cancelled { queued, running, ended } = cancelled;
    if named.json {
        let batch = batch.as_str();
        printer
            .json(&json!({"batch": batch, "queued": queued, "running": running, "ended": ended}))?;
    } else {
        printer.answer(&format!(
            "Cancelled {queued} queued tasks; {running} are being stopped; {ended} had ended."
        ))?;
    }
    Ok(Exit::Completed)
}

fn delete(named: &NamedBatch, printer: &Printer) -> Result<Exit, CommandError> {
    let batch = batch_name(&named.batch)?;
    let tasks = at_server(&named.server, printer, async |fleet| {
        let overview = fleet::load_overview(&fleet, &batch).await?;
        if overview.is_empty() {
            return Err(no_batch(&batch));
        }
        let figures = overview.figures(now_ms());
        if !overview.is_over() {
            let open = figures.queued + figures.running;
            return Err(CommandError::usage(format!("{open} tasks of the batch have not ended"))
                .hint(format!("`pi-subagents fleet cancel {batch}` ends them")));
        }
        fleet::delete_batch(&fleet, &batch).await?;
        Ok(figures.tasks)
    })?;
    if named.json {
        printer.json(&json!({"batch": batch.as_str(), "tasks": tasks}))?;
    } else {
        printer.answer(&format!("Deleted the batch {batch} with {tasks} tasks."))?;
    }
    Ok(Exit::Completed)
}

impl From<FleetError> for CommandError {
    fn from(error: FleetError) -> CommandError {
        CommandError::failure(error)
    }
}

impl From<InvalidName> for CommandError {
    fn from(error: InvalidName) -> CommandError {
        CommandError::usage(error)
    }
}
