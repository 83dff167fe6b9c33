//! The protocols, and what a client must do to be understood in them.

use serde_json::Value;

use super::completion::{self, Completion};
use super::content::{self, Content};
use super::message::{self, Message};
use super::reply::{Failure, Protocol, Reply};
use super::response::{self, Response};

/// Which of the protocols a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Api {
    Completions,
    Messages,
    Responses,
    Content,
}

impl Api {
    /// The protocol that is spoken at this path.
    pub(super) fn at(path: &str) -> Option<Api> {
        match path {
            "/v1/chat/completions" => Some(Api::Completions),
            "/v1/messages" => Some(Api::Messages),
            "/v1/responses" => Some(Api::Responses),
            path => content::method(path).map(|_| Api::Content),
        }
    }

    /// The model that a request names.
    pub(super) fn model<'request>(
        self,
        path: &'request str,
        body: &'request Value,
    ) -> Option<&'request str> {
        match self {
            Api::Completions | Api::Messages | Api::Responses => body["model"].as_str(),
            Api::Content => content::method(path).map(|(model, _)| model),
        }
    }

    /// Whether the answer to a request is streamed.
    pub(super) fn is_streamed(self, path: &str, body: &Value) -> bool {
        match self {
            Api::Completions | Api::Messages | Api::Responses => body["stream"] == true,
            Api::Content => content::method(path).is_some_and(|(_, is_streamed)| is_streamed),
        }
    }

    /// The field of a request that holds the conversation.
    pub(super) fn conversation_field(self) -> &'static str {
        match self {
            Api::Completions | Api::Messages => "messages",
            Api::Responses => "input",
            Api::Content => "contents",
        }
    }

    /// The conversation as messages of the completions API.
    pub(super) fn messages(self, body: &Value) -> Option<Vec<Value>> {
        let conversation = &body[self.conversation_field()];
        match self {
            Api::Completions => conversation.as_array().cloned(),
            Api::Messages => conversation.as_array().map(|it| message::with_tool_messages(it)),
            Api::Responses => response::as_messages(conversation),
            Api::Content => content::as_messages(conversation),
        }
    }

    /// An answer in the words of the protocol.
    pub(super) fn answer<'request>(self, reply: Reply<'request>) -> Box<dyn Protocol + 'request> {
        match self {
            Api::Completions => Box::new(Completion(reply)),
            Api::Messages => Box::new(Message(reply)),
            Api::Responses => Box::new(Response(reply)),
            Api::Content => Box::new(Content(reply)),
        }
    }

    /// An error in the form of the protocol.
    pub(super) fn error(self, failure: &Failure<'_>) -> String {
        match self {
            Api::Completions => completion::error(failure),
            Api::Messages => message::error(failure),
            Api::Responses => response::error(failure),
            Api::Content => content::error(failure),
        }
        .to_string()
    }
}
