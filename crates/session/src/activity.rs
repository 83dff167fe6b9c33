//! The current activity of an agent, and since when.

use model::{Activity, Event};

/// The current activity of an agent: as its events show it, or, more precisely, as its supervisor
/// reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Doing {
    /// Starting until the first event.
    pub activity: Activity,
    /// In milliseconds since 1970.
    pub since: u64,
}

impl Doing {
    /// Takes a reported activity. The same activity again does not restart its time.
    pub(crate) fn observe(&mut self, activity: Activity, at: u64) {
        if self.activity != activity {
            *self = Doing { activity, since: at };
        }
    }

    /// Takes the next event; `has_open_calls` says whether tools are running after it.
    pub(crate) fn apply(&mut self, event: &Event, at: u64, has_open_calls: bool) {
        match event {
            // An agent that is prepared starts now.
            Event::RunStarted { .. } | Event::PreparationEnded { .. } => {
                *self = Doing { activity: Activity::Starting, since: at };
            }
            // Of several calls, the latest is shown.
            Event::ToolCall { .. }
            | Event::PreparationStarted { .. }
            | Event::CheckStarted { .. } => *self = Doing { activity: Activity::Tool, since: at },
            Event::ToolResult { .. } if has_open_calls => {}
            Event::UserMessage { .. }
            | Event::AssistantMessage { .. }
            | Event::ToolResult { .. }
            | Event::ModelFallback { .. }
            | Event::CheckEnded { .. } => self.observe(Activity::Waiting, at),
            Event::RetryScheduled { .. } => self.observe(Activity::Retrying, at),
            // The state of the run says it, or the agent goes on with what it does.
            Event::Waiting { .. }
            | Event::MessageAccepted { .. }
            | Event::MessageDelivered { .. }
            | Event::MessageRefused { .. }
            | Event::QuestionAsked { .. }
            | Event::QuestionAnswered { .. }
            | Event::UsageReported { .. }
            | Event::Stderr { .. }
            | Event::UnreadableLine { .. }
            | Event::MessageLost { .. }
            | Event::TimeoutExtended
            | Event::AnswerChecked { .. }
            | Event::Stopping { .. }
            | Event::LogFull { .. }
            | Event::Warning { .. }
            | Event::ChangesKept { .. }
            | Event::RunEnded { .. }
            | Event::Unknown => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_change_the_activity_and_its_time() {
        let call = || Event::ToolCall { id: "1".into(), tool: "ls".into(), args: json!({}) };
        let result = || Event::ToolResult {
            id: "1".into(),
            tool: "ls".into(),
            is_error: false,
            text: String::new(),
            limit_reached: false,
        };
        let mut doing = Doing::default();
        for (at, event, has_open_calls, expected) in [
            (1, Event::RunStarted { pid: 1, agent: None }, false, (Activity::Starting, 1)),
            (2, Event::UserMessage { text: "go".into() }, false, (Activity::Waiting, 2)),
            (3, call(), true, (Activity::Tool, 3)),
            (4, call(), true, (Activity::Tool, 4)),
            (5, result(), true, (Activity::Tool, 4)),
            (6, result(), false, (Activity::Waiting, 6)),
            (7, Event::Stderr { text: "x".into() }, false, (Activity::Waiting, 6)),
        ] {
            doing.apply(&event, at, has_open_calls);
            assert_eq!((doing.activity, doing.since), expected, "{event:?}");
        }
        doing.observe(Activity::Thinking, 8);
        doing.observe(Activity::Thinking, 9);
        assert_eq!(doing, Doing { activity: Activity::Thinking, since: 8 });
    }
}
