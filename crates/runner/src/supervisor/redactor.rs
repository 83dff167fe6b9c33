//! Keeping secrets out of everything that is stored or shown.
//!
//! A child can print a secret in many spellings: `\u0073k-…` is `sk-…` to a reader of the record.
//! So what is searched is what a record means, and its bytes only where it means nothing.

use std::borrow::Cow;

use memchr::memmem;
use model::{Event, Secrets};
use process::Line;
use serde_json::Value;

/// What stands in the place of a secret.
const MASK: &str = "****";
/// Shorter values occur by chance, and hiding them would only garble what the child says.
const SHORTEST: usize = 8;
/// So much of a secret at the edge of a line that was cut is taken for it.
const SHORTEST_PART: usize = 4;

/// Finds the values of secrets in what a child prints.
#[derive(Debug)]
pub(crate) struct Redactor {
    secrets: Vec<String>,
}

impl Redactor {
    pub(crate) fn new(secrets: &Secrets) -> Redactor {
        let secrets = secrets.reveal().map(|(_, value)| value.to_owned());
        Redactor { secrets: secrets.filter(|value| value.len() >= SHORTEST).collect() }
    }

    /// The event without secrets.
    pub(crate) fn event(&self, event: Event) -> Event {
        if self.secrets.is_empty() {
            return event;
        }
        // Plain data survives the way there and back.
        let Ok(mut value) = serde_json::to_value(&event) else {
            return event;
        };
        // What kind of event it is, is our own word.
        let kind = value.as_object_mut().and_then(|fields| fields.shift_remove("type"));
        if !self.hide_in_value(&mut value) {
            return event;
        }
        if let (Some(fields), Some(kind)) = (value.as_object_mut(), kind) {
            fields.insert("type".to_owned(), kind);
        }
        serde_json::from_value(value).unwrap_or(event)
    }

    /// The line without secrets, for a log.
    pub(crate) fn line<'a>(&self, line: Line<'a>) -> Cow<'a, [u8]> {
        match line {
            Line::Whole(bytes) => self.whole(bytes),
            Line::Cut { head, tail, bytes } => {
                let gap = format!(" ... [{bytes} bytes in all] ... ");
                let (mut head, mut tail) =
                    (self.bytes(head).into_owned(), self.bytes(tail).into_owned());
                self.hide_parts(&mut head, &mut tail);
                Cow::Owned([&head, gap.as_bytes(), &tail].concat())
            }
        }
    }

    fn whole<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        // Without a backslash a record holds its texts as they are.
        if self.secrets.is_empty() || !self.may_hold_secret(bytes) {
            return Cow::Borrowed(bytes);
        }
        // What a protocol understands must not have a secret in it.
        let record = serde_json::from_slice::<Value>(bytes).or_else(|error| {
            protocol::mend(bytes).map_or(Err(error), |mended| serde_json::from_slice(&mended))
        });
        let Ok(mut record) = record else {
            return self.bytes(bytes);
        };
        if self.hide_in_value(&mut record) {
            Cow::Owned(record.to_string().into_bytes())
        } else {
            // Of a key that is there twice, a record means only the last.
            self.bytes(bytes)
        }
    }

    fn may_hold_secret(&self, bytes: &[u8]) -> bool {
        memchr::memchr(b'\\', bytes).is_some()
            || self.secrets.iter().any(|secret| memmem::find(bytes, secret.as_bytes()).is_some())
    }

    /// The bytes without secrets, as they are and as JSON writes them.
    fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let mut hidden = Cow::Borrowed(bytes);
        for secret in &self.secrets {
            let quoted = Value::from(secret.as_str()).to_string();
            for needle in [secret.as_str(), &quoted[1..quoted.len() - 1]] {
                if let Some(found) = replace(&hidden, needle.as_bytes()) {
                    hidden = Cow::Owned(found);
                }
            }
        }
        hidden
    }

    /// Hides a secret of which the line was cut in the middle.
    fn hide_parts(&self, head: &mut Vec<u8>, tail: &mut Vec<u8>) {
        for secret in &self.secrets {
            let secret = secret.as_bytes();
            let lengths = || (SHORTEST_PART..secret.len()).rev();
            if let Some(length) = lengths().find(|length| head.ends_with(&secret[..*length])) {
                head.truncate(head.len() - length);
                head.extend_from_slice(MASK.as_bytes());
            }
            let rest = |length: usize| &secret[secret.len() - length..];
            if let Some(length) = lengths().find(|length| tail.starts_with(rest(*length))) {
                tail.splice(..length, MASK.bytes());
            }
        }
    }

    /// Hides secrets in every text below. True if there were any.
    fn hide_in_value(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => {
                let mut found = false;
                for secret in self.secrets.iter().filter(|secret| !secret.is_empty()) {
                    if text.contains(secret.as_str()) {
                        *text = text.replace(secret.as_str(), MASK);
                        found = true;
                    }
                }
                found
            }
            Value::Array(values) => {
                let mut found = false;
                for value in values {
                    found |= self.hide_in_value(value);
                }
                found
            }
            Value::Object(entries) => {
                let mut found = false;
                let is_secret =
                    |key: &String| self.secrets.iter().any(|secret| key.contains(secret.as_str()));
                if entries.keys().any(is_secret) {
                    found = true;
                    let all = std::mem::take(entries);
                    entries.extend(all.into_iter().map(|(key, value)| {
                        if is_secret(&key) { (MASK.to_owned(), value) } else { (key, value) }
                    }));
                }
                for value in entries.values_mut() {
                    found |= self.hide_in_value(value);
                }
                found
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
}

fn replace(bytes: &[u8], needle: &[u8]) -> Option<Vec<u8>> {
    let mut replaced = Vec::new();
    let mut rest = 0;
    for found in memmem::find_iter(bytes, needle) {
        replaced.extend_from_slice(&bytes[rest..found]);
        replaced.extend_from_slice(MASK.as_bytes());
        rest = found + needle.len();
    }
    if rest == 0 {
        return None;
    }
    replaced.extend_from_slice(&bytes[rest..]);
    Some(replaced)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor(secret: &str) -> Redactor {
        let mut secrets = Secrets::default();
        secrets.insert("PI_API_KEY", secret.to_owned());
        Redactor::new(&secrets)
    }

    fn logged(secret: &str, text: &str) -> String {
        let line = redactor(secret).line(Line::Whole(text.as_bytes())).into_owned();
        String::from_utf8_lossy(&line).into_owned()
    }

    #[test]
    fn every_spelling_of_a_secret_is_hidden() {
        assert_eq!(logged("sk-12345", "a sk-12345sk-12345 b"), "a ******** b");
        assert_eq!(logged("sk-12345", "nothing here"), "nothing here");
        for spelled in [r"sk-12345", r"\u0073k-12345", r"\u0073\u006B\u002d12345", r"s\u006b-12345"]
        {
            let record = format!(r#"{{"type":"x","text":"the key is {spelled}"}}"#);
            assert_eq!(logged("sk-12345", &record), r#"{"type":"x","text":"the key is ****"}"#);
        }
        let half = r#"{"type":"x","text":"\u0073k-12345 \ud83d"}"#;
        assert_eq!(logged("sk-12345", half), "{\"type\":\"x\",\"text\":\"**** \u{fffd}\"}");
        assert_eq!(logged("sk-12345", r#"{"a":"sk-12345","a":1}"#), r#"{"a":"****","a":1}"#);
        let record = serde_json::json!({"a\"b\\c-12": ["a\"b\\c-12"]}).to_string();
        assert_eq!(logged("a\"b\\c-12", &record), r#"{"****":["****"]}"#);
        assert_eq!(logged("a\"b\\c-12", r#"torn "a\"b\\c-12"#), r#"torn "****"#);
        assert_eq!(logged("/v1/secret", r#"{"x":"\/v1\/secret"}"#), r#"{"x":"****"}"#);
    }

    #[test]
    fn events_are_searched_for_what_they_mean() {
        let redactor = redactor("sk-12345");
        let event = Event::ToolCall {
            id: "1".into(),
            tool: "bash".into(),
            args: serde_json::json!({"command": "echo sk-12345", "deep": [{"sk-12345": 1}]}),
        };
        let Event::ToolCall { args, .. } = redactor.event(event) else { panic!("the same event") };
        assert_eq!(args, serde_json::json!({"command": "echo ****", "deep": [{"****": 1}]}));
        let other = Event::UserMessage { text: "nothing".into() };
        assert_eq!(redactor.event(other.clone()), other);
    }

    #[test]
    fn records_keep_their_structure_whatever_the_secret_is() {
        let record = r#"{"type":"message_end","message":{"role":"assistant","content":"x"}}"#;
        assert_eq!(logged("message_end", record), record.replace("message_end", "****"));
        let event =
            redactor("user_message").event(Event::UserMessage { text: "user_message".into() });
        assert_eq!(event, Event::UserMessage { text: "****".into() });
        assert_eq!(logged("short", "a short one"), "a short one", "it is too short to be a secret");
    }

    #[test]
    fn a_secret_at_the_edge_of_a_cut_is_hidden() {
        let line = Line::Cut { head: b"xx sk-123", tail: b"2345 yy", bytes: 99 };
        let shown = redactor("sk-12345").line(line).into_owned();
        assert_eq!(String::from_utf8_lossy(&shown), "xx **** ... [99 bytes in all] ... **** yy");
    }
}
