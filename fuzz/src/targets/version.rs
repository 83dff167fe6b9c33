//! What an agent prints when it is asked for its version, and the description of its package.

use protocol::{Protocol, Version};

/// The bytes are both.
pub(super) fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    check_version(&text, Version::parse(&text));
    check_version(&text, Protocol::Pi.version_in_package(data));
}

/// A version is written as it is read, and its numbers come from the text.
fn check_version(text: &str, version: Option<Version>) {
    let Some(version) = version else { return };
    let written = version.to_string();
    assert_eq!(Version::parse(&written), Some(version));
    assert_eq!(Version::parse(&format!("agent v{written}-beta.1 (x)\n")), Some(version));
    let digits = written.chars().filter(char::is_ascii_digit).count();
    // A package can write a character of its version as an escape.
    assert!(text.chars().count() >= digits, "{written} is not in {text:?}");
}
