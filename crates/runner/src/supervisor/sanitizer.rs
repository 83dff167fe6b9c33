//! What a child prints is cleaned, then redacted, then cut, before anything is stored or shown.
//!
//! In this order: a secret with an escape sequence inside is whole again once it is cleaned, and one
//! that is cut is not found any more. A child can print a secret in many spellings: `\u0073k-…` is
//! `sk-…` to a reader of the record. So what is searched is what a record means, and its bytes only
//! where it means nothing.

use std::borrow::Cow;

use model::{Event, Redactor, Secrets};
use process::Line;
use serde_json::Value;
use session::clean;

/// So much of a secret at the edge of a line that was cut here is taken for it.
const SHORTEST_PART: usize = 4;

#[derive(Debug)]
pub(crate) struct Sanitizer {
    redactor: Redactor,
}

impl Sanitizer {
    pub(crate) fn new(secrets: &Secrets) -> Sanitizer {
        Sanitizer { redactor: Redactor::new(secrets) }
    }

    /// The event with all its texts cleaned, without secrets, and cut.
    pub(crate) fn event(&self, mut event: Event) -> Event {
        event.for_each_text(&mut |text| {
            if let Cow::Owned(cleaned) = clean(text) {
                *text = cleaned;
            }
            self.redactor.text(text);
        });
        event.bounded()
    }

    /// The line without secrets, for a log. It stays as it is where there are none.
    pub(crate) fn line<'a>(&self, line: Line<'a>) -> Cow<'a, [u8]> {
        match line {
            Line::Whole(bytes) => self.whole(bytes),
            Line::Cut { head, tail, bytes } => {
                let gap = format!(" ... [{bytes} bytes in all] ... ");
                let hidden = |bytes| self.redactor.bytes(bytes).into_owned();
                let (mut head, mut tail) = (hidden(head), hidden(tail));
                self.redactor.halves(&mut head, &mut tail, SHORTEST_PART);
                Cow::Owned([&head, gap.as_bytes(), &tail].concat())
            }
        }
    }

    fn whole<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if self.redactor.is_empty() {
            return Cow::Borrowed(bytes);
        }
        // What a protocol understands must not have a secret in it.
        let record = serde_json::from_slice::<Value>(bytes).or_else(|error| {
            protocol::mend(bytes).map_or(Err(error), |mended| serde_json::from_slice(&mended))
        });
        if let Ok(mut record) = record
            && self.redactor.value(&mut record)
        {
            return Cow::Owned(record.to_string().into_bytes());
        }
        // Of a key that is there twice, a record means only the last.
        self.redactor.bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sanitizer(secret: &str) -> Sanitizer {
        let mut secrets = Secrets::default();
        secrets.insert("PI_API_KEY", secret.to_owned());
        Sanitizer::new(&secrets)
    }

    fn logged(secret: &str, text: &str) -> String {
        let line = sanitizer(secret).line(Line::Whole(text.as_bytes())).into_owned();
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
        let sanitizer = sanitizer("sk-12345");
        let event = Event::ToolCall {
            id: "1".into(),
            tool: "bash".into(),
            args: serde_json::json!({"command": "echo sk-12345", "deep": [{"sk-12345": 1}]}),
        };
        let Event::ToolCall { args, .. } = sanitizer.event(event) else { panic!("the same event") };
        assert_eq!(args, serde_json::json!({"command": "echo ****", "deep": [{"****": 1}]}));
        let other = Event::UserMessage { text: "nothing".into() };
        assert_eq!(sanitizer.event(other.clone()), other);
    }

    #[test]
    fn records_keep_their_structure_whatever_the_secret_is() {
        let record = r#"{"type":"message_end","message":{"role":"assistant","content":"x"}}"#;
        assert_eq!(logged("message_end", record), record.replace("message_end", "****"));
        let event =
            sanitizer("user_message").event(Event::UserMessage { text: "user_message".into() });
        assert_eq!(event, Event::UserMessage { text: "****".into() });
        assert_eq!(logged("short", "a short one"), "a short one", "it is too short to be a secret");
    }

    #[test]
    fn a_secret_at_the_edge_of_a_cut_is_hidden() {
        let line = Line::Cut { head: b"xx sk-123", tail: b"2345 yy", bytes: 99 };
        let shown = sanitizer("sk-12345").line(line).into_owned();
        assert_eq!(String::from_utf8_lossy(&shown), "xx **** ... [99 bytes in all] ... **** yy");
    }

    #[test]
    fn a_secret_is_whole_again_once_it_is_cleaned() {
        let dirty = "\u{1b}[31msk-\u{1b}[0m12\r3\u{202e}45";
        let event =
            sanitizer("sk-12345").event(Event::UserMessage { text: format!("a {dirty} b") });
        assert_eq!(event, Event::UserMessage { text: "a **** b".into() });
        let record = serde_json::json!({"text": dirty}).to_string();
        assert_eq!(logged("sk-12345", &record), r#"{"text":"****"}"#);
        assert_eq!(logged("sk-12345", &format!("no record {dirty}")), "no record ****");
    }

    #[test]
    fn a_secret_with_a_character_that_cleaning_removes_is_hidden() {
        for secret in ["sk-abcdef\u{200e}-0123456789", "line one\r\nline two"] {
            let event = Event::UserMessage { text: format!("key {secret}") };
            let event = sanitizer(secret).event(event);
            assert_eq!(event, Event::UserMessage { text: "key ****".into() });
            let record = serde_json::json!({"text": secret}).to_string();
            assert_eq!(logged(secret, &record), r#"{"text":"****"}"#);
            let spelled = record.replace('\u{200e}', "\\u200e");
            assert_eq!(logged(secret, &spelled), r#"{"text":"****"}"#);
            assert_eq!(logged(secret, &format!("no record {secret}")), "no record ****");
        }
    }

    #[test]
    fn a_secret_is_hidden_before_a_text_is_cut_and_where_the_child_has_cut_it() {
        let sanitizer = sanitizer("sk-1234567890");
        let text = "x".repeat(Event::TOOL_RESULT_BYTES - 12) + "sk-1234567890";
        let event = Event::ToolResult {
            id: "1".into(),
            tool: "bash".into(),
            is_error: false,
            text,
            limit_reached: false,
        };
        let Event::ToolResult { text, .. } = sanitizer.event(event) else { panic!("a result") };
        assert!(
            text.ends_with("x****") && text.len() <= Event::TOOL_RESULT_BYTES,
            "{}",
            text.len()
        );
        for (cut, expected) in [
            ("the key is sk-123456789", "the key is ****"),
            ("34567890 was the key", "**** was the key"),
            ("it begins with sk-1", "it begins with sk-1"),
        ] {
            let event = sanitizer.event(Event::UserMessage { text: cut.to_owned() });
            assert_eq!(event, Event::UserMessage { text: expected.to_owned() });
        }
    }
}
