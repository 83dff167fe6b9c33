//! What is printed when tasks have ended.

use model::{AgentKind, Outcome, RunResult, Status, Usage};
use runner::Report;
use serde::Serialize;
use tools::PlannedTask;

use super::Answers;
use crate::error::CommandError;
use crate::printer::Printer;

/// Prints how tasks ended.
pub(super) struct Reporter<'a> {
    printer: &'a Printer,
    pub(super) answers: Answers,
    tasks: Vec<KnownTask>,
}

struct KnownTask {
    /// The profile or preset in a few words.
    definition: Option<String>,
    is_preset: bool,
    agent: Option<AgentKind>,
    /// What to do if it could not be started.
    start_hint: Option<&'static str>,
    /// The last lines of its standard error, if they were shown.
    complaints: Vec<String>,
}

impl KnownTask {
    /// Remembers as much as an error can end with.
    fn complain(&mut self, line: &str) {
        const LINES: usize = 4;
        const CHARS: usize = 500;
        if self.complaints.len() == LINES {
            self.complaints.remove(0);
        }
        self.complaints.push(session::cut_chars(line.trim(), CHARS).to_owned());
    }

    /// The error, without the complaints at its end that were shown already.
    fn shortened<'a>(&self, error: &'a str) -> &'a str {
        (0..self.complaints.len())
            .find_map(|first| {
                let shown = self.complaints[first..].join(" ");
                error.strip_suffix(&shown)?.strip_suffix(": ")
            })
            .unwrap_or(error)
    }
}

impl<'a> Reporter<'a> {
    pub(super) fn new(
        printer: &'a Printer,
        answers: Answers,
        tasks: &[PlannedTask],
    ) -> Reporter<'a> {
        let tasks = tasks.iter().map(|task| KnownTask {
            definition: task.definition.clone(),
            is_preset: task.plan.meta.preset.is_some(),
            agent: task.plan.meta.agent,
            start_hint: task.start_hint(),
            complaints: Vec::new(),
        });
        Reporter { printer, answers, tasks: tasks.collect() }
    }

    /// What all tasks together have used, if it is known.
    pub(super) fn note_usage(&self, reports: &[Report]) {
        let mut sum = Usage::default();
        for report in reports {
            sum += report.result.usage;
        }
        let words = session::usage_words(&sum);
        if !words.is_empty() {
            self.printer.note(&format!("Used {}", words.join(", ")));
        }
    }

    /// A line of a task's standard error was shown.
    pub(super) fn has_shown(&mut self, task: usize, line: &str) {
        if let Some(task) = self.tasks.get_mut(task) {
            task.complain(line);
        }
    }

    /// The last line about a task.
    pub(super) fn summary(&self, task: usize, result: &RunResult) -> String {
        let task = self.tasks.get(task);
        // Where both are read one below the other, nothing is said twice.
        let is_text = self.answers == Answers::Text;
        let shortened = |error| match task {
            Some(task) if is_text => task.shortened(error),
            _ => error,
        };
        session::summary_line(
            &result.name,
            result.status,
            result.error.as_deref().map(shortened),
            &result.session_id,
            task.and_then(|task| task.definition.as_deref()),
        )
    }

    /// Everything that is told at the end.
    pub(super) fn print(&self, reports: &[Report]) -> Result<(), CommandError> {
        if self.answers == Answers::Json {
            let tasks = reports.iter().zip(&self.tasks);
            let tasks = tasks.map(|(report, task)| TaskReport::new(report, task)).collect();
            return self.printer.json(&Document { tasks });
        }
        self.note_usage(reports);
        for (task, report) in reports.iter().enumerate() {
            let result = &report.result;
            let line = self.summary(task, result);
            if self.answers == Answers::Summaries {
                self.printer.answer(&line)?;
                continue;
            }
            self.printer.summary(&line, result.status == Status::Completed);
            if let Some(hint) = self.hint(task, result) {
                self.printer.hint(&hint);
            }
            if !result.output.trim().is_empty() {
                self.printer.answer(&result.output)?;
            }
        }
        Ok(())
    }

    /// What to do next about an outcome, where there is something to do.
    fn hint(&self, task: usize, result: &RunResult) -> Option<String> {
        match result.outcome {
            Outcome::SpawnFailure => self.tasks.get(task)?.start_hint.map(str::to_owned),
            Outcome::Completed | Outcome::Cancelled => None,
            // It did nothing before that.
            _ if result.output.is_empty() && result.usage == Usage::default() => None,
            _ => Some(format!(
                "`pi-subagents sessions show {}` tells what it did before that",
                result.session_id
            )),
        }
    }
}

/// What people should know about a task that has ended.
pub(super) fn warnings(report: &Report) -> impl Iterator<Item = String> {
    let warnings = report.result.warnings.iter().chain(&report.warnings);
    warnings.map(|warning| format!("{}: {warning}", report.result.name))
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
    fn new(report: &'a Report, task: &'a KnownTask) -> TaskReport<'a> {
        let result = &report.result;
        TaskReport {
            name: &result.name,
            session_id: result.session_id.as_str(),
            run_id: result.run_id.as_str(),
            status: result.status,
            outcome: result.outcome,
            error: result.error.as_deref(),
            output: &result.output,
            agent: task.agent,
            model: result.model.as_deref(),
            usage: result.usage,
            duration_ms: result.duration_ms,
            run_dir: report.run_dir.as_ref().map(|path| path.display().to_string()),
            profile: task.definition.as_deref().filter(|_| !task.is_preset),
            preset: task.definition.as_deref().filter(|_| task.is_preset),
            warnings: result.warnings.iter().chain(&report.warnings).map(String::as_str).collect(),
        }
    }
}
