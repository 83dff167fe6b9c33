//! The protocol of Anthropic, `POST /v1/messages`.

mod request;
mod stream;
#[cfg(test)]
mod tests;

use std::io::Read;

use serde_json::Value;

use self::stream::Events;
use super::http::Client;
use super::{Options, Piece, Provider, ProviderError, Request, stream as answers};
use crate::config::{Model, Secret};

const VERSION: &str = "2023-06-01";

/// A model that is asked through the messages API.
#[derive(Debug)]
pub struct Anthropic {
    model: Model,
    is_bearer: bool,
    client: Client,
}

impl Anthropic {
    /// Sends nothing yet.
    pub fn new(
        model: Model,
        key: Option<Secret>,
        options: &Options,
    ) -> Result<Anthropic, ProviderError> {
        // Only their beginning distinguishes the tokens of subscriptions from keys.
        let is_bearer = key.as_ref().is_some_and(|key| key.reveal().contains("sk-ant-oat"));
        let mut headers = vec![("anthropic-version".to_owned(), VERSION.to_owned())];
        if let Some(key) = &key {
            headers.push(if is_bearer {
                ("authorization".to_owned(), format!("Bearer {}", key.reveal()))
            } else {
                ("x-api-key".to_owned(), key.reveal().to_owned())
            });
        }
        let compat = &model.compat;
        let is_open_router =
            model.provider == "openrouter" || model.base_url.contains("openrouter.ai");
        if let Some(session) = &options.session
            && compat.send_session_affinity_headers.unwrap_or(is_open_router)
        {
            let usual = if is_open_router { "openrouter" } else { "" };
            let format = compat.session_affinity_format.as_deref().unwrap_or(usual);
            let is_known = format == "openrouter";
            let name = if is_known { "x-session-id" } else { "x-session-affinity" };
            headers.push((name.to_owned(), session.clone()));
        }
        let client = Client::new(url(&model.base_url), key, headers, &model.headers, options)?;
        Ok(Anthropic { model, is_bearer, client })
    }

    /// Reads an answer from anywhere, and gives its pieces to `sink`.
    pub fn read_answer(
        &self,
        answer: impl Read,
        sink: &mut dyn FnMut(Piece),
    ) -> Result<(), ProviderError> {
        answers::read(&self.client, answer, &mut Events::new(self.model.rates), sink)
    }

    /// The header for features that are not yet part of the protocol. If the user has configured
    /// that header for a model, it stays.
    fn betas(&self, request: &Request) -> Option<(String, String)> {
        let name = "anthropic-beta";
        if self.model.headers.keys().any(|header| header.eq_ignore_ascii_case(name)) {
            return None;
        }
        let mut betas = Vec::new();
        if self.is_bearer {
            betas.push("oauth-2025-04-20");
        }
        if !request.tools.is_empty() && !request::streams_input_eagerly(&self.model) {
            betas.push("fine-grained-tool-streaming-2025-05-14");
        }
        if request::has_budget(&self.model, request) {
            betas.push("interleaved-thinking-2025-05-14");
        }
        (!betas.is_empty()).then(|| (name.to_owned(), betas.join(",")))
    }
}

impl Provider for Anthropic {
    fn stream(&self, request: &Request, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError> {
        let body = request::body(&self.model, request).to_string();
        let betas = self.betas(request);
        let answer = self.client.post(betas.as_slice(), body.as_bytes(), refusal)?;
        self.read_answer(answer, sink)
    }
}

/// The address of the API. Its version belongs to the path, but users also write it into the base.
fn url(base: &str) -> String {
    let base = base.trim_end_matches('/');
    format!("{}/v1/messages", base.strip_suffix("/v1").unwrap_or(base))
}

/// The error as pi shows it, which is that of Anthropic's client library.
fn refusal(status: u16, body: &str) -> String {
    match serde_json::from_str::<Value>(body) {
        _ if body.trim().is_empty() => format!("{status} status code (no body)"),
        Ok(document) => match document["message"].as_str() {
            Some(message) => format!("{status} {message}"),
            None => format!("{status} {document}"),
        },
        Err(_) => format!("{status} {}", body.trim()),
    }
}
