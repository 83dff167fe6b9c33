//! The protocol of Anthropic, `POST /v1/messages`.

mod request;
mod stream;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use self::stream::Events;
use super::Request;
use super::protocol::{Header, Protocol, no_body};
use super::stream::Decoder;
use crate::config::Model;

const VERSION: &str = "2023-06-01";

/// A model that is asked through the messages API.
#[derive(Debug)]
pub(super) struct AnthropicMessages {
    model: Model,
    session: Option<String>,
    /// Whether the key is the token of a subscription.
    is_bearer: bool,
}

impl AnthropicMessages {
    pub(super) fn new(model: Model, session: Option<String>, is_bearer: bool) -> AnthropicMessages {
        AnthropicMessages { model, session, is_bearer }
    }
}

impl Protocol for AnthropicMessages {
    /// The version belongs to the path, but users also write it into the base.
    fn url(&self) -> String {
        let base = self.model.base_url.trim_end_matches('/');
        format!("{}/v1/messages", base.strip_suffix("/v1").unwrap_or(base))
    }

    fn headers(&self, key: Option<&str>) -> Vec<Header> {
        let mut headers = vec![("anthropic-version".to_owned(), VERSION.to_owned())];
        headers.extend(key.map(|key| {
            if self.is_bearer {
                ("authorization".to_owned(), format!("Bearer {key}"))
            } else {
                ("x-api-key".to_owned(), key.to_owned())
            }
        }));
        let (model, compat) = (&self.model, &self.model.compat);
        let is_open_router =
            model.provider == "openrouter" || model.base_url.contains("openrouter.ai");
        if let Some(session) = &self.session
            && compat.send_session_affinity_headers.unwrap_or(is_open_router)
        {
            let usual = if is_open_router { "openrouter" } else { "" };
            let format = compat.session_affinity_format.as_deref().unwrap_or(usual);
            let is_known = format == "openrouter";
            let name = if is_known { "x-session-id" } else { "x-session-affinity" };
            headers.push((name.to_owned(), session.clone()));
        }
        headers
    }

    /// The header for features that are not yet part of the protocol. If the user has configured
    /// that header for a model, it stays.
    fn headers_of(&self, request: &Request) -> Vec<Header> {
        let name = "anthropic-beta";
        if self.model.headers.keys().any(|header| header.eq_ignore_ascii_case(name)) {
            return Vec::new();
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
        let header = (!betas.is_empty()).then(|| (name.to_owned(), betas.join(",")));
        header.into_iter().collect()
    }

    fn body(&self, request: &Request) -> Map<String, Value> {
        request::body(&self.model, request)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Events::new(self.model.rates))
    }

    /// The error as pi shows it, which is that of Anthropic's client library.
    fn words(&self, status: u16, body: &str) -> String {
        match serde_json::from_str::<Value>(body) {
            _ if body.trim().is_empty() => no_body(status),
            Ok(document) => match document["message"].as_str() {
                Some(message) => format!("{status} {message}"),
                None => format!("{status} {document}"),
            },
            Err(_) => format!("{status} {}", body.trim()),
        }
    }
}
