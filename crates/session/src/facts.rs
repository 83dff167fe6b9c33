//! What is known about a run: a fold of its events.

use crate::text::cut_chars;
use model::{Activity, Event, Outcome, Record, Status, StopCause, StopReason, Usage};

/// What decides the outcome of a run, and what its result says. Its size does not grow with the
/// run.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Facts {
    /// When the child was started, in milliseconds since 1970.
    pub started_at: Option<u64>,
    /// In milliseconds since 1970.
    pub ended_at: Option<u64>,
    /// `None` while it runs.
    pub outcome: Option<Outcome>,
    /// `None` unless the run has failed.
    pub error: Option<String>,
    /// The child's exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The signal that killed the child, if one did.
    pub signal: Option<i32>,
    /// The cause that decides, if the run was stopped.
    pub stopping: Option<StopCause>,
    /// The model that answered last.
    pub model: Option<String>,
    /// Why the model stopped the last time.
    pub stop_reason: Option<StopReason>,
    /// The provider's error in the last message.
    pub provider_error: Option<String>,
    /// Whether a later message could not be read.
    pub message_lost: bool,
    pub assistant_messages: u64,
    /// The last text of the model.
    pub output: String,
    /// The sum over all messages.
    pub usage: Usage,
    pub tool_calls: u64,
    /// The last lines of the child's standard error.
    pub last_stderr: Vec<String>,
    /// What users should know although it does not decide the outcome.
    pub warnings: Vec<String>,
}

impl Facts {
    /// The reason for a failure is seldom in the last line alone.
    const STDERR_LINES: usize = 4;
    /// More warnings are dropped.
    const WARNINGS: usize = 20;

    /// The facts after all these events.
    pub fn replay(records: impl IntoIterator<Item = Record>) -> Facts {
        let mut facts = Facts::default();
        for record in records {
            facts.apply(&record);
        }
        facts
    }

    /// Takes the next event.
    pub fn apply(&mut self, record: &Record) {
        match &record.event {
            Event::RunStarted { .. } => self.started_at = Some(record.at),
            Event::AssistantMessage { text, model, stop_reason, error, usage } => {
                self.assistant_messages += 1;
                self.message_lost = false;
                self.usage += *usage;
                if model.is_some() {
                    self.model.clone_from(model);
                }
                self.stop_reason.clone_from(stop_reason);
                self.provider_error.clone_from(error);
                if !text.trim().is_empty() {
                    self.output.clone_from(text);
                }
            }
            Event::MessageLost { .. } => self.message_lost = true,
            Event::ToolCall { .. } => self.tool_calls += 1,
            Event::Stderr { text } => {
                if self.last_stderr.len() == Facts::STDERR_LINES {
                    self.last_stderr.remove(0);
                }
                self.last_stderr.push(cut_chars(text.trim(), 500).to_owned());
            }
            Event::Stopping { cause } => {
                // The first cause decides, except that stopping a child that had finished does not
                // hide a loop in its stream.
                let is_open = match self.stopping {
                    None => true,
                    Some(StopCause::LastWord | StopCause::Leftovers) => *cause == StopCause::Loop,
                    Some(_) => false,
                };
                if is_open {
                    self.stopping = Some(*cause);
                }
            }
            Event::LogFull { log } => {
                self.warn(format!("{log} is full; later entries were not kept"));
            }
            Event::Warning { message } => self.warn(message.clone()),
            Event::RunEnded { outcome, error, exit_code, signal } => {
                self.ended_at = Some(record.at);
                self.outcome = Some(*outcome);
                self.error.clone_from(error);
                self.exit_code = *exit_code;
                self.signal = *signal;
            }
            Event::UserMessage { .. }
            | Event::ToolResult { .. }
            | Event::RetryScheduled { .. }
            | Event::UnreadableLine { .. }
            | Event::TimeoutExtended
            | Event::Unknown => {}
        }
    }

    /// The status in the words of sessions.
    pub fn status(&self) -> Status {
        self.outcome.map_or(Status::Running, Outcome::status)
    }

    /// The activity of the run, as far as its events show it. A program that is connected to the
    /// supervisor knows it more precisely.
    pub fn activity(&self) -> Activity {
        match (self.started_at, self.outcome) {
            (_, Some(_)) => Activity::Done,
            (None, None) => Activity::Starting,
            (Some(_), None) => Activity::Waiting,
        }
    }

    fn warn(&mut self, message: String) {
        if self.warnings.len() < Facts::WARNINGS {
            self.warnings.push(message);
        }
    }
}
