//! `changes`: what agents changed in worktrees of their own.

use std::io::IsTerminal;

use anstyle::{AnsiColor, Style};
use plan::Surroundings;
use serde::Serialize;
use session::DiffLine;
use store::{RunDir, Store};
use tools::{ChangedFile, ChangesError, Landed, RunChanges, RunNames, Settled};
use tui::Palette;

use super::age;
use super::sessions::NameColumn;
use crate::arguments::{Changes, ChangesCommand, NamedChanges};
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(crate) fn changes(arguments: &Changes, printer: &Printer) -> Result<Exit, CommandError> {
    let surroundings = Surroundings::of_this_process()?;
    let store = Store::in_project(surroundings.project_root());
    match &arguments.command {
        ChangesCommand::List { json } => list(&store, *json, printer),
        ChangesCommand::Show(named) => show(&named_changes(&store, named)?, named.json, printer),
        ChangesCommand::Diff(named) => diff(&named_changes(&store, named)?, named.json, printer),
        ChangesCommand::Apply(named) => {
            land(&named_changes(&store, named)?, named.json, printer, "applied", RunChanges::apply)
        }
        ChangesCommand::Merge(named) => {
            land(&named_changes(&store, named)?, named.json, printer, "merged", RunChanges::merge)
        }
        ChangesCommand::Discard(named) => land(
            &named_changes(&store, named)?,
            named.json,
            printer,
            "discarded",
            RunChanges::discard,
        ),
    }
}

/// The changes that the words mean. Runs of a call that have none are passed over if others have some.
fn named_changes(store: &Store, named: &NamedChanges) -> Result<Vec<RunChanges>, CommandError> {
    let names = RunNames::load(store)?;
    let mut dirs: Vec<RunDir> = Vec::new();
    let mut found = Vec::new();
    for word in &named.ids {
        let mut problem = None;
        let before = found.len();
        for dir in names.runs(word)? {
            if dirs.contains(&dir) {
                continue;
            }
            dirs.push(dir.clone());
            match RunChanges::read(dir) {
                Ok(changes) => found.push(changes),
                Err(error) => problem = Some(error),
            }
        }
        if let (true, Some(error)) = (found.len() == before, problem) {
            return Err(error.into());
        }
    }
    Ok(found)
}

fn list(store: &Store, json: bool, printer: &Printer) -> Result<Exit, CommandError> {
    let all = RunChanges::all(store)?;
    if json {
        let changes = all.iter().map(|changes| Report::new(changes, None)).collect();
        printer.json(&Document { changes })?;
        return Ok(Exit::Completed);
    }
    if all.is_empty() {
        printer.note(
            "No changes in this project yet. `pi-subagents run --worktree \"...\"` makes some.",
        );
    }
    let names = NameColumn::of(all.iter().map(|changes| changes.meta.name.as_str()));
    for changes in &all {
        let line = format!(
            "{}  {:<9}  {:>7}  {}  {}",
            changes.meta.run_id,
            changes.state_word(),
            age(changes.meta.created_at),
            names.cell(&changes.meta.name),
            brief(changes)
        );
        printer.answer(&line)?;
    }
    Ok(Exit::Completed)
}

/// `3 files +40 −2`, and what else is worth knowing.
fn brief(changes: &RunChanges) -> String {
    let directory = changes.changes.directory.as_ref();
    let directory = directory.map(|path| format!("; see {}", path.display()));
    let failed = if changes.result.error.is_some() { " (the run failed)" } else { "" };
    format!("{}{failed}{}", changes.changes.brief(), directory.unwrap_or_default())
}

fn show(all: &[RunChanges], json: bool, printer: &Printer) -> Result<Exit, CommandError> {
    let mut reports = Vec::new();
    for changes in all {
        let open = changes.open()?;
        let files = open.files()?;
        if json {
            let diff = String::from_utf8_lossy(&open.diff()?).into_owned();
            reports.push(Report { diff: Some(diff), ..Report::new(changes, Some(files)) });
            continue;
        }
        printer.answer(&format!("{}: {}", changes.meta.name, brief(changes)))?;
        for file in &files {
            let lines = match (file.insertions, file.deletions) {
                (Some(insertions), Some(deletions)) => format!("+{insertions} −{deletions}"),
                _ => "binary".to_owned(),
            };
            printer.answer(&format!("  {}  {lines}", file.path))?;
        }
        if changes.changes.ignored > 0 {
            let ignored = changes.changes.ignored;
            printer
                .answer(&format!("  and {ignored} files that git ignores, which were not kept"))?;
        }
        printer.answer("")?;
        printer.script(coloured(&String::from_utf8_lossy(&open.diff()?), printer))?;
    }
    if json {
        printer.json(&Document { changes: reports })?;
    }
    Ok(Exit::Completed)
}

fn diff(all: &[RunChanges], json: bool, printer: &Printer) -> Result<Exit, CommandError> {
    if json {
        return show(all, true, printer);
    }
    for changes in all {
        let diff = changes.open()?.diff()?;
        // On a terminal, what an agent wrote must not act. Another program needs every byte of it.
        if std::io::stdout().is_terminal() {
            printer.script(coloured(&String::from_utf8_lossy(&diff), printer))?;
        } else {
            printer.script(&diff)?;
        }
    }
    Ok(Exit::Completed)
}

/// Brings changes somewhere, one run after the other. What stops one does not stop the next.
fn land(
    all: &[RunChanges],
    json: bool,
    printer: &Printer,
    done: &str,
    action: impl Fn(&RunChanges) -> Result<Settled, ChangesError>,
) -> Result<Exit, CommandError> {
    let mut exit = Exit::Completed;
    let mut reports = Vec::new();
    for changes in all {
        let name = &changes.meta.name;
        let (line, report) = match action(changes) {
            Ok(Settled { landed: Landed::Done(commit), was_there }) => {
                let at = commit
                    .as_ref()
                    .map(|commit| format!(" as {}", &commit[..commit.len().min(12)]));
                let at = at.unwrap_or_default();
                let brief = changes.changes.brief();
                let line = if was_there {
                    format!("{name}: {done} already, nothing is left to change ({brief})")
                } else {
                    format!("{name}: {done}{at}, {brief}")
                };
                (line, Landing { outcome: done, commit, ..Landing::of(changes) })
            }
            Ok(Settled { landed: Landed::Conflicting(files), .. }) => {
                exit = Exit::TaskFailed;
                let line = format!(
                    "{name}: not {done}, because it conflicts with what is there, in {}. Nothing was changed. To resolve it by hand: \
                     `pi-subagents changes diff {name} | git apply --3way`",
                    files.join(", ")
                );
                (line, Landing { outcome: "conflict", files, ..Landing::of(changes) })
            }
            Ok(Settled { landed: Landed::InTheWay(files), .. }) => {
                exit = Exit::TaskFailed;
                let line = format!(
                    "{name}: not {done}, because it would overwrite what is not committed, in {}. Nothing was \
                     changed. Move it away or commit it first{}.",
                    files.join(", "),
                    if done == "merged" { ", or use `apply`" } else { "" }
                );
                (line, Landing { outcome: "in_the_way", files, ..Landing::of(changes) })
            }
            Err(error) => {
                exit = Exit::TaskFailed;
                let error = error.to_string();
                (
                    format!("{name}: not {done}: {error}"),
                    Landing { outcome: "error", error: Some(error), ..Landing::of(changes) },
                )
            }
        };
        if !json {
            printer.answer(&line)?;
        }
        reports.push(report);
    }
    if json {
        printer.json(&Landings { changes: reports })?;
    }
    Ok(exit)
}

/// A diff for a terminal.
fn coloured(diff: &str, printer: &Printer) -> String {
    let diff = session::clean(diff);
    if !std::io::stdout().is_terminal() || printer.palette == Palette::None {
        return diff.into_owned();
    }
    let lines = diff.lines().map(|line| {
        let colour = match DiffLine::of(line) {
            DiffLine::Added => AnsiColor::Green,
            DiffLine::Removed => AnsiColor::Red,
            DiffLine::Position => AnsiColor::Cyan,
            DiffLine::File => AnsiColor::Yellow,
            DiffLine::Other => return format!("{line}\n"),
        };
        let style = Style::new().fg_color(Some(colour.into()));
        format!("{style}{line}{style:#}\n")
    });
    lines.collect()
}

#[derive(Serialize)]
struct Document<'a> {
    changes: Vec<Report<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    name: &'a str,
    run_id: &'a str,
    session_id: &'a str,
    status: model::Status,
    /// What the user did with them; absent if nothing.
    state: Option<&'static str>,
    #[serde(flatten)]
    changes: &'a model::Changes,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_files: Option<Vec<FileReport>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

impl<'a> Report<'a> {
    fn new(changes: &'a RunChanges, files: Option<Vec<ChangedFile>>) -> Report<'a> {
        let report = |file: ChangedFile| FileReport {
            path: file.path,
            insertions: file.insertions,
            deletions: file.deletions,
        };
        Report {
            name: &changes.meta.name,
            run_id: changes.meta.run_id.as_str(),
            session_id: changes.meta.session_id.as_str(),
            status: changes.result.status,
            state: changes.state.map(model::ChangesState::word),
            changes: &changes.changes,
            changed_files: files.map(|files| files.into_iter().map(report).collect()),
            diff: None,
        }
    }
}

#[derive(Serialize)]
struct FileReport {
    path: String,
    insertions: Option<u64>,
    deletions: Option<u64>,
}

#[derive(Serialize)]
struct Landings<'a> {
    changes: Vec<Landing<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Landing<'a> {
    name: &'a str,
    run_id: &'a str,
    /// `applied`, `merged`, `discarded`, `conflict`, `in_the_way` or `error`.
    outcome: &'a str,
    commit: Option<String>,
    /// The files that conflict or are in the way.
    files: Vec<String>,
    error: Option<String>,
}

impl<'a> Landing<'a> {
    fn of(changes: &'a RunChanges) -> Landing<'a> {
        let (name, run_id) = (&changes.meta.name, changes.meta.run_id.as_str());
        Landing { name, run_id, outcome: "error", commit: None, files: Vec::new(), error: None }
    }
}
