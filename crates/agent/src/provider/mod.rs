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
    /// Asks, and hands every piece of the answer to `sink` as it arrives, on the thread of the
    /// caller. The last piece of a whole answer is [`Piece::Ended`]; an answer that stops before
    /// it is an error.
    fn stream(&self, request: &Request, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError>;

    /// Makes a [`Provider::stream`] on another thread, and every later one, end with an error.
    fn interrupt(&self) {}
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The whole system prompt; empty for none.
    pub system: String,
    /// The tools that the model may call.
    pub tools: Vec<ToolDeclaration>,
    /// The conversation, without system messages.
    pub messages: Vec<Arc<Message>>,
    /// How much the model should think.
    pub thinking: ThinkingLevel,
    /// The largest answer that is wanted, where it should be smaller than the model's own limit.
    pub max_tokens: Option<u64>,
}

/// A piece of an answer, in the order of the stream.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// The provider has begun to answer.
    Started {
        /// Its name for this answer.
        response_id: Option<String>,
    },
    /// More words. They belong to the open block of text, or open one.
    Text(String),
    /// More thoughts, likewise.
    Thinking(String),
    /// What the provider wants to get back with the thoughts before it, all of it. It belongs to
    /// the last block of thinking, even if others follow that, and takes the place of an earlier
    /// one.
    ThinkingSignature(String),
    /// Thoughts that the provider hides; this stands for them.
    RedactedThinking(String),
    /// A tool call begins.
    ToolCall {
        /// What tells it from the other calls of this answer.
        index: u64,
        /// The model's name for it.
        id: String,
        /// The tool.
        name: String,
    },
    /// More of the arguments of a tool call, as JSON text.
    Arguments {
        /// Which call.
        index: u64,
        /// The text.
        json: String,
    },
    /// The block that was opened last is whole, and what follows opens another one. Not every
    /// provider says this; where it is not said, there is one block of text and one of thinking,
    /// and all blocks end with the answer.
    BlockEnded,
    /// The tokens so far.
    Usage(Usage),
    /// The answer is whole.
    Ended {
        /// Why it ended.
        reason: StopReason,
        /// In the provider's words.
        raw: Option<String>,
    },
}

/// A provider did not answer as it should.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// What happened, without any secret.
    pub message: String,
    /// What can be done about it.
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

/// What can be done about an error of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Asking again, perhaps not before this time has passed.
    Retry {
        /// What the provider asks for.
        after: Option<Duration>,
    },
    /// Sending less: the conversation is too long for the model.
    Compact,
    /// Nothing that we could do.
    None,
}
