//! The protocol of Gemini, `POST /models/MODEL:streamGenerateContent`.

mod request;
mod stream;
#[cfg(test)]
mod tests;
mod thinking;

use std::time::Duration;

use serde_json::{Map, Value, json};

use self::stream::Chunks;
use super::failure::Refusal;
use super::protocol::{Header, Protocol};
use super::stream::Decoder;
use super::{ProviderError, Remedy, Request};
use crate::config::Model;

/// A model that is asked through the API of Gemini.
#[derive(Debug)]
pub(super) struct GoogleGenerativeAi {
    model: Model,
}

impl GoogleGenerativeAi {
    pub(super) fn new(model: Model) -> GoogleGenerativeAi {
        GoogleGenerativeAi { model }
    }
}

impl Protocol for GoogleGenerativeAi {
    /// The key could also be a part of the address, where logs and messages would show it.
    fn url(&self) -> String {
        let base = self.model.base_url.trim_end_matches('/');
        let id = self.model.id.trim_start_matches("models/");
        format!("{base}/models/{id}:streamGenerateContent?alt=sse")
    }

    fn headers(&self, key: Option<&str>) -> Vec<Header> {
        let header = key.map(|key| ("x-goog-api-key".to_owned(), key.to_owned()));
        header.into_iter().collect()
    }

    fn body(&self, request: &Request) -> Map<String, Value> {
        request::body(&self.model, request)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Chunks::new(self.model.rates))
    }

    /// The error as pi shows it, which is that of Google's client library.
    fn words(&self, status: u16, body: &str) -> String {
        match serde_json::from_str::<Value>(body) {
            Ok(document) => document.to_string(),
            Err(_) => {
                let error = json!({"message": body.trim(), "code": status, "status": ""});
                json!({ "error": error }).to_string()
            }
        }
    }

    /// Google says in the body when to ask again. It also says "quota" and "billing" where only the requests of a minute
    /// are used up; those of a day do not come back soon, whatever it says.
    fn refused(&self, refusal: Refusal<'_>, status: u16, body: &str) -> ProviderError {
        let document: Value = serde_json::from_str(body).unwrap_or_default();
        let details = || document["error"]["details"].as_array().into_iter().flatten();
        let delay = details().find_map(|detail| seconds(detail["retryDelay"].as_str()?));
        let mut violations =
            details().flat_map(|detail| detail["violations"].as_array().into_iter().flatten());
        let is_of_day =
            violations.any(|it| it["quotaId"].as_str().is_some_and(|id| id.contains("PerDay")));
        let message = self.words(status, body);
        match delay {
            _ if is_of_day => ProviderError { message, remedy: Remedy::None },
            Some(_) if status == 429 => {
                let after = refusal.after.or(delay);
                ProviderError { message, remedy: Remedy::Retry { after } }
            }
            _ => Refusal { after: refusal.after.or(delay), ..refusal }.error(&message),
        }
    }
}

/// A duration such as `34.07s`.
fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.strip_suffix('s')?.parse().ok()?).ok()
}
