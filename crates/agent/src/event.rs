//! The records of pi's JSON mode, one line each, and the stream that carries them.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::message::{Content, Message, Usage};
use crate::tools::ToolOutput;

/// One record; pi's documentation of its stream describes them.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Event<'a> {
    Session {
        version: u32,
        id: &'a str,
        timestamp: &'a str,
        cwd: &'a str,
    },
    AgentStart,
    TurnStart,
    MessageStart {
        message: &'a Message,
    },
    MessageUpdate {
        usage: &'a Usage,
        assistant_message_event: Update<'a>,
    },
    MessageEnd {
        message: &'a Message,
    },
    ToolExecutionStart {
        tool_call_id: &'a str,
        tool_name: &'a str,
        args: &'a Map<String, Value>,
    },
    ToolExecutionUpdate {
        tool_call_id: &'a str,
        tool_name: &'a str,
        args: &'a Map<String, Value>,
        partial_result: &'a ToolOutput,
    },
    ToolExecutionEnd {
        tool_call_id: &'a str,
        tool_name: &'a str,
        result: &'a ToolOutput,
        is_error: bool,
    },
    TurnEnd {
        message: &'a Message,
        tool_results: &'a [&'a Message],
    },
    AgentEnd {
        messages: &'a [&'a Message],
        will_retry: bool,
    },
    AgentSettled,
    QueueUpdate {
        steering: &'a [&'a str],
        follow_up: &'a [&'a str],
    },
    AutoRetryStart {
        attempt: u32,
        max_attempts: u32,
        delay_ms: u64,
        error_message: &'a str,
    },
    AutoRetryEnd {
        success: bool,
        attempt: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        final_error: Option<&'a str>,
    },
    /// Our own record, which pi does not have.
    ModelFallback {
        from: &'a str,
        to: &'a str,
        reason: &'a str,
    },
    SummarizationRetryScheduled {
        attempt: u32,
        max_attempts: u32,
        delay_ms: u64,
        error_message: &'a str,
    },
    SummarizationRetryAttemptStart {
        source: &'a str,
        reason: CompactionReason,
    },
    SummarizationRetryFinished,
    CompactionStart {
        reason: CompactionReason,
    },
    CompactionEnd {
        reason: CompactionReason,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<CompactionResult<'a>>,
        aborted: bool,
        will_retry: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<&'a str>,
    },
}

/// What was added to the message that the model is writing.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Update<'a> {
    TextStart { content_index: usize },
    TextDelta { content_index: usize, delta: &'a str },
    TextEnd { content_index: usize, content: &'a str },
    ThinkingStart { content_index: usize },
    ThinkingDelta { content_index: usize, delta: &'a str },
    ThinkingEnd { content_index: usize, content: &'a str },
    ToolcallStart { content_index: usize, id: &'a str, tool_name: &'a str },
    ToolcallDelta { content_index: usize, delta: &'a str },
    ToolcallEnd { content_index: usize, tool_call: &'a Content },
}

/// Why the conversation is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CompactionReason {
    /// The conversation is nearly too long.
    Threshold,
    /// The provider refused the conversation for its length.
    Overflow,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CompactionResult<'a> {
    pub(crate) summary: &'a str,
    pub(crate) first_kept_entry_id: &'a str,
    pub(crate) tokens_before: u64,
    pub(crate) estimated_tokens_after: u64,
    pub(crate) usage: &'a Usage,
}

pub(crate) struct Stream<W> {
    /// `None` if only the answer is wanted.
    output: Option<W>,
    /// Why the output cannot be written any more. The agent stops then.
    broken: Option<io::Error>,
}

impl<W: Write> Stream<W> {
    pub(crate) fn new(output: Option<W>) -> Stream<W> {
        Stream { output, broken: None }
    }

    pub(crate) fn emit(&mut self, event: &Event<'_>) {
        self.write(event);
    }

    /// A record that is no event: an answer to a command.
    pub(crate) fn emit_value(&mut self, record: &Value) {
        self.write(record);
    }

    fn write(&mut self, record: &impl Serialize) {
        self.attempt(|output| {
            serde_json::to_writer(&mut *output, record)?;
            output.write_all(b"\n")
        });
    }

    /// Must be called before a pause.
    pub(crate) fn flush(&mut self) {
        self.attempt(Write::flush);
    }

    pub(crate) fn broken(&self) -> Option<&io::Error> {
        self.broken.as_ref()
    }

    fn attempt(&mut self, write: impl FnOnce(&mut W) -> io::Result<()>) {
        if let (Some(output), None) = (&mut self.output, &self.broken) {
            self.broken = write(output).err();
        }
    }
}
