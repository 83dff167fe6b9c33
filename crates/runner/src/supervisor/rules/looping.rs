//! An agent that repeats itself does not come to an end.

use std::time::Instant;

use model::{Limits, StopCause};
use protocol::Reading;
use session::LoopDetector;

use super::{Rule, Stop};

pub(super) struct LoopRule(LoopDetector);

impl LoopRule {
    pub(super) fn new(limits: &Limits) -> LoopRule {
        LoopRule(LoopDetector::new(limits.looping_tool_count))
    }
}

impl Rule for LoopRule {
    /// Calls within one message count one by one.
    fn observe(&mut self, reading: &Reading, _: Instant) -> Option<Stop> {
        let seen = reading.events.iter().find_map(|event| self.0.observe(event))?;
        Some(Stop { cause: StopCause::Loop, seen: Some(seen) })
    }
}
