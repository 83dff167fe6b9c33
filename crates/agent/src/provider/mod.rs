//! Providers of models: a request goes out, the pieces of an answer come in.
//!
//! A provider that speaks a protocol of [`Api`] is an entry in `config/providers.json`. A new protocol is a folder here
//! with an implementation of `Protocol` (`protocol.rs`), a variant of [`Api`], and a line in `HttpProvider::new`.

mod anthropic_messages;
mod azure;
mod demo;
mod failure;
mod google_generative_ai;
mod history;
mod http;
mod limits;
mod openai_completions;
mod openai_responses;
#[cfg(test)]
mod pi_requests_tests;
mod protocol;
mod proxy;
mod repair;
mod retry_after;
mod script;
mod sse;
mod stream;
#[cfg(test)]
mod testing;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub use self::http::Options;
pub use self::protocol::HttpProvider;
pub use self::retry_after::parse as read_retry_after;
pub(crate) use self::script::check_script;
pub(crate) use plan::ThinkingLevel;

use self::script::Script;
use crate::cancel::Cancel;
use crate::config::{Model, Secret};
use crate::message::{Message, StopReason, ToolDeclaration, Usage};

/// The protocols in which models are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// `POST /chat/completions`, as OpenAI and many others have it.
    OpenAiCompletions,
    /// `POST /responses`, as OpenAI and some others have it.
    OpenAiResponses,
    /// The same, at Azure.
    AzureOpenAiResponses,
    /// `POST /v1/messages`, as Anthropic has it.
    AnthropicMessages,
    /// `POST /models/MODEL:streamGenerateContent`, as Gemini has it.
    GoogleGenerativeAi,
    /// A file of turns, without a network.
    Script,
}

impl Api {
    /// Those that the configuration of a provider can name.
    pub(crate) const CONFIGURABLE: [Api; 5] = [
        Api::OpenAiCompletions,
        Api::OpenAiResponses,
        Api::AzureOpenAiResponses,
        Api::AnthropicMessages,
        Api::GoogleGenerativeAi,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Api::OpenAiCompletions => "openai-completions",
            Api::OpenAiResponses => "openai-responses",
            Api::AzureOpenAiResponses => "azure-openai-responses",
            Api::AnthropicMessages => "anthropic-messages",
            Api::GoogleGenerativeAi => "google-generative-ai",
            Api::Script => "script",
        }
    }
}

/// Prepares to ask a model. Nothing is sent yet. A script is looked for from `cwd`, and `cancel` ends
/// its pauses.
pub(crate) fn connect(
    model: Model,
    key: Option<Secret>,
    options: &Options,
    cwd: &Path,
    cancel: &Cancel,
) -> Result<Arc<dyn Provider>, ProviderError> {
    Ok(match model.api {
        Api::Script => Arc::new(Script::load(&model.id, cwd, cancel.clone())?),
        _ => Arc::new(HttpProvider::new(model, key, options)?),
    })
}

/// Asks models for answers.
pub(crate) trait Provider: Send + Sync {
    /// Asks, and gives every piece of the answer to `sink` as it arrives, on the thread of the
    /// caller. The last piece of a complete answer is [`Piece::Ended`]; an answer that ends before
    /// is an error.
    fn stream(&self, request: &Request, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError>;
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    /// The whole system prompt; empty for none.
    pub(crate) system: String,
    pub(crate) tools: Vec<ToolDeclaration>,
    /// The conversation, without system messages.
    pub(crate) messages: Vec<Arc<Message>>,
    /// Lowered or raised to a level that the model has.
    pub(crate) thinking: ThinkingLevel,
    /// The limit of the answer, if it is smaller than the model's own.
    pub(crate) max_tokens: Option<u64>,
}

/// A piece of an answer, in the order of the stream.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub enum Piece {
    /// The first piece, with the provider's id of the answer.
    Started { response_id: Option<String> },
    /// A block of text begins, even if nothing follows.
    TextStarted,
    /// A block of thinking begins, even if nothing follows.
    ThinkingStarted,
    /// More text, for the open block of text or for a new one.
    Text(String),
    /// More thinking, for the open block of thinking or for a new one.
    Thinking(String),
    /// The whole text that the provider wants back with the last block of thinking. It replaces an
    /// earlier one.
    ThinkingSignature(String),
    /// Thinking that the provider has encrypted.
    RedactedThinking(String),
    /// The beginning of a tool call; `index` is its number within the answer.
    ToolCall { index: u64, id: String, name: String },
    /// More of the arguments of a tool call: a part of a JSON text.
    Arguments { index: u64, json: String },
    /// What is certain of a block only later: its whole text (of a tool call, its arguments), which replaces its pieces,
    /// and what the provider wants back with it. `block` is its number within the answer.
    Block { block: usize, text: Option<String>, signature: Option<String> },
    /// The last block is complete, and the next piece begins another one. Not every provider tells
    /// this. Without it, the answer has one block of text and one of thinking, which end with it.
    BlockEnded,
    /// The tokens so far.
    Usage(Usage),
    /// The provider's own word for the reason why it ends, before an error.
    StopWord(String),
    /// The last piece of a complete answer; `raw` is the provider's own word for the reason.
    Ended { reason: StopReason, raw: Option<String> },
}

/// A provider has failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct ProviderError {
    /// Without secrets.
    pub message: String,
    pub remedy: Remedy,
}

impl ProviderError {
    /// The same request may well succeed later.
    pub(crate) fn temporary(message: impl Into<String>) -> ProviderError {
        ProviderError { message: message.into(), remedy: Remedy::Retry { after: None } }
    }

    /// The same request would fail again.
    pub(crate) fn permanent(message: impl Into<String>) -> ProviderError {
        ProviderError { message: message.into(), remedy: Remedy::None }
    }
}

/// How to recover from an error of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub enum Remedy {
    /// Repeat the request, perhaps after the time that the provider asks for.
    Retry { after: Option<Duration> },
    /// The conversation is too long for the model: compact it.
    Compact,
    /// The error is final.
    None,
}
