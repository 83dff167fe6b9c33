//! What is printed when tasks have ended.

use model::{AgentKind, Outcome, RunResult, Status, Usage};
use serde::Serialize;
use tools::{CallTask, RunningCall};

use super::Answers;
use super::view::View;
use crate::error::CommandError;

impl View<'_> {
    /// The last line about a task that has ended.
    pub(super) fn summary(&self, index: usize, task: &CallTask) -> String {
        let printed = self.printed.get(&index).filter(|_| self.answers == Answers::Text);
        let printed = printed.map(Vec::as_slice).unwrap_or_default();
        task.summary(|error| without(printed, error)).unwrap_or_default()
    }

    /// What all tasks together have used, if it is known.
    pub(super) fn note_usage(&self, call: &RunningCall) {
        let words = session::usage_words(&call.usage().unwrap_or_default());
        if !words.is_empty() {
            self.printer.note(&format!("Used {}", words.join(", ")));
        }
    }

    /// Everything that is printed at the end.
    pub(super) fn print_report(&self, call: &RunningCall) -> Result<(), CommandError> {
        if self.answers == Answers::Json {
            let tasks = call.tasks().iter().filter_map(TaskReport::of).collect();
            return self.printer.json(&Document { tasks });
        }
        self.note_usage(call);
        for (index, (task, result)) in call.tasks().iter().zip(call.results()).enumerate() {
            let line = self.summary(index, task);
            if self.answers == Answers::Summaries {
                self.printer.answer(&line)?;
                continue;
            }
            self.printer.summary(&line, result.status == Status::Completed);
            if let Some(hint) = hint(task, result) {
                self.printer.hint(&hint);
            }
            if !result.output.trim().is_empty() {
                self.printer.answer(&result.output)?;
            }
        }
        Ok(())
    }
}

/// The error, without the lines at its end that were printed already.
fn without<'e>(printed: &[String], error: &'e str) -> &'e str {
    let shortened = (0..printed.len())
        .find_map(|first| error.strip_suffix(&printed[first..].join(" "))?.strip_suffix(": "));
    shortened.unwrap_or(error)
}

/// What to do next about an outcome, where there is something to do.
fn hint(task: &CallTask, result: &RunResult) -> Option<String> {
    match result.outcome {
        Outcome::SpawnFailure => task.start_hint.map(str::to_owned),
        Outcome::Completed | Outcome::Cancelled => None,
        // It did nothing before that.
        _ if result.output.is_empty() && result.usage == Usage::default() => None,
        _ => Some(format!(
            "`pi-subagents sessions show {}` tells what it did before that",
            result.session_id
        )),
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    tasks: Vec<TaskReport<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskReport<'a> {
    name: &'a str,
    session_id: &'a str,
    run_id: &'a str,
    status: Status,
    outcome: Outcome,
    error: Option<&'a str>,
    output: &'a str,
    agent: Option<AgentKind>,
    model: Option<&'a str>,
    usage: Usage,
    duration_ms: u64,
    run_dir: Option<String>,
    profile: Option<&'a str>,
    preset: Option<&'a str>,
    warnings: Vec<&'a str>,
}

impl<'a> TaskReport<'a> {
    /// Nothing if the task has not ended.
    fn of(task: &'a CallTask) -> Option<TaskReport<'a>> {
        let report = task.report.as_ref()?;
        let (meta, result) = (&task.shown.meta, &report.result);
        let definition = task.definition.as_deref();
        Some(TaskReport {
            name: &result.name,
            session_id: result.session_id.as_str(),
            run_id: result.run_id.as_str(),
            status: result.status,
            outcome: result.outcome,
            error: result.error.as_deref(),
            output: &result.output,
            agent: meta.agent,
            model: result.model.as_deref(),
            usage: result.usage,
            duration_ms: result.duration_ms,
            run_dir: report.run_dir.as_ref().map(|path| path.display().to_string()),
            profile: definition.filter(|_| meta.preset.is_none()),
            preset: definition.filter(|_| meta.preset.is_some()),
            warnings: result.warnings.iter().chain(&report.warnings).map(String::as_str).collect(),
        })
    }
}
