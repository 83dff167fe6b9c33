//! `subagent`: one task or several, each with a preset.

use model::{RunResult, Status};
use session::cut_bytes;

use crate::sessions::NO_OUTPUT;
use crate::{
    CallError, CallOptions, DelegateArguments, PlannedCall, SubagentArguments, Workspace,
    plan_delegation,
};

/// Plans all tasks of a call. What is wrong with one task becomes its refusal.
pub fn plan_subagent(
    workspace: &Workspace,
    arguments: &SubagentArguments,
    options: &CallOptions<'_>,
) -> Result<PlannedCall, CallError> {
    let call = DelegateArguments { tasks: arguments.tasks.clone(), profile: None };
    plan_delegation(workspace, call, options)
}

/// The most bytes that all answers of one call have together: as much as a model can be given.
pub const MOST_BYTES: usize = 48 * 1024;

/// What the model reads when all tasks of a call have ended: the answer of a single task, or a
/// summary and all answers of several. The results are in the order of the tasks.
pub fn subagent_answer(arguments: &SubagentArguments, results: &[RunResult]) -> String {
    match results {
        [result] if arguments.is_single => match &result.error {
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

/// The error, and what the agent said before it, which may be useful.
pub(crate) fn failure(error: &str, output: &str, most_bytes: usize) -> String {
    if output.trim().is_empty() {
        error.to_owned()
    } else {
        format!("{error}\nBefore that it said:\n{}", answer(output, most_bytes))
    }
}

#[cfg(test)]
mod tests;
