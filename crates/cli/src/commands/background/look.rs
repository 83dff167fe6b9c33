//! `bg list` and `bg status`.

use model::{OpenQuestion, OwnerKind};
use serde::Serialize;
use session::cut_chars;
use store::Store;
use tools::{BackgroundCounts, BackgroundRecord, BackgroundRun, BackgroundRuns, Notification};

use super::super::sessions::{NameColumn, age};
use super::super::tasks::SHELL;
use super::find_all;
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
    let shown: Vec<&BackgroundRun> = shown.collect();
    let lines = lines(&shown, arguments.everyone);
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
    let asked = find_all(store, &arguments.id)?;
    let mut loaded = tools::load_background(store, Some(&SHELL))?;
    let notifications = notify(&mut loaded, printer);
    let counts = loaded.counts();
    let running = loaded.runs.into_iter().filter(|run| run.record.is_running());
    let is_asked = !asked.is_empty();
    let shown: Vec<BackgroundRun> = if is_asked { asked } else { running.collect() };
    if arguments.json {
        let runs = shown.iter().map(|run| &run.record).collect();
        printer.json(&Document { runs, counts, notifications })?;
    } else if is_asked {
        let sheets: Vec<String> = shown.iter().map(|run| sheet(&run.record)).collect();
        printer.answer(&sheets.join("\n"))?;
    } else {
        let lines = lines(&shown.iter().collect::<Vec<_>>(), false);
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
    for run in &loaded.runs {
        for open in &run.record.questions {
            printer.note(&question(&run.record, open));
        }
    }
    for notification in &notifications {
        printer.note(&format!("{} ({})", notification.text, notification.run_id));
    }
    notifications
}

/// What a run asks, and how to answer it.
pub(super) fn question(record: &BackgroundRecord, open: &OpenQuestion) -> String {
    let OpenQuestion { number, question, .. } = open;
    let (title, run_id) = (record.title(), &record.run_id);
    format!(
        "{title} asks: {}\n{}: `pi-subagents answer {run_id} {number} ANSWER`",
        question.words(),
        question.ways()
    )
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

fn lines(runs: &[&BackgroundRun], with_owner: bool) -> Vec<String> {
    let names = NameColumn::of(runs.iter().map(|run| run.record.title()));
    runs.iter().map(|run| line(run, &names, with_owner)).collect()
}

fn line(
    BackgroundRun { owner, record, .. }: &BackgroundRun,
    names: &NameColumn,
    with_owner: bool,
) -> String {
    let ending = &record.ending;
    let said = ending.final_text.as_ref().filter(|text| !text.trim().is_empty());
    let warning = ending.warnings.first();
    let asks = record.questions.first().map(|open| format!("asks: {}", open.question.words()));
    let waits = record.waiting.as_ref().map(model::Waiting::words);
    let says = ending.error.as_ref().or(said).or(warning);
    let what = says.or(asks.as_ref()).or(waits.as_ref()).unwrap_or(&record.task);
    let what = what.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let owner = match owner.kind {
        _ if !with_owner => "",
        OwnerKind::Shell => "shell  ",
        OwnerKind::Pi => "pi     ",
        OwnerKind::Mcp => "mcp    ",
    };
    format!(
        "{}  {:<9}  {:>7}  {owner}{}  {}",
        record.run_id,
        record.status.word(),
        age(record.start_time),
        names.cell(record.title()),
        cut_chars(what, 80)
    )
}

fn waiting(waiting: &model::Waiting) -> String {
    format!("{} (since {})", waiting.words(), age(waiting.since))
}

/// Everything about one run.
fn sheet(run: &BackgroundRecord) -> String {
    let ending = &run.ending;
    let path = |path: &std::path::Path| Some(path.display().to_string());
    let asks: Vec<String> = run
        .questions
        .iter()
        .map(|open| format!("{}: {}", open.number, open.question.words()))
        .collect();
    let exit_code = ending.exit_code.map(|code| code.to_string());
    let model = ending.model.as_ref().or(run.resolved_model.as_ref());
    let rows = [
        ("status", Some(run.status.word().to_owned())),
        ("waiting", run.waiting.as_ref().map(waiting)),
        ("outcome", ending.outcome.clone()),
        ("error", ending.error.clone()),
        ("warnings", Some(ending.warnings.join("\n"))),
        ("exit code", exit_code),
        ("asks", Some(asks.join("\n"))),
        ("name", Some(run.title().to_owned())),
        ("preset", run.preset.clone()),
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
