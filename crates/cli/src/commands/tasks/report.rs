//! What is printed when tasks have ended.

use model::{Access, AgentKind, Budget, Changes, CheckResult, Outcome, RunResult, Status, Usage};
use serde::{Serialize, Serializer};
use serde_json::Value;
use tools::{CallTask, RunningCall, under_heading};

use super::Answers;
use super::view::View;
use crate::error::CommandError;
use crate::live::answers_are_seen;

impl View<'_> {
    /// Everything that is printed at the end. `has_table` says that the live view has left a table of the
    /// tasks on the terminal, so that only answers are missing there.
    pub(super) fn print_report(
        &self,
        call: &RunningCall,
        has_table: bool,
    ) -> Result<(), CommandError> {
        if self.results.answers == Answers::Json {
            let (tasks, warnings) = (call.tasks(), call.sibling_warnings());
            return self.printer.json(&Document { tasks, warnings });
        }
        for warning in call.sibling_warnings() {
            self.printer.warning(warning);
        }
        let words = session::usage_words(&call.usage().unwrap_or_default());
        if !has_table && !words.is_empty() {
            self.printer.note(&format!("Used {}", words.join(", ")));
        }
        let is_line_seen = has_table && answers_are_seen();
        for (task, result) in call.tasks().iter().zip(call.results()) {
            let line = task.summary().unwrap_or_default();
            if self.results.answers.has_summaries() {
                if !is_line_seen {
                    self.printer.answer(&line)?;
                }
                continue;
            }
            if !has_table {
                self.printer.summary(&line, result.status == Status::Completed);
            }
            if let Some(hint) = hint(task, result) {
                self.printer.hint(&hint);
            }
            if !result.output.trim().is_empty() {
                self.printer.answer(&result.output)?;
            }
        }
        self.print_answers(call)
    }

    /// What each task said, whole, where the lines about the tasks come first.
    fn print_answers(&self, call: &RunningCall) -> Result<(), CommandError> {
        if self.results.answers != Answers::Everything {
            return Ok(());
        }
        for said in call.results().filter_map(|result| under_heading(result, &result.output)) {
            self.printer.answer(&format!("\n{said}"))?;
        }
        Ok(())
    }
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
    #[serde(serialize_with = "reports")]
    tasks: &'a [CallTask],
    /// About tasks that got into each other's way.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
}

/// One after the other, so that those of a thousand tasks are never there at once.
fn reports<S: Serializer>(tasks: &[CallTask], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(tasks.iter().filter_map(TaskReport::of))
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
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<&'a CheckResult>,
    agent: Option<&'a AgentKind>,
    access: Access,
    model: Option<&'a str>,
    usage: Usage,
    #[serde(skip_serializing_if = "Budget::is_unlimited")]
    budget: Budget,
    duration_ms: u64,
    run_dir: Option<String>,
    profile: Option<&'a str>,
    preset: Option<&'a str>,
    warnings: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<&'a Changes>,
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
            value: result.value.as_ref(),
            check: result.check.as_deref(),
            agent: meta.agent.as_ref(),
            access: meta.access,
            model: result.model.as_deref(),
            usage: result.usage,
            budget: result.budget,
            duration_ms: result.duration_ms,
            run_dir: report.run_dir.as_ref().map(|path| path.display().to_string()),
            profile: definition.filter(|_| meta.preset.is_none()),
            preset: definition.filter(|_| meta.preset.is_some()),
            warnings: result.warnings.iter().chain(&report.warnings).map(String::as_str).collect(),
            changes: result.changes.as_deref(),
        })
    }
}
