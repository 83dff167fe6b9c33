//! The protocol of OpenAI and many others, `POST /chat/completions`.

mod compat;
mod request;
mod stream;
#[cfg(test)]
mod tests;
mod thinking;

use serde_json::{Map, Value};

use self::compat::{Affinity, Traits};
use self::stream::Chunks;
use super::failure::Refusal;
use super::protocol::{Header, Protocol, no_body, words_of_openai};
use super::stream::Decoder;
use super::{ProviderError, Remedy, Request, azure};
use crate::config::Model;

/// A model that is asked through the chat completions API.
#[derive(Debug)]
pub(super) struct OpenAiCompletions {
    model: Model,
    traits: Traits,
    session: Option<String>,
}

impl OpenAiCompletions {
    pub(super) fn new(model: Model, session: Option<String>) -> OpenAiCompletions {
        OpenAiCompletions { traits: Traits::of(&model), model, session }
    }
}

impl Protocol for OpenAiCompletions {
    fn url(&self) -> String {
        azure::url(&self.model, "chat/completions")
    }

    fn headers(&self, key: Option<&str>) -> Vec<Header> {
        let mut headers: Vec<Header> =
            key.map(|key| azure::key_header(&self.model, key)).into_iter().collect();
        if let Some(session) = &self.session {
            let names: &[&str] = match self.traits.affinity {
                Affinity::None => &[],
                Affinity::OpenRouter => &["x-session-id"],
                Affinity::OpenAi => &["session_id", "x-client-request-id", "x-session-affinity"],
                Affinity::Other => &["x-client-request-id", "x-session-affinity"],
            };
            headers.extend(names.iter().map(|name| ((*name).to_owned(), session.clone())));
        }
        headers
    }

    fn body(&self, request: &Request) -> Map<String, Value> {
        request::body(&self.model, &self.traits, self.session.as_deref(), request)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Chunks::new(self.model.rates, self.traits.finish_reason))
    }

    fn words(&self, status: u16, body: &str) -> String {
        words_of_openai(None, status, body)
    }

    /// Cerebras refuses a conversation that is too long with an empty answer.
    fn refused(&self, refusal: Refusal<'_>, status: u16, body: &str) -> ProviderError {
        let error = refusal.error(&self.words(status, body));
        let is_silence = self.model.provider == "cerebras" && error.message == no_body(400);
        if is_silence { ProviderError { remedy: Remedy::Compact, ..error } } else { error }
    }
}
