//! `subagent`: one task or several, each with a preset.

use model::{RunResult, Status};
use serde_json::Value;
use session::cut_bytes;

use crate::fields::{Fields, parse_tasks, wrong};
use crate::sessions::NO_OUTPUT;
use crate::{
    ArgumentError, CallError, CallOptions, DelegateArguments, PlannedCall, TaskArguments,
    Workspace, plan_delegation,
};

/// What is asked for in one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubagentArguments {
    /// One task.
    Single(SubagentTask),
    /// Several, side by side, in their order.
    Parallel(Vec<SubagentTask>),
}

/// One task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubagentTask {
    /// The preset that configures the agent.
    pub preset: String,
    /// What the agent is told.
    pub task: String,
    /// The model, which wins over the preset's.
    pub model: Option<String>,
    /// Where it works.
    pub cwd: Option<String>,
}

const FIELDS_OF_TASK: [&str; 4] = ["preset", "task", "model", "cwd"];

impl SubagentArguments {
    /// Reads the arguments. `most_tasks` is the limit of the tool, [`crate::MOST_TASKS`].
    pub fn parse(
        value: &Value,
        most_tasks: Option<usize>,
    ) -> Result<SubagentArguments, ArgumentError> {
        let call = Fields::of(value, "arguments")?;
        if call.map.contains_key("chain") {
            let problem = "is not supported; call subagent once for each step and put what the \
                           next step needs into its task, or give tasks that run side by side";
            return Err(wrong("chain", problem));
        }
        call.refuse_unknown(&["preset", "task", "model", "cwd", "tasks"])?;
        let is_given = |name: &str| call.map.get(name).is_some_and(|value| !value.is_null());
        let of_task = FIELDS_OF_TASK.into_iter().find(|name| is_given(name));
        match (of_task, is_given("tasks")) {
            (None, false) => Err(wrong("arguments", "must have preset and task, or tasks")),
            (Some(_), false) => read_task(&call).map(SubagentArguments::Single),
            (None, true) => {
                parse_tasks(&call, most_tasks, parse_task).map(SubagentArguments::Parallel)
            }
            (Some(name), true) => {
                Err(wrong(name, "cannot stand beside tasks; every task has its own"))
            }
        }
    }

    /// The tasks, in their order.
    pub fn tasks(&self) -> &[SubagentTask] {
        match self {
            SubagentArguments::Single(task) => std::slice::from_ref(task),
            SubagentArguments::Parallel(tasks) => tasks,
        }
    }

    /// What the tasks are called: by their presets, and of several also by their places.
    pub fn names(&self) -> Vec<String> {
        match self {
            SubagentArguments::Single(task) => vec![task.preset.clone()],
            SubagentArguments::Parallel(tasks) => {
                let tasks = (1..).zip(tasks);
                tasks.map(|(place, task)| format!("#{place} {}", task.preset)).collect()
            }
        }
    }
}

fn parse_task(value: &Value, place: &str) -> Result<SubagentTask, ArgumentError> {
    let task = Fields::of(value, place)?;
    task.refuse_unknown(&FIELDS_OF_TASK)?;
    read_task(&task)
}

fn read_task(task: &Fields<'_>) -> Result<SubagentTask, ArgumentError> {
    Ok(SubagentTask {
        preset: task.text("preset")?,
        task: task.text("task")?,
        model: task.optional_text("model")?,
        cwd: task.optional_text("cwd")?,
    })
}

/// Plans all tasks of a call. What is wrong with one task becomes its refusal.
pub fn plan_subagent(
    workspace: &Workspace,
    arguments: &SubagentArguments,
    options: &CallOptions<'_>,
) -> Result<PlannedCall, CallError> {
    let tasks = arguments.names().into_iter().zip(arguments.tasks());
    let tasks = tasks.map(|(name, task)| TaskArguments {
        name,
        prompt: task.task.clone(),
        cwd: task.cwd.clone(),
        model: task.model.clone(),
        preset: Some(task.preset.clone()),
        ..TaskArguments::default()
    });
    let call = DelegateArguments { tasks: tasks.collect(), profile: None };
    plan_delegation(workspace, call, options)
}

/// How many bytes the answers of one call have together at most: what a model can be given to read.
pub const MOST_BYTES: usize = 48 * 1024;

/// What the model reads when all tasks of a call have ended: the answer of one, or of several a
/// summary and all answers. The results are in the order of the tasks.
pub fn subagent_answer(arguments: &SubagentArguments, results: &[RunResult]) -> String {
    match (arguments, results) {
        (SubagentArguments::Single(_), [result]) => match &result.error {
            None => answer(&result.output, MOST_BYTES),
            Some(error) => failure(error, &result.output, MOST_BYTES),
        },
        _ => {
            let completed =
                results.iter().filter(|result| result.status == Status::Completed).count();
            let mut parts = vec![format!("Parallel: {completed}/{} succeeded", results.len())];
            let most_bytes = MOST_BYTES / results.len().max(1);
            parts.extend(results.iter().map(|result| {
                let (name, id) = (&result.name, &result.session_id);
                match &result.error {
                    None => format!(
                        "[{name}] completed (session: {id}):\n{}",
                        answer(&result.output, most_bytes)
                    ),
                    Some(error) => format!(
                        "[{name}] failed (session: {id}): {}",
                        failure(error, &result.output, most_bytes)
                    ),
                }
            }));
            parts.join("\n\n")
        }
    }
}

/// What an agent said, as far as it fits.
pub(crate) fn answer(output: &str, most_bytes: usize) -> String {
    let output = output.trim();
    let shown = cut_bytes(output, most_bytes);
    if output.is_empty() {
        NO_OUTPUT.to_owned()
    } else if shown.len() == output.len() {
        output.to_owned()
    } else {
        format!("{shown}\n[the first {} of {} bytes]", shown.len(), output.len())
    }
}

/// What was said before the failure can be worth something.
pub(crate) fn failure(error: &str, output: &str, most_bytes: usize) -> String {
    if output.trim().is_empty() {
        error.to_owned()
    } else {
        format!("{error}\nBefore that it said:\n{}", answer(output, most_bytes))
    }
}

#[cfg(test)]
mod tests;
