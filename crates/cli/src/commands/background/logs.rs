//! `bg logs`.

use std::os::fd::AsFd;

use process::SignalPipe;
use serde::de::IgnoredAny;
use store::{EVENTS, Log, Store, StoreError, Tail, Watch};

use super::find;
use crate::arguments::Logs;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(super) fn logs(
    arguments: &Logs,
    store: &Store,
    printer: &mut Printer,
) -> Result<Exit, CommandError> {
    let run = find(store, &arguments.id)?;
    let name = if arguments.json { EVENTS } else { Log::Transcript.file_name() };
    let mut tail = run.dir.tail(name);
    if !arguments.follow {
        print_new(&mut tail, arguments.json, printer)?;
        return print_rest(&mut tail, arguments.json, printer);
    }
    let mut signals = SignalPipe::for_quitting()
        .map_err(|error| CommandError::failure(format!("signals cannot be caught: {error}")))?;
    printer.listen_to(&signals);
    let mut watch = Watch::new();
    watch.add_with_writes(run.dir.path());
    loop {
        // In this order, so that nothing is missed: what happens after the draining wakes us
        // again, and what was written before the end is read after it is seen.
        watch.drain();
        let has_ended = runner::recover(&run.dir).map(|recovery| recovery.result().is_some());
        print_new(&mut tail, arguments.json, printer)?;
        match has_ended {
            Ok(true) => return print_rest(&mut tail, arguments.json, printer),
            Ok(false) => {}
            Err(error) => return Err(lost(&error)),
        }
        runner::wait_for_change(&watch, &[signals.as_fd()]);
        if signals.drain().next().is_some() {
            printer.hurry();
            return Ok(Exit::Interrupted);
        }
    }
}

fn print_new(tail: &mut Tail, json: bool, printer: &Printer) -> Result<(), CommandError> {
    while let Some(line) = tail.next_line()? {
        print(&line, json, printer)?;
    }
    Ok(())
}

/// A torn line is not an event, but the end of a transcript is worth reading.
fn print_rest(tail: &mut Tail, json: bool, printer: &Printer) -> Result<Exit, CommandError> {
    if let Some(rest) = tail.rest() {
        print(&rest, json, printer)?;
    }
    Ok(Exit::Completed)
}

fn print(line: &[u8], json: bool, printer: &Printer) -> Result<(), CommandError> {
    if !json {
        return printer.answer(&String::from_utf8_lossy(line));
    }
    match serde_json::from_slice::<IgnoredAny>(line) {
        Ok(_) => printer.line(&String::from_utf8_lossy(line)),
        Err(_) => Ok(()),
    }
}

fn lost(error: &StoreError) -> CommandError {
    CommandError::failure(format!("the record of this run is gone: {error}"))
}
