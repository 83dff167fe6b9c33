//! Copying to the clipboard of the terminal, also over a connection to another machine.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// The longest text that common terminals take.
const LONGEST: usize = 74_994;

/// The bytes that make the terminal copy a text (OSC 52); `None` if it is too long.
pub fn copy(text: &str) -> Option<String> {
    (text.len() <= LONGEST).then(|| format!("\x1b]52;c;{}\x07", BASE64_STANDARD.encode(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_encoded_and_a_long_one_is_refused() {
        assert_eq!(copy("żółw\n").unwrap(), "\x1b]52;c;xbzDs8WCdwo=\x07");
        assert_eq!(copy(&"x".repeat(LONGEST + 1)), None);
    }
}
