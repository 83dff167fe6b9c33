//! The newer protocol of OpenAI, `POST /responses`. Nothing is stored at the provider: what a model has thought goes back to
//! it encrypted.

mod items;
mod request;
mod stream;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use self::stream::Events;
use super::protocol::{Header, Protocol, words_of_openai};
use super::stream::Decoder;
use super::{Api, Request, azure};
use crate::config::Model;

/// A model that is asked through the responses API.
#[derive(Debug)]
pub(super) struct OpenAiResponses {
    model: Model,
    session: Option<String>,
}

impl OpenAiResponses {
    pub(super) fn new(model: Model, session: Option<String>) -> OpenAiResponses {
        OpenAiResponses { model, session }
    }
}

impl Protocol for OpenAiResponses {
    fn url(&self) -> String {
        azure::url(&self.model, "responses")
    }

    fn headers(&self, key: Option<&str>) -> Vec<Header> {
        let model = &self.model;
        let mut headers: Vec<Header> =
            key.map(|key| azure::key_header(model, key)).into_iter().collect();
        if let (Some(session), Api::OpenAiResponses) = (&self.session, model.api) {
            let is_open_router =
                model.provider == "openrouter" || model.base_url.contains("openrouter.ai");
            let usual = if is_open_router { "openrouter" } else { "openai" };
            let format = model.compat.session_affinity_format.as_deref().unwrap_or(usual);
            let names: &[&str] = match format {
                "openrouter" => &["x-session-id"],
                "openai" => &["session_id", "x-client-request-id"],
                _ => &["x-client-request-id"],
            };
            headers.extend(names.iter().map(|name| ((*name).to_owned(), session.clone())));
        }
        headers
    }

    fn body(&self, request: &Request) -> Map<String, Value> {
        request::body(&self.model, self.session.as_deref(), request)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        // Azure has no tiers of service with other prices.
        let model = &self.model;
        let has_tiers = model.api == Api::OpenAiResponses;
        let priority = if model.id == "gpt-5.5" { 2.5 } else { 2.0 };
        Box::new(Events::new(model.rates, has_tiers.then_some(priority)))
    }

    fn words(&self, status: u16, body: &str) -> String {
        let name = match (self.model.api, self.model.provider.as_str()) {
            (Api::AzureOpenAiResponses, _) => "Azure OpenAI",
            (_, "openai") => "OpenAI",
            (_, provider) => provider,
        };
        words_of_openai(Some(&format!("{name} API error")), status, body)
    }
}
