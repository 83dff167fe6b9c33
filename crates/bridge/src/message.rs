//! JSON-RPC 2.0: what comes in, and what goes out, a line each.

use process::Line;
use serde::Serialize;
use serde_json::Value;

/// A message from the other end.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    /// Must be answered.
    Request { id: Value, method: String, params: Value },
    /// Needs no answer.
    Notification { method: String, params: Value },
    /// The answer to one of our requests, without a result if it was refused.
    Answer { id: u64, result: Option<Value> },
    /// Not a message.
    Garbage { id: Value, code: i64, message: String },
}

/// The line is not JSON.
const PARSE_ERROR: i64 = -32700;
/// The line is no message.
const INVALID_REQUEST: i64 = -32600;
/// There is no such method.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
/// The parameters of a method are wrong.
pub(crate) const INVALID_PARAMS: i64 = -32602;
/// A call was refused, for the reason that the message says.
pub(crate) const REFUSED: i64 = -32000;
/// The two ends speak different versions of the protocol.
pub(crate) const MISMATCH: i64 = -32001;

/// The longest line that is read: pi sends what its session log has about our runs in one.
pub(crate) const LONGEST: usize = 64 * 1024 * 1024;

/// Reads a line.
pub(crate) fn parse(line: Line<'_>) -> Incoming {
    let garbage = |id: Value, code, message: String| Incoming::Garbage { id, code, message };
    let line = match line {
        Line::Whole(line) => line,
        Line::Cut { head, tail, bytes } => {
            let id = tools::id_of_cut_message(head, tail).unwrap_or_default();
            let message = format!("a message of {bytes} bytes is too long; {LONGEST} are read");
            return garbage(id, INVALID_REQUEST, message);
        }
    };
    let mut message: Value = match serde_json::from_slice(line) {
        Ok(message) => message,
        Err(error) => return garbage(Value::Null, PARSE_ERROR, format!("not JSON: {error}")),
    };
    let id = message.get("id").cloned();
    let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
    let params = message.get_mut("params").map(Value::take).unwrap_or_default();
    match (id, method) {
        (Some(id), Some(method)) => Incoming::Request { id, method, params },
        (None, Some(method)) => Incoming::Notification { method, params },
        (Some(id), None) => match id.as_u64() {
            Some(id) => Incoming::Answer { id, result: message.get_mut("result").map(Value::take) },
            None => garbage(id, INVALID_REQUEST, "an answer to nothing".to_owned()),
        },
        (None, None) => garbage(Value::Null, INVALID_REQUEST, "no method".to_owned()),
    }
}

/// A message to the other end.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Outgoing<'a> {
    pub(crate) jsonrpc: Version,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) params: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<Problem<'a>>,
}

/// Why something that was asked is refused.
#[derive(Debug, Serialize)]
pub(crate) struct Problem<'a> {
    pub(crate) code: i64,
    pub(crate) message: &'a str,
}

/// The version of JSON-RPC.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) enum Version {
    #[default]
    #[serde(rename = "2.0")]
    Two,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_goes_out_has_only_what_belongs_to_it() {
        let (id, value) = (json!("a"), json!({"x": 1}));
        let text = |outgoing: Outgoing<'_>| serde_json::to_string(&outgoing).unwrap();
        let asked = Outgoing {
            id: Some(&id),
            method: Some("m"),
            params: Some(&value),
            ..Outgoing::default()
        };
        assert_eq!(text(asked), r#"{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":1}}"#);
        let error = Some(Problem { code: REFUSED, message: "no" });
        let refused = Outgoing { id: Some(&id), error, ..Outgoing::default() };
        assert_eq!(
            text(refused),
            r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32000,"message":"no"}}"#
        );
    }

    #[test]
    fn every_kind_of_message_is_told_apart() {
        let read = |text: &str| parse(Line::Whole(text.as_bytes()));
        assert_eq!(
            read(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}"#),
            Incoming::Request { id: json!(1), method: "m".to_owned(), params: json!({"a": 1}) }
        );
        assert_eq!(
            read(r#"{"method":"m"}"#),
            Incoming::Notification { method: "m".to_owned(), params: Value::Null }
        );
        assert_eq!(
            read(r#"{"id":7,"result":{"value":null}}"#),
            Incoming::Answer { id: 7, result: Some(json!({"value": null})) }
        );
        assert_eq!(
            read(r#"{"id":7,"error":{"code":1,"message":"no"}}"#),
            Incoming::Answer { id: 7, result: None }
        );
        for (text, expected) in [
            ("", PARSE_ERROR),
            ("{", PARSE_ERROR),
            ("[]", INVALID_REQUEST),
            ("7", INVALID_REQUEST),
            ("{}", INVALID_REQUEST),
            (r#"{"id":"x"}"#, INVALID_REQUEST),
            (r#"{"method":7}"#, INVALID_REQUEST),
        ] {
            let Incoming::Garbage { code, .. } = read(text) else { panic!("{text}") };
            assert_eq!(code, expected, "{text}");
        }
    }
}
