//! `bg list` and `bg status`.

use model::OwnerKind;
use serde::Serialize;
use session::cut_chars;
use store::Store;
use tools::{BackgroundCounts, BackgroundRecord, BackgroundRun, BackgroundRuns, Notification};

use super::super::sessions::age;
use super::super::tasks::SHELL;
use super::find;
use crate::arguments::{List, Status};
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(super) fn list(
    arguments: &List,
    store: &Store,
    printer: &Printer,
) -> Result<Exit, CommandError> {
    let owner = (!arguments.everyone).then_some(&SHELL);
    let mut loaded = tools::load_background(store, owner)?;
    let notifications = notify(&mut loaded, printer);
    let shown = loaded.runs.iter().filter(|run| arguments.all || run.record.is_running());
    let counts = loaded.counts();
    if arguments.json {
        let runs = shown.map(|run| &run.record).collect();
        printer.json(&Document { runs, counts, notifications })?;
        return Ok(Exit::Completed);
    }
    let lines: Vec<String> = shown.map(|run| line(run, arguments.everyone)).collect();
    if !lines.is_empty() {
        printer.answer(&lines.join("\n"))?;
    }
    printer.note(&words(counts));
    Ok(Exit::Completed)
}

pub(super) fn status(
    arguments: &Status,
    store: &Store,
    printer: &Printer,
) -> Result<Exit, CommandError> {
    let asked = arguments.id.as_deref().map(|id| find(store, id)).transpose()?;
    let mut loaded = tools::load_background(store, Some(&SHELL))?;
    let notifications = notify(&mut loaded, printer);
    let counts = loaded.counts();
    let running = loaded.runs.into_iter().filter(|run| run.record.is_running());
    let is_one = asked.is_some();
    let shown: Vec<BackgroundRun> = asked.map_or_else(|| running.collect(), |run| vec![run]);
    if arguments.json {
        let runs = shown.iter().map(|run| &run.record).collect();
        printer.json(&Document { runs, counts, notifications })?;
    } else if is_one {
        for run in &shown {
            printer.answer(&sheet(&run.record))?;
        }
    } else {
        let lines = shown.iter().map(|run| line(run, false));
        let text: Vec<String> = [words(counts)].into_iter().chain(lines).collect();
        printer.answer(&text.join("\n"))?;
    }
    Ok(Exit::Completed)
}

/// Prints which runs of the command line have ended and were not reported.
fn notify(loaded: &mut BackgroundRuns, printer: &Printer) -> Vec<Notification> {
    let notifications = loaded.take_notifications(&SHELL);
    for warning in &loaded.warnings {
        printer.warning(warning);
    }
    for notification in &notifications {
        printer.note(&format!("{} ({})", notification.text, notification.run_id));
    }
    notifications
}

/// `2 running. 5 completed, 1 failed.`
fn words(counts: BackgroundCounts) -> String {
    let BackgroundCounts { running, completed, failed, aborted, .. } = counts;
    let ended = [(completed, "completed"), (failed, "failed"), (aborted, "aborted")];
    let ended = ended.iter().filter(|(count, _)| *count > 0);
    let ended: Vec<String> = ended.map(|(count, word)| format!("{count} {word}")).collect();
    let running = if running == 0 { "Nothing".to_owned() } else { running.to_string() };
    let ended = if ended.is_empty() { String::new() } else { format!(" {}.", ended.join(", ")) };
    format!("{running} running.{ended}")
}

fn line(BackgroundRun { owner, record, .. }: &BackgroundRun, with_owner: bool) -> String {
    let ending = &record.ending;
    let what = ending.error.as_ref().or(ending.final_text.as_ref()).unwrap_or(&record.task);
    let what = what.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let owner = match owner.kind {
        _ if !with_owner => "",
        OwnerKind::Shell => "shell  ",
        OwnerKind::Pi => "pi     ",
        OwnerKind::Mcp => "mcp    ",
    };
    format!(
        "{}  {:<9}  {:>8}  {owner}{}  {}",
        record.run_id,
        record.status.word(),
        age(record.start_time),
        record.title().lines().next().unwrap_or_default(),
        cut_chars(what, 80)
    )
}

/// Everything about one run.
fn sheet(run: &BackgroundRecord) -> String {
    let ending = &run.ending;
    let path = |path: &std::path::Path| Some(path.display().to_string());
    let exit_code = ending.exit_code.map(|code| code.to_string());
    let model = ending.model.as_ref().or(run.resolved_model.as_ref());
    let rows = [
        ("status", Some(run.status.word().to_owned())),
        ("outcome", ending.outcome.clone()),
        ("error", ending.error.clone()),
        ("exit code", exit_code),
        ("name", Some(run.title().to_owned())),
        ("preset", Some(run.preset.clone())),
        ("model", model.cloned()),
        ("cwd", run.cwd.as_deref().and_then(path)),
        ("session", run.session_id.as_ref().map(ToString::to_string)),
        ("started", Some(age(run.start_time))),
        ("ended", ending.end_time.map(age)),
        ("directory", path(&run.paths.run_dir)),
        ("task", Some(run.task.trim().to_owned())),
        ("answer", ending.final_text.as_ref().map(|text| text.trim().to_owned())),
    ];
    let mut text = format!("Run {}", run.run_id);
    for (name, value) in rows {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            // Longer texts keep their shape.
            let value = value.replace('\n', &format!("\n{:13}", ""));
            text.push_str(&format!("\n  {name:<9}  {value}"));
        }
    }
    text
}

#[derive(Serialize)]
struct Document<'a> {
    runs: Vec<&'a BackgroundRecord>,
    counts: BackgroundCounts,
    notifications: Vec<Notification>,
}
