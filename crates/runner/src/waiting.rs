//! What a run waits for whose agent was not started.

use model::{Event, Record, Waiting};
use store::{EVENTS, RunDir, StoreError};

/// Why the agent of a background run was not started yet, and since when. Reads no further than to its start.
pub fn waiting(dir: &RunDir) -> Result<Option<Waiting>, StoreError> {
    let mut events = dir.tail(EVENTS);
    let mut found = None;
    while let Some(line) = events.next_line()? {
        // A line that is not an event is passed over.
        let Ok(record) = serde_json::from_slice::<Record>(&line) else { continue };
        match record.event {
            Event::Waiting { waiting } => found = Some(waiting),
            Event::PreparationStarted { .. } | Event::RunStarted { .. } => return Ok(None),
            _ => {}
        }
    }
    Ok(found)
}
