//! What a run waits for that has no agent.

use model::{Event, Waiting};
use store::{RunDir, StoreError};

/// Why a background run that lives has no agent, and since when: it was not started yet, or it is parked. Nothing else is
/// recorded meanwhile, so the last event tells.
pub fn waiting(dir: &RunDir) -> Result<Option<Waiting>, StoreError> {
    Ok(match dir.last_event()?.map(|record| record.event) {
        Some(Event::Waiting { waiting }) => Some(waiting),
        _ => None,
    })
}
