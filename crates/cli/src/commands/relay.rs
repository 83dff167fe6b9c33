//! `relay`: the child of a supervisor whose agent is on another machine.

use std::io::{self, BufRead};

use fleet::{Pool, RelayInput, RelayOptions, relay as run_relay};
use model::paths;
use plan::Settings;
use process::SignalPipe;
use store::{RunDir, TemporaryDir};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::fleet_server::fleet_server;
use crate::arguments::Relay;
use crate::commands::surroundings;
use crate::error::{CommandError, Exit};

pub(crate) fn relay(arguments: &Relay) -> Result<Exit, CommandError> {
    let problem = |error: &dyn std::fmt::Display| CommandError::failure(error.to_string());
    let server = fleet_server(&arguments.server, &Settings::default(), &surroundings()?)?;
    let pool = Pool::parse(&arguments.pool).map_err(CommandError::usage)?;
    let text = std::fs::read(&arguments.task).map_err(|error| problem(&error))?;
    let task = serde_json::from_slice(&text).map_err(|error| problem(&error))?;
    let run_dir = arguments.task.parent().ok_or_else(|| problem(&"the task has no directory"))?;
    let meta = RunDir::open(run_dir).and_then(|dir| dir.meta()).map_err(|error| problem(&error))?;
    let directory = std::env::current_dir().map_err(|error| problem(&error))?;
    let scratch = paths::temporary_dir(&std::env::temp_dir(), &meta.run_id);
    let scratch = TemporaryDir::create(&scratch).map_err(|error| problem(&error))?;
    let call = meta.call_id.as_ref().map_or(meta.run_id.as_str(), |call| call.as_str());
    let options = RelayOptions {
        server,
        pool,
        task,
        call: call.to_owned(),
        run_id: meta.run_id,
        session_id: meta.session_id,
        directory,
        is_worktree: meta.worktree.is_some(),
        scratch: scratch.path().to_owned(),
    };
    let (sender, inputs) = unbounded_channel();
    let signals = SignalPipe::for_quitting().map_err(|error| problem(&error))?;
    let of_signals = sender.clone();
    process::start_thread(move || read_signals(signals, &of_signals))
        .map_err(|none| problem(&none.error))?;
    process::start_thread(move || read_input(&sender)).map_err(|none| problem(&none.error))?;
    let relayed = fleet::block_on(run_relay(options, inputs, io::stdout()));
    scratch.remove().map_err(|error| problem(&error))?;
    relayed.map_err(|error| problem(&error))?.map_err(|error| problem(&error))?;
    Ok(Exit::Completed)
}

fn read_input(sender: &UnboundedSender<RelayInput>) {
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        // What a newer supervisor says is passed over.
        if let Ok(input) = serde_json::from_str(&line) {
            let _ = sender.send(input);
        }
    }
    let _ = sender.send(RelayInput::Gone);
}

fn read_signals(mut signals: SignalPipe, sender: &UnboundedSender<RelayInput>) {
    loop {
        let mut fds = [rustix::event::PollFd::new(&signals, rustix::event::PollFlags::IN)];
        let _ = rustix::event::poll(&mut fds, None);
        for _ in signals.drain() {
            let _ = sender.send(RelayInput::Terminate);
        }
    }
}
