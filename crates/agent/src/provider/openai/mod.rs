//! The protocol of OpenAI and many others, `POST /chat/completions`.

mod compat;
mod request;
mod stream;
#[cfg(test)]
mod tests;
mod thinking;

use std::io::Read;

use serde_json::Value;

use self::compat::{Affinity, Traits};
use self::stream::Chunks;
use super::http::Client;
use super::{Options, Piece, Provider, ProviderError, Request, stream as answers};
use crate::config::{Model, Secret};

/// A model that is asked through the chat completions API.
#[derive(Debug)]
pub struct OpenAi {
    model: Model,
    traits: Traits,
    session: Option<String>,
    client: Client,
}

impl OpenAi {
    /// Sends nothing yet.
    pub fn new(
        model: Model,
        key: Option<Secret>,
        options: &Options,
    ) -> Result<OpenAi, ProviderError> {
        let traits = Traits::of(&model);
        let mut headers = Vec::new();
        if let Some(key) = &key {
            headers.push(("authorization".to_owned(), format!("Bearer {}", key.reveal())));
        }
        if let Some(session) = &options.session {
            let names: &[&str] = match traits.affinity {
                Affinity::None => &[],
                Affinity::OpenRouter => &["x-session-id"],
                Affinity::OpenAi => &["session_id", "x-client-request-id", "x-session-affinity"],
                Affinity::Other => &["x-client-request-id", "x-session-affinity"],
            };
            headers.extend(names.iter().map(|name| ((*name).to_owned(), session.clone())));
        }
        let url = format!("{}/chat/completions", model.base_url.trim_end_matches('/'));
        let client = Client::new(url, key, headers, &model.headers, options)?;
        Ok(OpenAi { model, traits, session: options.session.clone(), client })
    }

    /// Reads an answer from anywhere, and gives its pieces to `sink`.
    pub fn read_answer(
        &self,
        answer: impl Read,
        sink: &mut dyn FnMut(Piece),
    ) -> Result<(), ProviderError> {
        let mut chunks = Chunks::new(self.model.rates, self.traits.finish_reason);
        answers::read(&self.client, answer, &mut chunks, sink)
    }
}

impl Provider for OpenAi {
    fn stream(&self, request: &Request, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError> {
        let body = request::body(&self.model, &self.traits, self.session.as_deref(), request);
        let body = body.to_string();
        let answer = self.client.post(&[], body.as_bytes(), refusal);
        let answer = answer.map_err(|error| self.with_known_silence(error))?;
        self.read_answer(answer, sink)
    }
}

impl OpenAi {
    /// Cerebras refuses a conversation that is too long with an empty answer.
    fn with_known_silence(&self, error: ProviderError) -> ProviderError {
        let is_silence = self.model.provider == "cerebras" && error.message == no_body(400);
        if is_silence { ProviderError { remedy: super::Remedy::Compact, ..error } } else { error }
    }
}

/// The error as pi shows it, which is that of OpenAI's client library.
fn refusal(status: u16, body: &str) -> String {
    let body = body.trim();
    if body.is_empty() {
        return no_body(status);
    }
    match serde_json::from_str::<Value>(body) {
        Ok(document) => match &document["error"] {
            Value::Null => format!("{status}: {document}"),
            Value::String(error) => format!("{status}: {error}"),
            error => format!("{status}: {error}"),
        },
        Err(_) => format!("{status} {body}"),
    }
}

fn no_body(status: u16) -> String {
    format!("{status} status code (no body)")
}

/// The error for an answer that does not follow the protocol.
fn malformed(what: &str) -> ProviderError {
    ProviderError::temporary(format!("Could not understand the provider: {what}"))
}
