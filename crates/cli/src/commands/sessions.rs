//! `sessions`: what was run in this project.

mod export;
mod show;

use std::cell::Cell;
use std::time::{Duration, SystemTime};

use model::Outcome;
use plan::Surroundings;
use serde::Serialize;
use session::cut_chars;
use store::{Retention, Store};
use tools::{KnownRun, NamedSession, RunNames, Session, SessionReport, Workspace};

use crate::arguments::{SessionArguments, Sessions, SessionsCommand};
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(crate) fn sessions(arguments: Sessions, printer: &Printer) -> Result<Exit, CommandError> {
    let surroundings = Surroundings::of_this_process()?;
    let store = Store::in_project(surroundings.project_root());
    match arguments.command {
        SessionsCommand::List { json } => list(&store, json, printer),
        SessionsCommand::Show { session, .. } => {
            let found = RunNames::load(&store)?.sessions(&session.id)?;
            if let ([only], false) = (found.as_slice(), session.json) {
                let workspace = Workspace::load(surroundings, None);
                if let Some(exit) = show::show(&only.session, &workspace, printer)? {
                    return Ok(exit);
                }
            }
            let show = |named: &NamedSession| named.session.transcript_with_prompts();
            print(&found, &session, printer, show)?;
            Ok(Exit::Completed)
        }
        SessionsCommand::Output(arguments) => {
            let answer = |named: &NamedSession| named.named_run().answer();
            let found = RunNames::load(&store)?.sessions(&arguments.id)?;
            print(&found, &arguments, printer, answer)?;
            // What a script takes for the answer must be one.
            let has_failed = found.iter().any(|named| named.named_run().error().is_some());
            Ok(if has_failed { Exit::TaskFailed } else { Exit::Completed })
        }
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
    let latest = sessions.iter().filter_map(|session| session.runs.last());
    let widths = NameColumn::of(latest.map(|run| run.meta.name.as_str()));
    for session in &sessions {
        let Some(latest) = session.runs.last() else {
            continue;
        };
        let what = match latest.error() {
            Some(error) => error.to_owned(),
            None => latest.output(),
        };
        let what = what.trim().lines().next().unwrap_or_default();
        let line = format!(
            "{}  {:<9}  {:>7}  {}  {}",
            session.id,
            status_word(latest),
            age(latest.meta.created_at),
            widths.cell(&latest.meta.name),
            cut_chars(what, 80)
        );
        printer.answer(line.trim_end())?;
    }
    Ok(Exit::Completed)
}

/// The word for a run, as `bg list` has it too where the run was stopped.
fn status_word(run: &KnownRun) -> &'static str {
    match &run.result {
        Some(result) if result.outcome == Outcome::Cancelled => "aborted",
        _ => run.status().word(),
    }
}

/// The column of the names in a list of runs, as wide as the longest of them, within reason.
pub(crate) struct NameColumn {
    width: usize,
}

impl NameColumn {
    const WIDEST: usize = 28;

    pub(crate) fn of<'a>(names: impl Iterator<Item = &'a str>) -> NameColumn {
        let widths = names.map(|name| first_line(name).chars().count());
        NameColumn { width: widths.max().unwrap_or_default().min(NameColumn::WIDEST) }
    }

    /// The name, followed by spaces. A longer name moves the rest of its line.
    pub(crate) fn cell(&self, name: &str) -> String {
        let name = first_line(name);
        let missing = self.width.saturating_sub(name.chars().count());
        format!("{name}{}", " ".repeat(missing))
    }
}

fn first_line(name: &str) -> &str {
    name.lines().next().unwrap_or_default()
}

/// Prints what is named: all about its sessions as JSON, or what `text` makes of each.
fn print(
    found: &[NamedSession],
    arguments: &SessionArguments,
    printer: &Printer,
    text: fn(&NamedSession) -> String,
) -> Result<(), CommandError> {
    let is_only = found.len() == 1;
    for named in found {
        let run = named.named_run();
        let of_name = if is_only { String::new() } else { format!("{}: ", run.meta.name) };
        for warning in run.warnings() {
            printer.warning(&format!("{of_name}{warning}"));
        }
        if let Some(error) = run.error() {
            let is_latest = named.run + 1 == named.session.runs.len();
            let which = if is_latest { "The latest run" } else { "This run" };
            printer.note(&format!("{of_name}{which} failed: {error}"));
        }
    }
    let mut reports: Vec<_> =
        found.iter().map(|named| SessionReport::from(&named.session)).collect();
    match (arguments.json, reports.pop()) {
        (true, Some(report)) if is_only => printer.json(&report)?,
        (true, last) => {
            reports.extend(last);
            printer.json(&SessionsDocument { sessions: reports })?;
        }
        (false, _) if is_only => found.iter().try_for_each(|named| printer.answer(&text(named)))?,
        (false, _) => {
            let texts = found.iter().map(|named| under_name(named, &text(named)));
            printer.answer(&texts.collect::<Vec<_>>().join("\n\n"))?;
        }
    }
    Ok(())
}

/// A text below the name of its task.
fn under_name(named: &NamedSession, text: &str) -> String {
    let name = session::clean(&named.named_run().meta.name).replace('\n', " ");
    format!("### {name}\n\n{}", text.trim_end())
}

fn prune(
    store: &Store,
    retention: &Retention,
    json: bool,
    printer: &Printer,
) -> Result<Exit, CommandError> {
    let unsettled = Cell::new(0);
    let pruned = store.prune(retention, SystemTime::now(), &|run| {
        let is_released = runner::release_before_pruning(run);
        unsettled.set(unsettled.get() + usize::from(!is_released));
        is_released
    })?;
    if unsettled.get() > 0 {
        printer.warning(&format!(
            "{} runs stay for a week from the first such warning, because their changes were not applied, merged or \
             discarded; `pi-subagents changes list` lists them",
            unsettled.get()
        ));
    }
    runner::remove_abandoned_cgroups();
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
