//! Parses JSON of providers, which can be broken.

use serde::de::DeserializeOwned;

/// Parses JSON, and if that fails, JSON with its strings repaired: halves of surrogate pairs, raw
/// control characters and unknown escapes come from models and proxies that cut texts, and are no
/// reason to lose an answer.
pub(super) fn parse<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_str(text)
        .or_else(|error| serde_json::from_str(&repaired(text)).map_err(|_| error))
}

fn repaired(text: &str) -> String {
    let mut output = String::with_capacity(text.len() + 16);
    let mut is_in_string = false;
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let width = character.len_utf8();
        match character {
            '"' => {
                is_in_string = !is_in_string;
                output.push('"');
                rest = &rest[width..];
            }
            '\\' if is_in_string => rest = &rest[escape(rest, &mut output)..],
            _ if is_in_string && character < ' ' => {
                output.push_str(&format!("\\u{:04x}", u32::from(character)));
                rest = &rest[width..];
            }
            _ => {
                output.push(character);
                rest = &rest[width..];
            }
        }
    }
    output
}

/// Repairs the escape at the start of `text`; returns its length.
fn escape(text: &str, output: &mut String) -> usize {
    match text.as_bytes().get(1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
            output.push_str(&text[..2]);
            2
        }
        Some(b'u') => match (unit(text), text.get(6..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => {
                output.push_str(&text[..12]);
                12
            }
            (Some(0xd800..=0xdfff), _) => {
                output.push('\u{fffd}');
                6
            }
            (Some(_), _) => {
                output.push_str(&text[..6]);
                6
            }
            (None, _) => {
                output.push_str("\\\\");
                1
            }
        },
        _ => {
            output.push_str("\\\\");
            1
        }
    }
}

/// The code unit of `\uXXXX` at the start of `text`.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let are_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    are_digits.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn strings_are_repaired_and_nothing_else() {
        let cases = [
            (r#"{"a":"😀"}"#, Some(json!({"a": "😀"}))),
            (r#"{"a":"\ud83d"}"#, Some(json!({"a": "\u{fffd}"}))),
            (
                r#"{"a":"\ude00x","b":"\ud83d\n"}"#,
                Some(json!({"a": "\u{fffd}x", "b": "\u{fffd}\n"})),
            ),
            ("{\"a\":\"one\ntwo\"}", Some(json!({"a": "one\ntwo"}))),
            (r#"{"a":"C:\dir \u12 \"q\" \/"}"#, Some(json!({"a": "C:\\dir \\u12 \"q\" /"}))),
            (r#"{"a":"é\"#, None),
            ("{\"a\":\n1}", Some(json!({"a": 1}))),
            ("{oops", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse::<Value>(text).ok(), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_written_can_be_read(text: String) {
            let written = json!([text]).to_string();
            prop_assert_eq!(repaired(&written), written);
        }

        #[test]
        fn nothing_panics(text in r#"(\\u|\\|"|[0-9a-fD-F]|é|\n|\PC){0,40}"#) {
            let _ = parse::<Value>(&text);
        }
    }
}
