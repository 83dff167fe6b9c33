//! Messages in the format of pi's stream and session files.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    /// The system prompt and the tools.
    System(SystemMessage),
    /// A prompt.
    User(UserMessage),
    /// An answer of the model.
    Assistant(AssistantMessage),
    /// The result of a tool call.
    ToolResult(ToolResultMessage),
    /// Replaces the messages that were compacted.
    CompactionSummary(CompactionSummary),
}

impl Message {
    /// In milliseconds since 1970.
    pub fn timestamp(&self) -> u64 {
        match self {
            Message::System(message) => message.timestamp,
            Message::User(message) => message.timestamp,
            Message::Assistant(message) => message.timestamp,
            Message::ToolResult(message) => message.timestamp,
            Message::CompactionSummary(message) => message.timestamp,
        }
    }
}

/// The system prompt and the tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SystemMessage {
    /// Always empty: the sections have the prompt.
    pub content: String,
    /// The parts of the prompt by name, in their order.
    pub sections: Map<String, Value>,
    /// In milliseconds since 1970.
    pub timestamp: u64,
    /// All tools that the model may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools_added: Vec<ToolDeclaration>,
    /// Whether it replaces an earlier system message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replace: bool,
}

/// A tool as the model knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct ToolDeclaration {
    pub name: String,
    pub description: String,
    /// The JSON schema of its arguments.
    pub parameters: Value,
}

/// A prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Text and images.
    pub content: Vec<Content>,
    /// In milliseconds since 1970.
    pub timestamp: u64,
}

/// An answer of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct AssistantMessage {
    /// Text, thinking and tool calls, in the model's order.
    pub content: Vec<Content>,
    /// The name of the protocol.
    pub api: String,
    pub provider: String,
    /// The model that was asked for.
    pub model: String,
    pub usage: Usage,
    pub stop_reason: StopReason,
    /// In milliseconds since 1970.
    pub timestamp: u64,
    /// The provider's id of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The provider's own word for the stop reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_stop_reason: Option<String>,
}

impl AssistantMessage {
    /// Its text, without thinking and tool calls.
    pub fn text(&self) -> String {
        text_of(&self.content)
    }
}

/// Why an answer of the model ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// It has not ended yet.
    Pending,
    /// It is complete.
    Stop,
    /// It was cut off at the limit of its length.
    Length,
    /// The model waits for the results of its tool calls.
    ToolUse,
    /// The provider failed.
    Error,
    /// The agent was stopped.
    Aborted,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct ToolResultMessage {
    pub tool_call_id: String,
    pub tool_name: String,
    /// Text and images for the model.
    pub content: Vec<Content>,
    /// For views; the model does not get them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    pub is_error: bool,
    /// In milliseconds since 1970.
    pub timestamp: u64,
}

/// Replaces the messages that were compacted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSummary {
    /// The task, and the model's own summary.
    pub summary: String,
    /// The size of the conversation before.
    pub tokens_before: u64,
    /// In milliseconds since 1970.
    pub timestamp: u64,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "the names say the rest")]
pub enum Content {
    Text {
        text: String,
    },
    Image {
        /// In base64.
        data: String,
        /// Such as `image/png`.
        mime_type: String,
    },
    Thinking {
        /// Empty if the provider hides it.
        thinking: String,
        /// What the provider wants back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thinking_signature: Option<String>,
        /// Whether the signature is the encrypted thinking.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        redacted: bool,
    },
    ToolCall {
        /// Results refer to it.
        id: String,
        name: String,
        arguments: Map<String, Value>,
    },
}

impl Content {
    /// A part that is text.
    pub fn text(text: impl Into<String>) -> Content {
        Content::Text { text: text.into() }
    }
}

/// The text of a message: its text parts, joined.
pub fn text_of(content: &[Content]) -> String {
    let texts = content.iter().filter_map(|part| match part {
        Content::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// The tokens of one answer, and their cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Usage {
    /// Without those that the provider had in its cache.
    pub input: u64,
    /// With thinking.
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// The part of `output` that was thinking, if the provider tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    pub total_tokens: u64,
    pub cost: Cost,
}

/// The cost of one answer in dollars, by kinds of tokens as [`Usage`] has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say it")]
pub struct Cost {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
    pub total: f64,
}
