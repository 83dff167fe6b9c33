//! Identifiers, checked once where they enter the program.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Declares an id: a checked text that serialises as that text.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $is_valid:path) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            #[doc = concat!("Accepts the text of a ", $kind, " id, and nothing else.")]
            pub fn parse(text: &str) -> Result<$name, InvalidId> {
                if $is_valid(text) {
                    Ok($name(text.to_owned()))
                } else {
                    Err(InvalidId { kind: $kind, text: text.chars().take(80).collect() })
                }
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;

            fn try_from(text: String) -> Result<$name, InvalidId> {
                $name::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }
    };
}

id! {
    /// Names one run, and with it the run's directory. Later runs sort behind earlier ones.
    RunId, "run", is_directory_name
}

id! {
    /// Names one session: the runs that continue one another.
    SessionId, "session", is_sixteen_digits
}

id! {
    /// Names one call: the runs that were asked for together share it.
    CallId, "call", is_directory_name
}

/// The text is not an id of that kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a {kind} id")]
pub struct InvalidId {
    kind: &'static str,
    text: String,
}

/// What can safely name a directory: 8 to 64 letters, digits and inner hyphens.
fn is_directory_name(text: &str) -> bool {
    let is_safe = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_safe && (8..=64).contains(&text.len()) && !text.starts_with('-')
}

/// Sixteen lower-case hexadecimal digits.
fn is_sixteen_digits(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
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
