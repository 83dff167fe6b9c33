//! `subagent`: one task or several, each with a preset.

use model::{RunResult, Status};

use crate::inline_answers::failure;
use crate::{
    CallError, CallOptions, DelegateArguments, InlineAnswer, PlannedCall, SubagentArguments,
    Workspace, plan_delegation,
};

/// Plans all tasks of a call. What is wrong with one task becomes its refusal.
pub fn plan_subagent(
    workspace: &Workspace,
    arguments: &SubagentArguments,
    options: &CallOptions<'_>,
) -> Result<PlannedCall, CallError> {
    let call = DelegateArguments::of(arguments.tasks.clone());
    plan_delegation(workspace, call, options)
}

/// What the model reads when all tasks of a call have ended: the answer of a single task, or a
/// summary and all answers of several. The results and answers are in the order of the tasks.
pub fn subagent_answer(
    arguments: &SubagentArguments,
    results: &[&RunResult],
    answers: &[InlineAnswer],
) -> String {
    match (results, answers) {
        ([result], [answer]) if arguments.is_single => match &result.error {
            None => answer.or_nothing().to_owned(),
            Some(error) => failure(error, answer),
        },
        _ => {
            let completed =
                results.iter().filter(|result| result.status == Status::Completed).count();
            let mut parts = vec![format!("Parallel: {completed}/{} succeeded", results.len())];
            parts.extend(results.iter().zip(answers).map(|(result, answer)| {
                let (name, id) = (&result.name, &result.session_id);
                match &result.error {
                    None => {
                        format!("[{name}] completed (session: {id}):\n{}", answer.or_nothing())
                    }
                    Some(error) => {
                        format!("[{name}] failed (session: {id}): {}", failure(error, answer))
                    }
                }
            }));
            parts.join("\n\n")
        }
    }
}

#[cfg(test)]
mod tests;
