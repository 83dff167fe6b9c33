//! `sessions`: what was run in this project.

mod export;

use std::time::{Duration, SystemTime};

use plan::Surroundings;
use serde::Serialize;
use session::cut_chars;
use store::{Retention, Store, StoreError};
use tools::{Session, SessionError, SessionReport};

use crate::arguments::{SessionArguments, Sessions, SessionsCommand};
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(crate) fn sessions(arguments: Sessions, printer: &Printer) -> Result<Exit, CommandError> {
    let surroundings = Surroundings::of_this_process()?;
    let store = Store::in_project(surroundings.project_root());
    match arguments.command {
        SessionsCommand::List { json } => list(&store, json, printer),
        SessionsCommand::Show(arguments) => {
            print(&store, &arguments, printer, Session::transcript_with_prompts)
        }
        SessionsCommand::Output(arguments) => print(&store, &arguments, printer, Session::output),
        SessionsCommand::Export(arguments) => export::export(&store, &arguments, printer),
        SessionsCommand::Prune { keep, days, mebibytes, json } => {
            let retention = Retention {
                runs: keep,
                age: Duration::from_secs(days.saturating_mul(24 * 60 * 60)),
                bytes: mebibytes.saturating_mul(1024 * 1024),
            };
            prune(&store, &retention, json, printer)
        }
    }
}

pub(super) fn find(store: &Store, id: &str) -> Result<Session, CommandError> {
    tools::find_session(store, id).map_err(|error| {
        let refused = CommandError::usage(error.to_string());
        match error {
            SessionError::NotFound(id) => {
                refused.hint(not_found_hint(&tools::similar_sessions(store, &id)))
            }
            SessionError::Ambiguous { .. } | SessionError::Store(_) => refused,
        }
    })
}

/// What to do about an id that is not that of a session.
pub(super) fn not_found_hint(similar: &[String]) -> String {
    let list = " `pi-subagents sessions list` lists the sessions of this project";
    format!("{}{list}", plan::did_you_mean(similar)).trim_start().to_owned()
}

fn list(store: &Store, json: bool, printer: &Printer) -> Result<Exit, CommandError> {
    // First, because a project that cannot be read may be the reason why something is there.
    let elsewhere = tools::end_abandoned_elsewhere();
    let (sessions, warnings) = tools::load_sessions(store)?;
    for warning in warnings.into_iter().chain(elsewhere) {
        printer.warning(&warning);
    }
    let mut sessions: Vec<Session> = sessions.into_values().collect();
    sessions.sort_by_key(|session| session.runs.last().map(|run| run.meta.run_id.clone()));
    if json {
        let sessions = sessions.iter().map(SessionReport::from).collect();
        printer.json(&SessionsDocument { sessions })?;
        return Ok(Exit::Completed);
    }
    if sessions.is_empty() {
        printer.note("No sessions in this project yet. `pi-subagents run \"...\"` starts one.");
    }
    for session in &sessions {
        let Some(latest) = session.runs.last() else {
            continue;
        };
        let what = match latest.error() {
            Some(error) => error.to_owned(),
            None => latest.output()?,
        };
        let what = what.trim().lines().next().unwrap_or_default();
        printer.answer(&format!(
            "{}  {:<9}  {:>8}  {}  {}",
            session.id,
            latest.status().word(),
            age(latest.meta.created_at),
            latest.meta.name.lines().next().unwrap_or_default(),
            cut_chars(what, 80)
        ))?;
    }
    Ok(Exit::Completed)
}

/// Prints a session: all about it as JSON, or what `text` makes of it.
fn print(
    store: &Store,
    arguments: &SessionArguments,
    printer: &Printer,
    text: fn(&Session) -> Result<String, StoreError>,
) -> Result<Exit, CommandError> {
    let session = find(store, &arguments.id)?;
    if arguments.json {
        printer.json(&SessionReport::from(&session))?;
    } else {
        printer.answer(&text(&session)?)?;
    }
    Ok(Exit::Completed)
}

fn prune(
    store: &Store,
    retention: &Retention,
    json: bool,
    printer: &Printer,
) -> Result<Exit, CommandError> {
    let pruned = store.prune(retention, SystemTime::now())?;
    if json {
        let report =
            PruneReport { removed: pruned.removed, kept: pruned.kept, bytes: pruned.bytes };
        printer.json(&report)?;
    } else {
        printer.answer(&format!(
            "removed {} runs ({} KiB), kept {}",
            pruned.removed,
            pruned.bytes / 1024,
            pruned.kept
        ))?;
    }
    Ok(Exit::Completed)
}

/// How long ago, in the largest unit that fits.
pub(crate) fn age(created_at: u64) -> String {
    let created = SystemTime::UNIX_EPOCH + Duration::from_millis(created_at);
    let seconds = created.elapsed().unwrap_or_default().as_secs();
    match seconds {
        0..60 => format!("{seconds}s ago"),
        60..3_600 => format!("{}m ago", seconds / 60),
        3_600..86_400 => format!("{}h ago", seconds / 3_600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}

#[derive(Serialize)]
struct SessionsDocument<'a> {
    sessions: Vec<SessionReport<'a>>,
}

#[derive(Serialize)]
struct PruneReport {
    removed: usize,
    kept: usize,
    bytes: u64,
}
