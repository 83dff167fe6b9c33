//! Keys, which no message, log or panic may ever show.

use std::fmt;

/// A key whose `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// From now on the key cannot be printed.
    pub fn new(key: impl Into<String>) -> Secret {
        Secret(key.into())
    }

    /// The key itself, for the header of a request and for nothing else.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Removes every occurrence of the key from a text, also as JSON and addresses write it:
    /// providers quote requests in their errors.
    pub fn redact(&self, text: &str) -> String {
        if self.0.is_empty() {
            return text.to_owned();
        }
        let json = serde_json::Value::from(self.0.as_str()).to_string();
        let json = json.trim_matches('"');
        let forms = [
            self.0.clone(),
            json.to_owned(),
            json.replace('/', "\\/"),
            self.in_address(|code| format!("%{code:02X}")),
            self.in_address(|code| format!("%{code:02x}")),
        ];
        forms.iter().fold(text.to_owned(), |text, form| text.replace(form, "[redacted]"))
    }

    fn in_address(&self, escape: fn(u8) -> String) -> String {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
        let write = |byte| if is_plain(byte) { char::from(byte).to_string() } else { escape(byte) };
        self.0.bytes().map(write).collect()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(****)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_taken_out_however_it_is_written() {
        let secret = Secret::new("sk/a+b=\"\\");
        for text in [
            "sk/a+b=\"\\",
            r#"sk/a+b=\"\\"#,
            r#"sk\/a+b=\"\\"#,
            "sk%2Fa%2Bb%3D%22%5C",
            "sk%2fa%2bb%3d%22%5c",
        ] {
            assert_eq!(secret.redact(&format!("<{text}>")), "<[redacted]>", "{text}");
        }
        assert_eq!(Secret::new("").redact("text"), "text");
    }
}
