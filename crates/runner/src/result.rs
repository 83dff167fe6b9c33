//! From the fold of all events to the result.

use model::{FORMAT, Meta, Outcome, RunResult};
use serde_json::Value;
use session::Facts;

/// The result of a run whose terminal event has been folded into `facts`.
pub(crate) fn result_of(meta: &Meta, facts: &Facts, duration_ms: u64) -> RunResult {
    let outcome = facts.outcome.unwrap_or(Outcome::Interrupted);
    RunResult {
        format: FORMAT,
        run_id: meta.run_id.clone(),
        session_id: meta.session_id.clone(),
        name: meta.name.clone(),
        status: outcome.status(),
        outcome,
        error: facts.error.clone(),
        output: facts.output.clone(),
        value: value_of(facts),
        check: facts.check.clone(),
        exit_code: facts.exit_code,
        signal: facts.signal,
        model: facts.model.clone().or_else(|| meta.model.clone()),
        stop_reason: facts.stop_reason.clone(),
        usage: facts.usage,
        budget: meta.limits.budget,
        tool_calls: facts.tool_calls,
        started_at: facts.started_at,
        ended_at: facts.ended_at.unwrap_or_default(),
        duration_ms,
        warnings: facts.warnings.clone(),
        leftovers: facts.leftovers.clone(),
        changes: facts.changes.clone(),
        resources: None,
    }
}

/// The value in the answer, if it was found to fit its schema.
fn value_of(facts: &Facts) -> Option<Value> {
    facts.answer.as_ref().filter(|found| found.is_ok())?;
    answer::value_in(&facts.output).ok()
}

/// What to say about a result that could not be written.
pub(crate) fn not_kept(reason: impl std::fmt::Display) -> String {
    format!("The result was not kept: {reason}")
}
