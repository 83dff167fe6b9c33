//! What a protocol is: a folder beside this file, with the request (`request.rs`), the answer (`stream.rs`), and
//! everything that surrounds them (`mod.rs`), as an implementation of [`Protocol`].

use std::fmt::Debug;
use std::io::Read;

use serde_json::{Map, Value};

use super::anthropic_messages::AnthropicMessages;
use super::failure::Refusal;
use super::google_generative_ai::GoogleGenerativeAi;
use super::http::Client;
use super::openai_completions::OpenAiCompletions;
use super::openai_responses::OpenAiResponses;
use super::stream::{self, Decoder};
use super::{Api, Options, Piece, Provider, ProviderError, Request, failure};
use crate::config::{Model, Secret};

/// A header of a request. Names and values can be computed.
pub(super) type Header = (String, String);

/// How the models of an API are asked over HTTP.
pub(super) trait Protocol: Debug + Send + Sync {
    /// The address of all requests. It never has a key.
    fn url(&self) -> String;

    /// The headers of all requests, with the key.
    fn headers(&self, key: Option<&str>) -> Vec<Header>;

    /// The headers that only this request needs.
    fn headers_of(&self, _request: &Request) -> Vec<Header> {
        Vec::new()
    }

    fn body(&self, request: &Request) -> Map<String, Value>;

    /// Reads one answer.
    fn decoder(&self) -> Box<dyn Decoder>;

    /// The words for an answer with a status that is no success.
    fn words(&self, status: u16, body: &str) -> String;

    /// The error for such an answer; for providers that tell more about it than its status and its words.
    fn refused(&self, refusal: Refusal<'_>, status: u16, body: &str) -> ProviderError {
        refusal.error(&self.words(status, body))
    }
}

/// A model that is asked over HTTP.
#[derive(Debug)]
pub struct HttpProvider {
    protocol: Box<dyn Protocol>,
    client: Client,
    sampling: Map<String, Value>,
}

impl HttpProvider {
    /// Sends nothing yet.
    pub fn new(
        model: Model,
        key: Option<Secret>,
        options: &Options,
    ) -> Result<HttpProvider, ProviderError> {
        let name = model.provider.clone();
        let (headers, sampling) = (model.headers.clone(), model.sampling.clone());
        let session = options.session.clone();
        let protocol: Box<dyn Protocol> = match model.api {
            Api::OpenAiCompletions => Box::new(OpenAiCompletions::new(model, session)),
            Api::OpenAiResponses | Api::AzureOpenAiResponses => {
                Box::new(OpenAiResponses::new(model, session))
            }
            Api::AnthropicMessages => Box::new(AnthropicMessages::new(
                model,
                session,
                // Only their beginning distinguishes the tokens of subscriptions from keys.
                key.as_ref().is_some_and(|key| key.reveal().contains("sk-ant-oat")),
            )),
            Api::GoogleGenerativeAi => Box::new(GoogleGenerativeAi::new(model)),
            Api::Script => return Err(ProviderError::permanent("A script is not asked over HTTP")),
        };
        let of_protocol = protocol.headers(key.as_ref().map(Secret::reveal));
        let client = Client::new(&name, protocol.url(), key, of_protocol, &headers, options)?;
        Ok(HttpProvider { protocol, client, sampling })
    }

    /// The user's own fields come last, so that they win.
    fn body(&self, request: &Request) -> Value {
        let mut body = self.protocol.body(request);
        body.extend(self.sampling.clone());
        Value::Object(body)
    }

    /// Reads an answer from anywhere, and gives its pieces to `sink`.
    pub fn read_answer(
        &self,
        answer: impl Read,
        sink: &mut dyn FnMut(Piece),
    ) -> Result<(), ProviderError> {
        stream::read(&self.client, answer, &mut *self.protocol.decoder(), sink)
    }
}

impl Provider for HttpProvider {
    fn stream(&self, request: &Request, sink: &mut dyn FnMut(Piece)) -> Result<(), ProviderError> {
        let body = self.body(request).to_string();
        let headers = self.protocol.headers_of(request);
        let (answer, _under_way) = self.client.post(&headers, body.as_bytes(), &*self.protocol)?;
        self.read_answer(answer, sink)
    }
}

/// The words of OpenAI's client library, as pi shows them, for an answer that is no success. pi puts the name of the
/// provider in front of some.
pub(super) fn words_of_openai(prefix: Option<&str>, status: u16, body: &str) -> String {
    let body = body.trim();
    let (is_reason, words) = match serde_json::from_str::<Value>(body) {
        _ if body.is_empty() => (false, no_body(status)),
        Ok(document) => match &document["error"] {
            Value::Null => (true, document.to_string()),
            Value::String(error) => (true, error.clone()),
            error => (true, error.to_string()),
        },
        Err(_) => (false, format!("{status} {body}")),
    };
    match (prefix, is_reason) {
        (Some(prefix), _) => format!("{prefix} ({status}): {words}"),
        (None, true) => format!("{status}: {words}"),
        (None, false) => words,
    }
}

/// The words for an answer without a body.
pub(super) fn no_body(status: u16) -> String {
    format!("{status} status code (no body)")
}

/// The error for an answer that does not follow its protocol.
pub(super) fn malformed(what: &str) -> ProviderError {
    ProviderError::temporary(format!("Could not understand the provider: {what}"))
}

/// The JSON of an event, or `None` for an event that has nothing to say. Data that is no JSON is an error: that of the
/// provider, if the event is called so.
pub(super) fn parse_event(event: &super::sse::Event) -> Result<Option<Value>, ProviderError> {
    let data = event.data.trim();
    if data.is_empty() || data.starts_with("[DONE]") {
        return Ok(None);
    }
    match super::repair::parse::<Value>(data) {
        Ok(value) => Ok(Some(value)),
        Err(_) if event.name == "error" => Err(failure::in_stream(data)),
        // Not shortened: the client first removes keys, and would not recognise half of one.
        Err(error) => Err(malformed(&format!("{error} in {data}"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::provider::testing::{model, options, request, user};

    #[test]
    fn sampling_comes_last_and_wins() {
        for api in Api::CONFIGURABLE {
            let mut model = Model { api, ..model() };
            let sampling = json!({"temperature": 0.1, "model": "mine", "contents": []});
            model.sampling = sampling.as_object().cloned().unwrap();
            let provider = HttpProvider::new(model, None, &options()).unwrap();
            let body = provider.body(&request(vec![user("x")]));
            assert_eq!((&body["temperature"], &body["model"]), (&json!(0.1), &json!("mine")));
            assert_eq!(body["contents"], json!([]), "{}", api.name());
        }
    }

    #[test]
    fn a_script_is_no_protocol() {
        let model = Model { api: Api::Script, ..model() };
        assert!(HttpProvider::new(model, None, &options()).is_err());
    }
}
