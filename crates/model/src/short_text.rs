//! Texts of files that are shown in one line, cut where they are read: a planted name can have any
//! length.

use std::path::PathBuf;

use serde::{Deserialize, Deserializer};

/// The longest name, in bytes.
const NAME_BYTES: usize = 256;
/// The longest error, in bytes. Longer than any that is written.
const ERROR_BYTES: usize = 16 * 1024;

/// The longest path, in bytes, that a system takes.
const PATH_BYTES: usize = 4096;

/// Reads a name, or another short text, and cuts it.
pub fn short_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    String::deserialize(deserializer).map(|text| cut(text, NAME_BYTES))
}

/// A name, or another short text, cut.
pub(crate) fn short(text: String) -> String {
    cut(text, NAME_BYTES)
}

/// Reads a name, or another short text, where there is one, and cuts it.
pub fn short_optional_text<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.map(|text| cut(text, NAME_BYTES)))
}

/// Reads an error, where there is one, and cuts it.
pub fn short_error<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.map(|text| cut(text, ERROR_BYTES)))
}

/// Reads a path, and cuts it.
pub fn short_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    String::deserialize(deserializer).map(|path| PathBuf::from(cut(path, PATH_BYTES)))
}

/// The text if it has at most so many bytes, else its beginning and an ellipsis.
fn cut(mut text: String, bytes: usize) -> String {
    if text.len() > bytes {
        text.truncate(text.floor_char_boundary(bytes));
        text.push('…');
        text.shrink_to_fit();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Named {
        #[serde(deserialize_with = "short_text")]
        name: String,
        #[serde(default, deserialize_with = "short_optional_text")]
        model: Option<String>,
    }

    #[test]
    fn only_what_is_too_long_is_cut() {
        let read = |json: &str| serde_json::from_str::<Named>(json).unwrap();
        let named = read(r#"{"name":"scout","model":null}"#);
        assert_eq!((named.name.as_str(), named.model), ("scout", None));
        assert_eq!(read(r#"{"name":""}"#).model, None);
        let long = "ż".repeat(1_000_000);
        let named = read(&format!(r#"{{"name":"{long}","model":"{long}"}}"#));
        assert_eq!(named.name, "ż".repeat(NAME_BYTES / 2) + "…");
        assert_eq!(named.model, Some(named.name));
    }
}
