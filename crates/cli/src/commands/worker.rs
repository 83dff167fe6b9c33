//! `worker`: carries out tasks of the fleet on this machine.

use std::path::PathBuf;
use std::time::Duration;

use fleet::{OfferedAgent, Pool, WorkerOptions, WorkerSignal, work};
use model::paths;
use plan::{Agent, Settings, agent_names, load_settings};
use process::{Notice, SignalPipe};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::fleet_server::fleet_server;
use crate::arguments::Worker;
use crate::commands::surroundings;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(crate) fn worker(arguments: &Worker, printer: &Printer) -> Result<Exit, CommandError> {
    let problem = |error: &dyn std::fmt::Display| CommandError::failure(error.to_string());
    let surroundings = surroundings()?;
    let (settings, warnings) = load_settings(&surroundings);
    warnings.iter().for_each(|warning| printer.warning(warning));
    let server = fleet_server(&arguments.server, &settings, &surroundings)?;
    let pool = Pool::parse(&arguments.pool).map_err(CommandError::usage)?;
    let directory = match &arguments.workspace {
        Some(directory) => surroundings.cwd.join(directory),
        None => usual_directory(&pool, &surroundings)?,
    };
    let offered = offered(&surroundings, &settings, arguments.agents.as_deref());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = WorkerOptions {
        server,
        pool,
        slots: arguments.slots.map_or(2 * cores, usize::from),
        directory,
        agents: arguments.agents.clone(),
        offered,
        access: arguments.access,
        allows_commands: arguments.allow_prepare,
        surroundings,
        grace: Duration::from_secs_f64(arguments.grace),
        lease: Duration::from_secs_f64(arguments.lease.clamp(2.0, 3600.0)),
    };
    let signals = SignalPipe::for_quitting().map_err(|error| problem(&error))?;
    let (sender, received) = unbounded_channel();
    process::start_thread(move || read_signals(signals, &sender))
        .map_err(|none| problem(&none.error))?;
    let worked = fleet::block_on(work(options, received, |words| printer.note(&words)));
    worked.map_err(|error| problem(&error))?.map_err(|error| problem(&error))?;
    Ok(Exit::Completed)
}

fn usual_directory(
    pool: &Pool,
    surroundings: &plan::Surroundings,
) -> Result<PathBuf, CommandError> {
    let home = surroundings.home.as_deref();
    let worktrees = paths::worktrees(|name| std::env::var_os(name), home);
    let state = worktrees.and_then(|path| path.parent().map(PathBuf::from));
    let missing = || {
        CommandError::usage("there is no state directory: set HOME, or name one with --workspace")
    };
    Ok(state.ok_or_else(missing)?.join("workers").join(pool.as_str()))
}

/// The agents that are here, with what the user lets the worker offer.
fn offered(
    surroundings: &plan::Surroundings,
    settings: &Settings,
    only: Option<&[String]>,
) -> Vec<OfferedAgent> {
    let is_here = |name: &String| {
        name == Agent::BUILTIN
            || Agent::named(name, settings).is_ok_and(|agent| agent.find(surroundings).is_some())
    };
    let is_offered = |name: &String| only.is_none_or(|only| only.contains(name));
    let names = agent_names(settings).into_iter();
    names
        .filter(|name| is_here(name) && is_offered(name))
        .map(|name| OfferedAgent { name, version: None })
        .collect()
}

fn read_signals(mut signals: SignalPipe, sender: &UnboundedSender<WorkerSignal>) {
    let mut told = 0;
    loop {
        let mut fds = [rustix::event::PollFd::new(&signals, rustix::event::PollFlags::IN)];
        let _ = rustix::event::poll(&mut fds, None);
        for notice in signals.drain() {
            if matches!(notice, Notice::Terminate | Notice::Interrupt | Notice::Hangup) {
                told += 1;
                let signal = if told == 1 { WorkerSignal::Drain } else { WorkerSignal::Quit };
                let _ = sender.send(signal);
            }
        }
    }
}
