//! JSON as pi allows it in `models.json`: with comments and commas at the end.

/// The same as plain JSON. Everything stays in its line and column, so that an error of the
/// parser names the right place.
pub(super) fn without_comments(text: &str) -> String {
    let mut plain = Vec::with_capacity(text.len());
    let mut bytes = text.bytes().peekable();
    let mut in_string = false;
    while let Some(byte) = bytes.next() {
        plain.push(byte);
        match byte {
            b'\\' if in_string => plain.extend(bytes.next()),
            b'"' => in_string = !in_string,
            b'/' if !in_string && bytes.peek() == Some(&b'/') => {
                plain.pop();
                plain.push(b' ');
                while let Some(other) = bytes.next_if(|other| *other != b'\n') {
                    // Nothing but ASCII may be put for a part of a longer character.
                    plain.push(if other == b'\r' { other } else { b' ' });
                }
            }
            b'}' | b']' if !in_string => blank_comma(&mut plain),
            _ => {}
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// Takes the comma before the closing bracket away, which is last.
fn blank_comma(plain: &mut [u8]) {
    let Some((_, before)) = plain.split_last_mut() else { return };
    let last = before.iter_mut().rev().find(|byte| !byte.is_ascii_whitespace());
    if let Some(comma) = last.filter(|byte| **byte == b',') {
        *comma = b' ';
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn comments_and_last_commas_go_and_strings_stay() {
        for (text, expected) in [
            ("{}", json!({})),
            ("// a\n{\"a\": 1, // b\n}", json!({"a": 1})),
            ("[1, 2, ]", json!([1, 2])),
            ("[1, // é, \"\n ]", json!([1])),
            (
                r#"{"url": "http://x//y,}", "b": "\"//,]",}"#,
                json!({"url": "http://x//y,}", "b": "\"//,]"}),
            ),
            ("[\"a,\"]", json!(["a,"])),
        ] {
            let plain = without_comments(text);
            assert_eq!(serde_json::from_str::<Value>(&plain).unwrap(), expected, "{text}");
            assert_eq!(plain.lines().count(), text.lines().count(), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_stays_wrong_in_its_place() {
        for (text, line) in [("// a\n{\"a\": /* b */ 1}", 2), ("[,]\n", 1), ("{\n\"a\": \"//", 2)] {
            let error = serde_json::from_str::<Value>(&without_comments(text));
            match error {
                Err(error) => assert_eq!(error.line(), line, "{text}"),
                Ok(value) => assert_eq!((text, value), ("[,]\n", json!([]))),
            }
        }
    }
}
