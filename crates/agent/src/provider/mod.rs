//! Providers of models: a request goes out, the pieces of an answer come in.
//!
//! A provider that speaks a protocol of [`Api`] is an entry in `config/catalogue.json`. A new protocol
//! is a folder here, a variant of [`Api`], and a line in [`connect`].

mod anthropic;
mod demo;
mod failure;
#[cfg(test)]
mod fixtures;
mod history;
mod http;
mod limits;
mod openai;
#[cfg(test)]
mod pi_requests;
mod proxy;
mod repair;
mod retry_after;
mod script;
mod sse;
mod stream;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub use self::anthropic::Anthropic;
pub use self::http::Options;
pub use self::openai::OpenAi;
pub use self::script::Script;
pub use plan::ThinkingLevel;

use crate::cancel::Cancel;
use crate::config::{Model, Secret};
use crate::message::{Message, StopReason, ToolDeclaration, Usage};

/// The protocols in which models are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// `POST /chat/completions`, as OpenAI and many others have it.
    OpenAiCompletions,
    /// `POST /v1/messages`, as Anthropic has it.
    AnthropicMessages,
    /// A file of turns, without a network.
    Script,
}

impl Api {
    /// Those that the configuration of a provider can name.
    pub const CONFIGURABLE: [Api; 2] = [Api::OpenAiCompletions, Api::AnthropicMessages];

    /// The name in configuration and messages.
    pub fn name(self) -> &'static str {
        match self {
            Api::OpenAiCompletions => "openai-completions",
            Api::AnthropicMessages => "anthropic-messages",
            Api::Script => "script",
        }
    }
}

/// Prepares to ask a model. Nothing is sent yet. A script is looked for from `cwd`, and `cancel` ends
/// its pauses.
pub fn connect(
    model: Model,
    key: Option<Secret>,
    options: &Options,
    cwd: &Path,
    cancel: &Cancel,
) -> Result<Arc<dyn Provider>, ProviderError> {
    Ok(match model.api {
        Api::OpenAiCompletions => Arc::new(OpenAi::new(model, key, options)?),
        Api::AnthropicMessages => Arc::new(Anthropic::new(model, key, options)?),
        Api::Script => Arc::new(Script::load(&model.id, cwd, cancel.clone())?),
    })
}

/// Asks models for answers.
pub trait Provider: Send + Sync {
    /// Asks, and gives every piece of the answer to `sink` as it arrives, on the thread of the
    /// caller. The last piece of a complete answer is [`Piece::Ended`]; an answer that ends before
    /// is an error.
    fn stream(&self, request: &Request, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError>;

    /// Makes a [`Provider::stream`] on another thread, and every later one, fail.
    fn interrupt(&self) {}
}

/// A request for an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The whole system prompt; empty for none.
    pub system: String,
    /// The tools that the model may call.
    pub tools: Vec<ToolDeclaration>,
    /// The conversation, without system messages.
    pub messages: Vec<Arc<Message>>,
    /// Lowered or raised to a level that the model has.
    pub thinking: ThinkingLevel,
    /// The limit of the answer, if it is smaller than the model's own.
    pub max_tokens: Option<u64>,
}

/// A piece of an answer, in the order of the stream.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// The provider has begun to answer.
    Started {
        /// The provider's id of the answer.
        response_id: Option<String>,
    },
    /// More text, for the open block of text or for a new one.
    Text(String),
    /// More thinking, for the open block of thinking or for a new one.
    Thinking(String),
    /// The whole text that the provider wants back with the last block of thinking. It replaces an
    /// earlier one.
    ThinkingSignature(String),
    /// Thinking that the provider has encrypted.
    RedactedThinking(String),
    /// A tool call begins.
    ToolCall {
        /// Its number within the answer.
        index: u64,
        /// Results refer to it.
        id: String,
        /// Of the tool.
        name: String,
    },
    /// More of the arguments of a tool call.
    Arguments {
        /// The number of the call.
        index: u64,
        /// A part of a JSON text.
        json: String,
    },
    /// The last block is complete, and the next piece begins another one. Not every provider tells
    /// this. Without it, the answer has one block of text and one of thinking, which end with it.
    BlockEnded,
    /// The tokens so far.
    Usage(Usage),
    /// The answer is complete.
    Ended {
        /// In our own terms.
        reason: StopReason,
        /// The provider's own word.
        raw: Option<String>,
    },
}

/// A provider has failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// Without secrets.
    pub message: String,
    /// How to recover.
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
pub enum Remedy {
    /// Repeat the request.
    Retry {
        /// How long the provider asks us to wait.
        after: Option<Duration>,
    },
    /// The conversation is too long for the model: compact it.
    Compact,
    /// The error is final.
    None,
}
