//! An agent that repeats the same tool call does not come to an end by itself.

use std::time::Instant;

use model::{Event, Limits, StopCause};
use protocol::Reading;
use session::LoopDetector;

use super::Rule;

pub(super) struct LoopRule {
    calls: LoopDetector,
    limit: u32,
}

impl LoopRule {
    pub(super) fn new(limits: &Limits) -> LoopRule {
        LoopRule { calls: LoopDetector::default(), limit: limits.looping_tool_count }
    }
}

impl Rule for LoopRule {
    /// Calls within one message count one by one.
    fn observe(&mut self, reading: &Reading, _: Instant) -> Option<StopCause> {
        let is_repeated = |event: &Event| match event {
            Event::ToolCall { tool, args, .. } => self.calls.observe(tool, args, self.limit),
            _ => false,
        };
        reading.events.iter().any(is_repeated).then_some(StopCause::Loop)
    }
}
