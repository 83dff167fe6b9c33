//! `fleet status` and `fleet workers`.

use fleet::{Figures, TaskName};
use serde_json::{Value, json};
use session::view::duration;
use tools::now_ms;

use super::{at_server, batch_name, no_batch};
use crate::arguments::ServerArguments;
use crate::commands::age;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(super) fn status(
    batch: Option<&str>,
    json: bool,
    server: &ServerArguments,
    printer: &Printer,
) -> Result<Exit, CommandError> {
    let Some(batch) = batch else { return list(json, server, printer) };
    let batch = batch_name(batch)?;
    let now = now_ms();
    let figures = at_server(server, printer, async |fleet| {
        let overview = fleet::load_overview(&fleet, &batch).await?;
        if overview.is_empty() {
            return Err(no_batch(&batch));
        }
        Ok(overview.figures(now))
    })?;
    if json {
        printer.json(&document(&batch, &figures))?;
        return Ok(Exit::Completed);
    }
    printer.answer(&format!("{batch}: {}", line(&figures)))?;
    for failure in &figures.failures {
        printer.answer(&format!("  {:>6}  {}", failure.count, failure.reason))?;
    }
    for slow in &figures.slowest {
        let running = duration(slow.running_ms);
        printer.answer(&format!("  {running:>6}  {} on {}", slow.key, slow.worker))?;
    }
    Ok(Exit::Completed)
}

/// A batch in one line.
pub(super) fn line(figures: &Figures) -> String {
    let mut parts = vec![format!("{} of {} ended", ended(figures), figures.tasks)];
    for (count, word) in [
        (figures.running, "running"),
        (figures.queued, "queued"),
        (figures.failed, "failed"),
        (figures.cancelled, "cancelled"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {word}"));
        }
    }
    if ended(figures) < figures.tasks {
        parts.extend(figures.rate.map(|rate| format!("{rate:.0} a minute")));
        parts.extend(figures.left_ms.map(|left| format!("{} left", duration(left))));
    }
    parts.extend(figures.usage.iter().flat_map(session::usage_words));
    parts.join(", ")
}

pub(super) fn ended(figures: &Figures) -> usize {
    figures.completed + figures.failed + figures.cancelled
}

fn document(batch: &TaskName, figures: &Figures) -> Value {
    let failures = figures.failures.iter();
    let slowest = figures.slowest.iter();
    json!({
        "batch": batch.as_str(),
        "tasks": figures.tasks,
        "queued": figures.queued,
        "running": figures.running,
        "completed": figures.completed,
        "failed": figures.failed,
        "cancelled": figures.cancelled,
        "restarted": figures.restarted,
        "usage": figures.usage,
        "tasksPerMinute": figures.rate,
        "leftMs": figures.left_ms,
        "failures": failures.map(|failure| json!({"reason": failure.reason, "count": failure.count})).collect::<Vec<_>>(),
        "slowest": slowest.map(|slow| json!({"key": slow.key.as_str(), "worker": slow.worker, "runningMs": slow.running_ms})).collect::<Vec<_>>(),
        "workers": figures.workers.iter().map(|(worker, running)| json!({"worker": worker, "running": running})).collect::<Vec<_>>(),
    })
}

fn list(json: bool, server: &ServerArguments, printer: &Printer) -> Result<Exit, CommandError> {
    let counts = at_server(server, printer, async |fleet| Ok(fleet::count_batches(&fleet).await?))?;
    if json {
        let batches = counts.iter().map(
            |(batch, count)| json!({"batch": batch.as_str(), "tasks": count.tasks, "ended": count.ended}),
        );
        printer.json(&json!({"batches": batches.collect::<Vec<_>>()}))?;
        return Ok(Exit::Completed);
    }
    if counts.is_empty() {
        printer.note("No batches yet. `pi-subagents fleet submit tasks.jsonl` makes one.");
    }
    for (batch, count) in &counts {
        printer.answer(&format!("{batch}: {} of {} ended", count.ended, count.tasks))?;
    }
    Ok(Exit::Completed)
}

pub(super) fn workers(
    json: bool,
    server: &ServerArguments,
    printer: &Printer,
) -> Result<Exit, CommandError> {
    let workers = at_server(server, printer, async |fleet| Ok(fleet::workers(&fleet).await?))?;
    if json {
        printer.json(&json!({"workers": workers}))?;
        return Ok(Exit::Completed);
    }
    if workers.is_empty() {
        printer.note("No workers. `pi-subagents worker` on a machine starts one.");
    }
    for worker in &workers {
        let agents: Vec<&str> = worker.agents.iter().map(|agent| agent.name.as_str()).collect();
        let draining = if worker.is_draining { ", takes no more tasks" } else { "" };
        printer.answer(&format!(
            "{} on {}: pool {}, {} of {} slots busy{draining}, version {}, since {}, agents: {}",
            worker.worker,
            worker.host,
            worker.pool,
            worker.running,
            worker.slots,
            worker.version,
            age(worker.started_at),
            agents.join(" ")
        ))?;
        if let Some(refusal) = &worker.refusal {
            printer.answer(&format!("  refused a task: {refusal}"))?;
        }
    }
    Ok(Exit::Completed)
}
