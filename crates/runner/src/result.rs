//! From the fold of all events to the result.

use model::{FORMAT, Meta, Outcome, RunResult};
use session::State;

/// The result of a run whose terminal event has been folded into `state`.
pub(crate) fn result_of(meta: &Meta, state: &State, duration_ms: u64) -> RunResult {
    let outcome = state.outcome.unwrap_or(Outcome::Interrupted);
    RunResult {
        format: FORMAT,
        run_id: meta.run_id.clone(),
        session_id: meta.session_id.clone(),
        name: meta.name.clone(),
        status: outcome.status(),
        outcome,
        error: state.error.clone(),
        output: state.output.clone(),
        exit_code: state.exit_code,
        signal: state.signal,
        model: state.model.clone().or_else(|| meta.model.clone()),
        stop_reason: state.stop_reason.clone(),
        usage: state.usage,
        tool_calls: state.tool_calls,
        started_at: state.started_at,
        ended_at: state.ended_at.unwrap_or_default(),
        duration_ms,
        warnings: state.warnings.clone(),
    }
}
