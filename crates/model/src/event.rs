//! What happens in a run, in our own words, whichever agent ran.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AgentProcess, AnswerKind, AnsweredBy, Changes, LeftAnswer, Leftovers, MessageTiming, Outcome,
    Question, StopCause, StopReason, Usage, Waiting,
};

/// One numbered event: a line of `events.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Record {
    /// Counts from one. A gap means that events were dropped because the log was full.
    pub seq: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    #[serde(flatten)]
    pub event: Event,
}

/// Something that happened in a run and is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "the names say the rest")]
pub enum Event {
    /// The agent is not started yet, or not started again.
    Waiting { waiting: Waiting },
    /// The command that prepares the worktree was started, before the agent.
    PreparationStarted { command: String },
    /// The command that prepares the worktree has ended. If it failed, there is no agent.
    PreparationEnded {
        succeeded: bool,
        /// Why it failed, where its exit does not say: it ran too long, or was stopped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
        /// The end of what it printed, cut at [`Event::COMMAND_OUTPUT_BYTES`].
        output: String,
    },
    /// The child was started, under this process id as the supervisor sees it. It is started once more behind a
    /// [`Event::ModelFallback`], unless the agent changes its model by itself, and when a quota is over.
    RunStarted {
        pid: u32,
        /// Runs of earlier versions do not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<AgentProcess>,
    },
    /// The agent was told something: its prompt, and what was said to it later.
    UserMessage { text: String },
    /// A message to the running agent was accepted. It is delivered or refused later. Messages are
    /// numbered in the order in which they are accepted.
    MessageAccepted {
        number: u64,
        text: String,
        #[serde(default)]
        timing: MessageTiming,
    },
    /// The agent has read the message, and its model has begun to answer.
    MessageDelivered { number: u64 },
    /// The agent has not got the message, and never will. The reason is cut at
    /// [`Event::REASON_BYTES`].
    MessageRefused { number: u64, reason: String },
    /// The agent asks something, and waits. Questions are numbered in their order.
    QuestionAsked { number: u64, question: Question },
    /// A question has its answer. There is one for each question.
    QuestionAnswered {
        number: u64,
        answer: AnswerKind,
        /// The words of the answer, or the reason for it. Cut at [`Event::ANSWER_BYTES`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        by: AnsweredBy,
        /// The name of the MCP client in which the user has answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client: Option<String>,
    },
    /// The model finished a message.
    AssistantMessage {
        /// Empty if it only called tools.
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// Why the model stopped, where the agent says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop_reason: Option<StopReason>,
        /// What the provider complained about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        #[serde(default)]
        usage: Usage,
    },
    /// The agent told what it has used besides what its messages have told.
    UsageReported { usage: Usage },
    /// The agent started a tool. The id ties the result to the call.
    ToolCall { id: String, tool: String, args: Value },
    /// A tool finished.
    ToolResult {
        /// Of the call that it answers.
        id: String,
        tool: String,
        is_error: bool,
        /// Cut at [`Event::TOOL_RESULT_BYTES`].
        text: String,
        /// Whether the tool itself says that there was more.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        limit_reached: bool,
    },
    /// The provider failed and the agent will try again.
    RetryScheduled { attempt: u64, max_attempts: u64, delay_ms: u64, error: String },
    /// A model failed for good, and the agent continues the same conversation with another one.
    ModelFallback {
        from: String,
        to: String,
        /// What the provider of the first model complained about.
        reason: String,
    },
    /// The child wrote a line to its standard error, which is cut at [`Event::LINE_BYTES`].
    Stderr { text: String },
    /// The child printed a line that is not a record. Of its `bytes`, the text is the beginning, cut
    /// at [`Event::LINE_BYTES`].
    UnreadableLine { bytes: u64, text: String },
    /// A message of the model was there, but could not be read: too long, torn or broken. The text
    /// is the beginning of its record, cut at [`Event::LINE_BYTES`].
    MessageLost { bytes: u64, text: String },
    /// The time was up, but a tool was active shortly before.
    TimeoutExtended,
    /// The answer was compared with its schema. The problem is absent if it fits.
    AnswerChecked {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// The agent has said its last word, and the check of its work was started.
    CheckStarted { command: String },
    /// The check of the agent's work has ended.
    CheckEnded {
        passed: bool,
        /// Why it did not pass, where its exit does not say: it ran too long, or was never started.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
        /// The end of what it printed, cut at [`Event::COMMAND_OUTPUT_BYTES`].
        output: String,
    },
    /// The supervisor began to stop what was left of the tree.
    Stopping {
        cause: StopCause,
        /// What the rule saw, where its cause alone does not say it. Cut at [`Event::LINE_BYTES`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seen: Option<String>,
    },
    /// From here on a log, given by the name of its file, takes no more, except for the terminal
    /// event.
    LogFull { log: String },
    /// Something that people should know although it does not decide the outcome, in a sentence.
    Warning { message: String },
    /// What the agent left in its worktree was kept, or could not be, as it says.
    ChangesKept {
        #[serde(flatten)]
        changes: Changes,
    },
    /// The run has ended, and nothing of it is left but its leftovers. Always the last event, and there
    /// is only one.
    RunEnded {
        outcome: Outcome,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// The child's exit code, if it exited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// The signal that killed the child, if one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        leftovers: Option<Leftovers>,
    },
    /// An event of a newer version, which this one passes over.
    #[serde(other)]
    Unknown,
}

impl Event {
    /// The longest text of a tool result that is kept.
    pub const TOOL_RESULT_BYTES: usize = 64 * 1024;
    /// The longest end of the output of a check or a preparation that is kept in an event. A log has more.
    pub const COMMAND_OUTPUT_BYTES: usize = 16 * 1024;
    /// The longest line of plain text that is kept.
    pub const LINE_BYTES: usize = 4 * 1024;
    /// The longest reason for refusing a message. All messages of a run can be refused after its log
    /// is full.
    pub const REASON_BYTES: usize = 256;
    /// The longest answer to a question that is kept. All questions that wait can be answered after the
    /// log is full.
    pub const ANSWER_BYTES: usize = 1024;

    /// Whether it is kept even if the log is full: a program waits for it.
    pub fn is_awaited(&self) -> bool {
        matches!(
            self,
            Event::RunEnded { .. }
                | Event::ChangesKept { .. }
                | Event::MessageDelivered { .. }
                | Event::MessageRefused { .. }
                | Event::QuestionAnswered { .. }
        )
    }

    /// Changes every text that came from the child.
    pub fn for_each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        match self {
            Event::UserMessage { text }
            | Event::MessageAccepted { text, .. }
            | Event::MessageRefused { reason: text, .. }
            | Event::Stderr { text }
            | Event::UnreadableLine { text, .. }
            | Event::MessageLost { text, .. }
            | Event::Warning { message: text }
            | Event::LogFull { log: text }
            | Event::CheckStarted { command: text }
            | Event::PreparationStarted { command: text }
            | Event::RetryScheduled { error: text, .. } => change(text),
            Event::AnswerChecked { problem } => problem.iter_mut().for_each(change),
            Event::CheckEnded { problem, output, .. }
            | Event::PreparationEnded { problem, output, .. } => {
                problem.iter_mut().chain([output]).for_each(change);
            }
            Event::AssistantMessage { text, model, stop_reason, error, .. } => {
                change(text);
                if let Some(StopReason::Other(word)) = stop_reason {
                    change(word);
                }
                model.iter_mut().chain(error).for_each(change);
            }
            Event::ToolCall { id, tool, args } => {
                change(id);
                change(tool);
                for_each_text(args, change);
            }
            Event::ToolResult { id, tool, text, .. } => {
                [id, tool, text].into_iter().for_each(change);
            }
            Event::ModelFallback { from, to, reason } => {
                [from, to, reason].into_iter().for_each(change);
            }
            Event::QuestionAsked { question, .. } => question.for_each_text(change),
            Event::QuestionAnswered { text, client, .. } => {
                text.iter_mut().chain(client).for_each(change);
            }
            Event::ChangesKept { changes } => changes.problem.iter_mut().for_each(change),
            Event::RunEnded { error: text, .. } | Event::Stopping { seen: text, .. } => {
                text.iter_mut().for_each(change);
            }
            Event::Waiting { waiting } => waiting.reason.for_each_text(change),
            Event::RunStarted { .. }
            | Event::MessageDelivered { .. }
            | Event::UsageReported { .. }
            | Event::TimeoutExtended
            | Event::Unknown => {}
        }
    }

    /// The event with its texts cut to what is kept of them. What the model says is kept whole.
    #[must_use]
    pub fn bounded(mut self) -> Event {
        let line = |text: &mut String| cut(text, Event::LINE_BYTES);
        match &mut self {
            Event::AssistantMessage { model, stop_reason, error, .. } => {
                if let Some(StopReason::Other(word)) = stop_reason {
                    line(word);
                }
                model.iter_mut().chain(error).for_each(line);
            }
            Event::ToolResult { text, .. } => cut(text, Event::TOOL_RESULT_BYTES),
            Event::RetryScheduled { error, .. } => line(error),
            Event::ModelFallback { from, to, reason } => {
                [from, to, reason].into_iter().for_each(line);
            }
            Event::Stderr { text }
            | Event::UnreadableLine { text, .. }
            | Event::MessageLost { text, .. }
            | Event::CheckStarted { command: text }
            | Event::PreparationStarted { command: text }
            | Event::Warning { message: text } => line(text),
            Event::AnswerChecked { problem } => problem.iter_mut().for_each(line),
            Event::CheckEnded { problem, output, .. }
            | Event::PreparationEnded { problem, output, .. } => {
                problem.iter_mut().for_each(line);
                cut_beginning(output, Event::COMMAND_OUTPUT_BYTES);
            }
            Event::MessageRefused { reason, .. } => cut(reason, Event::REASON_BYTES),
            Event::QuestionAsked { question, .. } => {
                cut(&mut question.text, Question::TEXT_BYTES);
                question.options.truncate(Question::OPTIONS);
                let short = |text: &mut String| cut(text, Question::OPTION_BYTES);
                question.tool.iter_mut().chain(&mut question.options).for_each(short);
            }
            Event::QuestionAnswered { text, client, .. } => {
                text.iter_mut().for_each(|text| cut(text, Event::ANSWER_BYTES));
                client.iter_mut().for_each(|client| cut(client, LeftAnswer::CLIENT_BYTES));
            }
            Event::ChangesKept { changes } => changes.problem.iter_mut().for_each(line),
            Event::Waiting { waiting } => waiting.reason.for_each_text(&mut |text| line(text)),
            Event::RunEnded { error: text, .. } | Event::Stopping { seen: text, .. } => {
                text.iter_mut().for_each(line);
            }
            _ => {}
        }
        self
    }
}

/// Changes every text in a value, also the names of fields.
pub fn for_each_text(value: &mut Value, change: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(values) => values.iter_mut().for_each(|value| for_each_text(value, change)),
        Value::Object(fields) => {
            for (mut name, mut value) in std::mem::take(fields) {
                change(&mut name);
                for_each_text(&mut value, change);
                fields.insert(name, value);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn cut(text: &mut String, bytes: usize) {
    text.truncate(text.floor_char_boundary(bytes));
}

fn cut_beginning(text: &mut String, bytes: usize) {
    let from = text.ceil_char_boundary(text.len().saturating_sub(bytes));
    text.drain(..from);
}

/// What the child is doing now. Never stored: it is only worth knowing while it is true.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Activity {
    /// It has not said anything yet.
    #[default]
    Starting,
    /// The model was asked and has not begun to answer.
    Waiting,
    Thinking,
    Writing,
    /// The model is writing the arguments of a tool call.
    Calling,
    Tool,
    /// The provider failed; the agent waits before it tries again.
    Retrying,
    /// The agent said its last word.
    Done,
}

impl Activity {
    /// The word for the activity, the same in JSON and on the screen.
    pub fn word(self) -> &'static str {
        match self {
            Activity::Starting => "starting",
            Activity::Waiting => "waiting",
            Activity::Thinking => "thinking",
            Activity::Writing => "writing",
            Activity::Calling => "calling",
            Activity::Tool => "tool",
            Activity::Retrying => "retrying",
            Activity::Done => "done",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cost;

    #[test]
    fn a_record_is_one_flat_object() {
        let record = Record {
            seq: 3,
            at: 17,
            event: Event::ToolCall {
                id: "c1".into(),
                tool: "ls".into(),
                args: serde_json::json!({"path": "."}),
            },
        };
        let line = serde_json::to_string(&record).unwrap();
        assert_eq!(
            line,
            r#"{"seq":3,"at":17,"type":"tool_call","id":"c1","tool":"ls","args":{"path":"."}}"#
        );
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record);
    }

    #[test]
    fn a_cost_is_read_back_to_its_last_digit() {
        let cost = Cost { total: 3.750_000_000_000_000_3e-5, ..Cost::default() };
        let event = Event::AssistantMessage {
            text: String::new(),
            model: None,
            stop_reason: None,
            error: None,
            usage: Usage { cost: Some(cost), ..Usage::default() },
        };
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event);
    }

    #[test]
    fn an_event_of_a_newer_version_is_passed_over() {
        let line = r#"{"seq":3,"at":17,"type":"teleported","to":"mars"}"#;
        assert_eq!(serde_json::from_str::<Record>(line).unwrap().event, Event::Unknown);
    }
}
