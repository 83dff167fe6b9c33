//! JSON that agents print, and what is wrong with it.

use std::borrow::Cow;
use std::fmt;

use memchr::memmem;
use model::StopReason;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, SeqAccess, Visitor};
use serde_json::Value;

/// Reads a record, mended if its text is no Unicode.
pub(crate) fn parse<Record: DeserializeOwned>(bytes: &[u8]) -> Option<Record> {
    let record = serde_json::from_slice(bytes).ok();
    record.or_else(|| serde_json::from_slice(&mend(bytes)?).ok())
}

/// The record with its bytes made Unicode, if that is what is wrong with it: an answer must not be
/// lost over one bad character.
pub fn mend(json: &[u8]) -> Option<Vec<u8>> {
    match String::from_utf8_lossy(json) {
        Cow::Owned(text) => Some(without_lone_surrogates(text.as_bytes())),
        Cow::Borrowed(_) => {
            memmem::find(json, b"\\u").is_some().then(|| without_lone_surrogates(json))
        }
    }
}

/// The arguments of a tool call, as text where they are nested so deeply that our own record around
/// them could not be read back.
pub(crate) fn readable_arguments(arguments: Value) -> Value {
    if depth(&arguments) > 100 { Value::from(arguments.to_string()) } else { arguments }
}

/// Providers have many words for five things. A word that is not known stays as it is, and is
/// never taken for an end.
pub(crate) fn stop_reason(word: String) -> StopReason {
    match word.as_str() {
        "end_turn" | "endTurn" | "stop_sequence" => StopReason::Stop,
        "max_tokens" | "maxTokens" | "max_output_tokens" => StopReason::Length,
        "tool_use" | "tool_calls" => StopReason::ToolUse,
        "abort" | "cancelled" | "canceled" => StopReason::Aborted,
        "failed" => StopReason::Error,
        _ => StopReason::from(word),
    }
}

/// The words of a provider. Agents hand its answer on as it came, which can be JSON.
pub(crate) fn provider_words(answer: &str) -> String {
    let document = serde_json::from_str::<Value>(answer).ok();
    let inner = document.as_ref().and_then(|document| {
        let error = &document["error"];
        error["message"].as_str().or(document["message"].as_str()).or(error.as_str())
    });
    inner.unwrap_or(answer).to_owned()
}

/// Takes a field out of a record; nothing if it is not there. (Indexing would panic in what is no
/// object.)
pub(crate) fn take_in(value: &mut Value, key: &str) -> Value {
    value.get_mut(key).map(Value::take).unwrap_or_default()
}

/// A number as far as it can be understood: a record must not be lost over a strange one.
pub(crate) fn number(value: &Value, key: &str) -> f64 {
    let number = value.get(key).and_then(Value::as_f64);
    number.filter(|number| number.is_finite()).unwrap_or(0.0)
}

/// A number of tokens or milliseconds. A cast of a float to an integer saturates, so that negative and
/// huge numbers are safe.
pub(crate) fn count(value: &Value, key: &str) -> u64 {
    number(value, key) as u64
}

/// The text of a message: a string, or the text parts of a list joined by line feeds.
#[derive(Default)]
pub(crate) struct Content(pub(crate) String);

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Content, D::Error> {
        struct ContentVisitor;

        impl<'de> Visitor<'de> for ContentVisitor {
            type Value = Content;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a text or a list of parts")
            }

            fn visit_str<E>(self, text: &str) -> Result<Content, E> {
                Ok(Content(text.to_owned()))
            }

            fn visit_unit<E>(self) -> Result<Content, E> {
                Ok(Content::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Content, A::Error> {
                #[derive(Deserialize)]
                struct Part<'a> {
                    #[serde(borrow, rename = "type")]
                    kind: Cow<'a, str>,
                    #[serde(borrow)]
                    text: Option<Cow<'a, str>>,
                }
                let mut texts = String::new();
                while let Some(part) = parts.next_element::<Part<'_>>()? {
                    if let (Some(text), "text") = (part.text, part.kind.as_ref()) {
                        if !texts.is_empty() {
                            texts.push('\n');
                        }
                        texts.push_str(&text);
                    }
                }
                Ok(Content(texts))
            }
        }

        deserializer.deserialize_any(ContentVisitor)
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.iter().map(depth).max().unwrap_or(0),
        Value::Object(entries) => 1 + entries.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// JavaScript cuts texts between the halves of a character and prints the half that is left as an
/// escape, which is no Unicode. It becomes a replacement character.
fn without_lone_surrogates(json: &[u8]) -> Vec<u8> {
    fn unit(json: &[u8]) -> Option<u16> {
        let digits = str::from_utf8(json.strip_prefix(b"\\u")?.get(..4)?).ok()?;
        u16::from_str_radix(digits, 16).ok()
    }
    let mut mended = Vec::with_capacity(json.len());
    let mut rest = json;
    while let Some(start) = memchr::memchr(b'\\', rest) {
        let (before, escape) = rest.split_at(start);
        mended.extend_from_slice(before);
        let is_low = |at: usize| {
            escape.get(at..).and_then(unit).is_some_and(|unit| (0xdc00..0xe000).contains(&unit))
        };
        let length = match unit(escape) {
            Some(0xd800..0xdc00) if is_low(6) => 12,
            Some(0xd800..0xe000) => {
                mended.extend_from_slice(b"\\ufffd");
                rest = &escape[6..];
                continue;
            }
            _ => escape.len().min(2),
        };
        mended.extend_from_slice(&escape[..length]);
        rest = &escape[length..];
    }
    mended.extend_from_slice(rest);
    mended
}
