//! JSON that agents print, and what is wrong with it.

use std::borrow::Cow;

use memchr::memmem;
use serde::de::DeserializeOwned;
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
