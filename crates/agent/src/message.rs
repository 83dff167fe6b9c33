//! Messages in pi's own shapes, as they stand in its stream and in its session files.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    /// The system prompt, and the tools that the model may call.
    System(SystemMessage),
    /// What the user asks for.
    User(UserMessage),
    /// What the model says.
    Assistant(AssistantMessage),
    /// What a tool answered.
    ToolResult(ToolResultMessage),
    /// What is left of the messages that were compacted.
    CompactionSummary(CompactionSummary),
}

impl Message {
    /// When it was said, in milliseconds since 1970.
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
    /// Always empty: the sections carry the prompt.
    pub content: String,
    /// The parts of the prompt by name, in their order.
    pub sections: Map<String, Value>,
    /// In milliseconds since 1970.
    pub timestamp: u64,
    /// The tools, as their declarations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools_added: Vec<ToolDeclaration>,
    /// Whether everything that an earlier one has said is void.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replace: bool,
}

/// A tool as the model is told about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDeclaration {
    /// What the model calls it.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON schema of its arguments.
    pub parameters: Value,
}

/// What the user asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Text and images.
    pub content: Vec<Content>,
    /// In milliseconds since 1970.
    pub timestamp: u64,
}

/// What the model says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    /// Text, thinking and tool calls, in the model's order.
    pub content: Vec<Content>,
    /// The protocol that was spoken.
    pub api: String,
    /// The provider that was asked.
    pub provider: String,
    /// The model that was asked for.
    pub model: String,
    /// What it cost.
    pub usage: Usage,
    /// Why it ended.
    pub stop_reason: StopReason,
    /// In milliseconds since 1970.
    pub timestamp: u64,
    /// The provider's name for this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// What went wrong, when something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Why it ended, in the provider's words.
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
    /// It has not.
    Pending,
    /// The model had nothing more to say.
    Stop,
    /// It was cut off at the limit of its length.
    Length,
    /// The model waits for the results of its tool calls.
    ToolUse,
    /// The provider failed.
    Error,
    /// Somebody stopped it.
    Aborted,
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultMessage {
    /// The call that it answers.
    pub tool_call_id: String,
    /// The tool.
    pub tool_name: String,
    /// Text and images for the model.
    pub content: Vec<Content>,
    /// What is of interest to views only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Whether the tool failed.
    pub is_error: bool,
    /// In milliseconds since 1970.
    pub timestamp: u64,
}

/// What is left of the messages that were compacted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSummary {
    /// The model's own summary.
    pub summary: String,
    /// How large the context was.
    pub tokens_before: u64,
    /// In milliseconds since 1970.
    pub timestamp: u64,
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Content {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A picture.
    Image {
        /// The file in base64.
        data: String,
        /// Such as `image/png`.
        mime_type: String,
    },
    /// What the model thought before it spoke.
    Thinking {
        /// The thoughts, empty where the provider hides them.
        thinking: String,
        /// What the provider wants to get back with them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thinking_signature: Option<String>,
        /// Whether the signature stands for thoughts that are hidden.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        redacted: bool,
    },
    /// A request to run a tool.
    ToolCall {
        /// The model's name for the call.
        id: String,
        /// The tool.
        name: String,
        /// Its arguments.
        arguments: Map<String, Value>,
    },
}

impl Content {
    /// Plain words.
    pub fn text(text: impl Into<String>) -> Content {
        Content::Text { text: text.into() }
    }
}

/// The words of a message, joined as they are.
pub fn text_of(content: &[Content]) -> String {
    let texts = content.iter().filter_map(|part| match part {
        Content::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// The tokens of one answer, and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens sent, without those from the cache.
    pub input: u64,
    /// Tokens received, thinking included.
    pub output: u64,
    /// Tokens sent that the provider had in its cache.
    pub cache_read: u64,
    /// Tokens that the provider put into its cache.
    pub cache_write: u64,
    /// The part of `output` that was thinking, where the provider says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    /// All of them.
    pub total_tokens: u64,
    /// In dollars.
    pub cost: Cost,
}

/// What an answer cost, in dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cost {
    /// For the tokens sent.
    pub input: f64,
    /// For the tokens received.
    pub output: f64,
    /// For reading from the cache.
    pub cache_read: f64,
    /// For writing to the cache.
    pub cache_write: f64,
    /// All of it.
    pub total: f64,
}
