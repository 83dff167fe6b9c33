//! What a door gets from the server: replies to calls, and events.

use std::time::Duration;

use model::Record;
use serde_json::Value;

use super::{AskedQuestion, QuestionId, RunningCall, Tool, ToolError};
use crate::{Notification, Retrieved};

/// Names an open call within its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpenCallId(pub(super) u64);

/// What comes of a call at once.
#[derive(Debug)]
pub enum CallReply {
    /// The answer.
    Answer(ToolAnswer),
    /// The answer comes with [`CallEvent::Over`].
    Pending(OpenCallId),
}

/// The answer to a call that runs no tasks.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ToolAnswer {
    pub tool: Tool,
    pub retrieved: Retrieved,
    /// How many lines of it are shown at first; all of them if absent.
    pub max_lines: Option<usize>,
}

impl ToolAnswer {
    /// The answer with warnings for the model.
    pub(super) fn with_warnings(mut self, warnings: &[String]) -> ToolAnswer {
        for warning in warnings {
            self.retrieved.text.push_str(&format!("\nWarning: {warning}"));
        }
        self
    }
}

/// A call that is over.
#[derive(Debug)]
pub enum FinishedCall {
    /// All its tasks have ended.
    Tasks(Box<RunningCall>),
    /// The session that it waited for has ended.
    Answer(Result<ToolAnswer, ToolError>),
}

/// What a door has to act upon. Tasks are named by their index in the call.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names of the fields say it")]
pub enum CallEvent {
    /// Something that the user should know. The same text comes only once.
    Warning(String),
    /// An event of a task's run, with its words for people if it has any.
    TaskEvent { call: OpenCallId, task: usize, record: Record, words: Option<String> },
    /// A task was started, or its agent does something else now.
    TaskChanged(OpenCallId),
    /// A task has a report.
    TaskEnded { call: OpenCallId, task: usize },
    /// It is time to report to the caller how a call stands.
    ReportDue(OpenCallId),
    /// The caller has waited so long that it must be answered now. Tasks go on.
    AnswerDue { call: OpenCallId, waited: Duration },
    /// [`super::CallServer::finish`] has the answer to a call.
    Over(OpenCallId),
    /// An entry for the log.
    LogEntry { kind: &'static str, data: Value },
    /// How many background runs there are, in words for the edge of the screen.
    Footer(Option<String>),
    /// An agent waits for an answer of the caller's user.
    QuestionAsked(Box<AskedQuestion>),
    /// It does not wait any more, whatever has answered.
    QuestionSettled(QuestionId),
    /// A background run has ended, of a caller that keeps a log.
    BackgroundEnded(Notification),
}
