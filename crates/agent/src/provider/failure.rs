//! Decides from a provider's error how to recover.

use std::time::Duration;

use serde_json::Value;

use super::{ProviderError, Remedy};

/// How much of a provider's error is shown.
const MAXIMAL_CHARACTERS: usize = 4000;

/// Errors that make a retry useless, whatever the status: an account without money does not recover
/// in a minute.
const NO_RETRY: &[&str] = &[
    "gousagelimiterror",
    "freeusagelimiterror",
    "monthly usage limit reached",
    "available balance",
    "insufficient_quota",
    "out of budget",
    "quota exceeded",
    "billing",
];

/// Errors that pass.
const TEMPORARY: &[&str] = &[
    "overloaded",
    "currently experiencing high demand",
    "rate limit",
    "rate_limit",
    "rate-limit",
    "ratelimit",
    "too many requests",
    "service unavailable",
    "service_unavailable",
    "serviceunavailable",
    "server error",
    "server_error",
    "servererror",
    "internal error",
    "internal_error",
    "internalerror",
    "provider returned error",
    "exceeded request buffer limit while retrying upstream",
    "network error",
    "network_error",
    "connection error",
    "connection refused",
    "connection lost",
    "upstream connect",
    "reset before headers",
    "timed out",
    "time out",
    "timeout",
    "terminated",
    "ended without",
    "stream ended before",
    "you can retry your request",
    "try your request again",
    "please retry your request",
    "resourceexhausted",
];

/// Errors about a conversation that is too long. All parts must occur, in any order.
const TOO_LONG: &[&[&str]] = &[
    &["prompt is too long"],
    &["prompt too long"],
    &["request_too_large"],
    &["input is too long for requested model"],
    &["exceeds the context window"],
    &["maximum context length"],
    &["input token count", "exceeds the maximum"],
    &["maximum prompt length is"],
    &["reduce the length of the messages"],
    &["maximum allowed input length"],
    &["is longer than the model", "context length"],
    &["prompt token count", "exceeds the limit of"],
    &["exceeds the available context size"],
    &["greater than the context length"],
    &["context window exceeds limit"],
    &["exceeded model token limit"],
    &["but the configured context size is"],
    &["model_context_window_exceeded"],
    &["range of input length should be"],
    &["context_length_exceeded"],
    &["context length exceeded"],
    &["too many tokens"],
    &["token limit exceeded"],
];

/// Errors that only look like those.
const NOT_TOO_LONG: &[&str] = &["throttling error", "rate limit", "too many requests"];

/// What accompanies an error of a provider.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Refusal<'a> {
    /// Of HTTP, or of an error object in a stream.
    pub(super) status: Option<u16>,
    pub(super) should_retry: Option<&'a str>,
    pub(super) after: Option<Duration>,
}

impl Refusal<'_> {
    pub(super) fn error(&self, message: &str) -> ProviderError {
        ProviderError { message: message.to_owned(), remedy: self.remedy(message) }
    }

    fn remedy(&self, message: &str) -> Remedy {
        let message = message.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
        let is_too_long =
            TOO_LONG.iter().any(|parts| parts.iter().all(|part| message.contains(part)));
        if self.status == Some(413) || (is_too_long && !has(NOT_TOO_LONG)) {
            return Remedy::Compact;
        }
        let retry = Remedy::Retry { after: self.after };
        match (self.should_retry, self.status) {
            _ if has(NO_RETRY) => Remedy::None,
            (Some("true"), _) | (_, Some(408 | 409 | 429 | 500..)) => retry,
            // A wrong key stays wrong, whatever the message says.
            (Some("false"), _) | (_, Some(401..=403)) => Remedy::None,
            _ if has(TEMPORARY) => retry,
            _ => Remedy::None,
        }
    }
}

/// An error in the middle of a stream, which has only a message.
pub(super) fn in_stream(message: &str) -> ProviderError {
    Refusal::default().error(message)
}

/// An error object in the middle of a stream: its message, or all of it.
pub(super) fn in_error_object(error: &Value) -> ProviderError {
    let mut message = match &error["message"] {
        Value::String(message) if !message.is_empty() => message.clone(),
        _ => error.as_str().map_or_else(|| error.to_string(), str::to_owned),
    };
    // OpenRouter quotes the error of the provider behind it here.
    if let Some(raw) = error["metadata"]["raw"].as_str()
        && !message.contains(raw)
    {
        message = format!("{message} {raw}");
    }
    let code = &error["code"];
    let status = code.as_u64().or_else(|| code.as_str()?.parse().ok());
    let status = status.and_then(|code| u16::try_from(code).ok());
    let status = status.filter(|status| (400..600).contains(status));
    Refusal { status, ..Refusal::default() }.error(&message)
}

/// Removes control characters, and cuts a long message. Secrets must be removed before: half of one
/// would not be recognised.
pub(super) fn clean(message: &str) -> String {
    let mut cleaned = String::new();
    let mut characters = message.chars();
    for character in characters.by_ref().take(MAXIMAL_CHARACTERS) {
        cleaned.push(if character.is_control() { ' ' } else { character });
    }
    match characters.count() {
        0 => cleaned,
        more => format!("{cleaned}... [truncated {more} chars]"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RETRY: Remedy = Remedy::Retry { after: None };

    #[test]
    fn status_and_words_decide_what_can_be_done() {
        let cases = [
            (Some(500), "500: {}", RETRY),
            (Some(529), "529 {\"type\":\"overloaded_error\"}", RETRY),
            (Some(429), "429: rate limit", RETRY),
            (Some(429), "429: insufficient_quota", Remedy::None),
            (Some(408), "", RETRY),
            (Some(400), "400: bad", Remedy::None),
            (
                Some(400),
                "400: This model's maximum context length is 8192 tokens.",
                Remedy::Compact,
            ),
            (Some(400), "400 prompt is too long: 213462 tokens > 200000 maximum", Remedy::Compact),
            (
                Some(400),
                "The input (9 tokens) is longer than the model's context length",
                Remedy::Compact,
            ),
            (Some(413), "413 status code (no body)", Remedy::Compact),
            (Some(429), "429: Too many tokens: rate limit", RETRY),
            (Some(400), "400: Provider returned error", RETRY),
            (Some(401), "401: server error while checking the key", Remedy::None),
            (Some(404), "404: no such model, not in 500 others", Remedy::None),
            (None, "Overloaded", RETRY),
            (None, "Stream ended without finish_reason", RETRY),
            (None, "Provider finish_reason: content_filter", Remedy::None),
            (None, "Provider finish_reason: model_context_window_exceeded", Remedy::Compact),
        ];
        for (status, message, expected) in cases {
            let refusal = Refusal { status, ..Refusal::default() };
            assert_eq!(refusal.error(message).remedy, expected, "{status:?} {message}");
        }
    }

    #[test]
    fn the_provider_can_say_whether_to_ask_again() {
        let with = |status, should_retry| {
            let after = Some(Duration::from_secs(2));
            Refusal { status: Some(status), should_retry: Some(should_retry), after }
                .error("")
                .remedy
        };
        assert_eq!(with(400, "true"), Remedy::Retry { after: Some(Duration::from_secs(2)) });
        assert_eq!(with(400, "false"), Remedy::None);
    }

    #[test]
    fn error_objects_in_streams_are_put_into_words() {
        let words = |error: Value| {
            let error = in_error_object(&error);
            (error.message, error.remedy)
        };
        let upstream = json!({"message": "it failed", "code": 502, "metadata": {"raw": "no\nGPU"}});
        assert_eq!(words(upstream), ("it failed no\nGPU".into(), RETRY));
        assert_eq!(words(json!("plain")), ("plain".into(), Remedy::None));
        assert_eq!(words(json!({"code": "429"})), ("{\"code\":\"429\"}".into(), RETRY));
        assert_eq!(words(json!({"code": -1})), ("{\"code\":-1}".into(), Remedy::None));
    }

    #[test]
    fn messages_are_short_and_without_control_characters() {
        assert_eq!(clean("a\u{1b}[31m\r\nb"), "a [31m  b");
        let long = clean(&"é".repeat(4321));
        assert!(long.ends_with("é... [truncated 321 chars]"), "{long}");
    }
}
