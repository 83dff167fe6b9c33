//! Identifiers, checked once where they enter the program.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Names one run, and with it the run's directory. Later runs sort behind earlier ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

impl RunId {
    /// Accepts what can safely name a directory: 8 to 64 letters, digits and inner hyphens.
    pub fn parse(text: &str) -> Result<RunId, InvalidId> {
        let safe = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if safe && (8..=64).contains(&text.len()) && !text.starts_with('-') {
            Ok(RunId(text.to_owned()))
        } else {
            Err(InvalidId { kind: "run", text: text.chars().take(80).collect() })
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Names one session: the runs that continue one another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(String);

impl SessionId {
    /// Accepts sixteen lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Result<SessionId, InvalidId> {
        let hexadecimal = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if hexadecimal && text.len() == 16 {
            Ok(SessionId(text.to_owned()))
        } else {
            Err(InvalidId { kind: "session", text: text.chars().take(80).collect() })
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The text is not an id of that kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidId {
    kind: &'static str,
    text: String,
}

impl fmt::Display for InvalidId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} is not a {} id", self.text, self.kind)
    }
}

impl std::error::Error for InvalidId {}

impl fmt::Display for RunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl TryFrom<String> for RunId {
    type Error = InvalidId;

    fn try_from(text: String) -> Result<RunId, InvalidId> {
        RunId::parse(&text)
    }
}

impl TryFrom<String> for SessionId {
    type Error = InvalidId;

    fn try_from(text: String) -> Result<SessionId, InvalidId> {
        SessionId::parse(&text)
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> String {
        id.0
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> String {
        id.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_safe_directory_names_are_run_ids() {
        assert!(RunId::parse("01a1e067-9fdf-74f3-92a0-b653fa59fb30").is_ok());
        for bad in ["", "..", "../../etc", "a/b/c/d/e/f", "-rf-everything", "short", "nul\0nul\0"] {
            assert!(RunId::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn only_sixteen_hexadecimal_digits_are_session_ids() {
        assert!(SessionId::parse("0123456789abcdef").is_ok());
        for bad in
            ["", "0123456789ABCDEF", "0123456789abcde", "0123456789abcdef0", "../3456789abcdef"]
        {
            assert!(SessionId::parse(bad).is_err(), "{bad:?}");
        }
    }
}
