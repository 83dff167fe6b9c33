//! Hides secrets in what programs print.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;
use serde_json::Value;

use crate::{Secrets, clean, for_each_text};

const MASK: &str = "****";
/// Shorter values occur by chance, and hiding them would only garble what a program says. So much of
/// a secret at the end or the beginning of a text is taken for a secret that was cut off.
const SHORTEST: usize = 8;
/// So much of a secret, and at least half of it, is taken for it wherever it stands: programs also cut lines in the
/// middle of what they print, and say so behind them.
const SHORTEST_INSIDE: usize = 12;

/// Hides a run's secrets. Every text is cleaned first: a secret with an escape sequence inside is whole
/// again once it is cleaned.
#[derive(Clone, Default)]
pub struct Redactor {
    secrets: Vec<String>,
}

impl Redactor {
    /// Values that are too short to be secrets are not hidden.
    pub fn new(secrets: &Secrets) -> Redactor {
        // A secret may itself have characters that cleaning removes, or that JSON in a text escapes.
        let spellings = |value: &str| {
            let quoted = Value::from(value).to_string();
            [value.to_owned(), clean(value).into_owned(), quoted[1..quoted.len() - 1].to_owned()]
        };
        let mut secrets: Vec<String> =
            secrets.reveal().flat_map(|(_, value)| spellings(value)).collect();
        secrets.retain(|value| value.len() >= SHORTEST);
        secrets.dedup();
        Redactor { secrets }
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// The length of the longest secret.
    pub fn longest(&self) -> usize {
        self.secrets.iter().map(String::len).max().unwrap_or_default()
    }

    /// Hides secrets in a text that has been cleaned, also those that were cut off at one of its ends.
    /// True if there were any.
    pub fn text(&self, text: &mut String) -> bool {
        self.hide(text, Redactor::hide_all)
    }

    /// Hides secrets in every text of a value. A text in which there is one is also cleaned. True if
    /// there were any.
    pub fn value(&self, value: &mut Value) -> bool {
        let mut is_found = false;
        for_each_text(value, &mut |text| {
            let mut cleaned = clean(text).into_owned();
            if self.text(&mut cleaned) {
                *text = cleaned;
                is_found = true;
            }
        });
        is_found
    }

    /// The bytes without secrets, as they are and as JSON writes them. Where a secret is found only
    /// once they are cleaned, they are cleaned.
    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        self.bytes_by(bytes, Redactor::hide_all)
    }

    /// The same for a part of a longer text: a secret that may go on after the part stays.
    pub fn part<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        self.bytes_by(bytes, Redactor::hide_before_more)
    }

    /// Hides a secret of which a line was cut in the middle, at the end of one half and at the
    /// beginning of the other, from this number of its bytes on.
    pub fn halves(&self, head: &mut Vec<u8>, tail: &mut Vec<u8>, shortest: usize) {
        for secret in &self.secrets {
            let secret = secret.as_bytes();
            let lengths = || (shortest..secret.len()).rev();
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

    fn bytes_by<'a>(
        &self,
        bytes: &'a [u8],
        hide: fn(&Redactor, &mut String) -> bool,
    ) -> Cow<'a, [u8]> {
        let mut hidden = Cow::Borrowed(bytes);
        for secret in &self.secrets {
            if let Some(found) = replace(&hidden, secret.as_bytes()) {
                hidden = Cow::Owned(found);
            }
        }
        if self.secrets.is_empty() {
            return hidden;
        }
        let mut cleaned = clean(&String::from_utf8_lossy(&hidden)).into_owned();
        if self.hide(&mut cleaned, hide) {
            return Cow::Owned(cleaned.into_bytes());
        }
        hidden
    }

    /// Hides secrets, also those that can only be read because some characters cannot be seen. Where there is such
    /// a secret, these characters are removed.
    fn hide(&self, text: &mut String, hide: fn(&Redactor, &mut String) -> bool) -> bool {
        let mut is_found = false;
        // First, because a long part of such a secret would be hidden, and the rest stay.
        if !text.is_ascii() && text.contains(is_invisible) {
            let mut seen = text.replace(is_invisible, "");
            if hide(self, &mut seen) {
                *text = seen;
                is_found = true;
            }
        }
        hide(self, text) || is_found
    }

    fn hide_all(&self, text: &mut String) -> bool {
        let is_found = self.hide_whole(text) | self.hide_parts(text, false);
        self.hide_cut_off(text) || is_found
    }

    /// The same, but for what stands at the end of the text and may go on.
    fn hide_before_more(&self, text: &mut String) -> bool {
        self.hide_whole(text) | self.hide_parts(text, true)
    }

    fn hide_whole(&self, text: &mut String) -> bool {
        let mut is_found = false;
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                *text = text.replace(secret.as_str(), MASK);
                is_found = true;
            }
        }
        is_found
    }

    fn hide_parts(&self, text: &mut String, may_go_on: bool) -> bool {
        let mut is_found = false;
        for secret in &self.secrets {
            let least = SHORTEST_INSIDE.max(secret.len() / 2);
            // Every part of that length has one of these blocks whole.
            let blocks: Vec<usize> = (0..secret.len()).step_by(least / 2).collect();
            for block in blocks.windows(2).map(|ends| ends[0]..ends[1]) {
                if let Some(hidden) = hide_around(text, secret, block, least, may_go_on) {
                    *text = hidden;
                    is_found = true;
                }
            }
        }
        is_found
    }

    /// Hides what a program itself has cut, such as the output of a tool.
    fn hide_cut_off(&self, text: &mut String) -> bool {
        let mut is_found = false;
        for secret in &self.secrets {
            let parts = || (SHORTEST..secret.len()).rev();
            let mut beginnings = parts().filter_map(|length| secret.get(..length));
            if let Some(part) = beginnings.find(|part| text.ends_with(part)) {
                text.truncate(text.len() - part.len());
                text.push_str(MASK);
                is_found = true;
            }
            let mut ends = parts().filter_map(|length| secret.get(secret.len() - length..));
            if let Some(part) = ends.find(|part| text.starts_with(part)) {
                text.replace_range(..part.len(), MASK);
                is_found = true;
            }
        }
        is_found
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Redactor").field("secrets", &self.secrets.len()).finish()
    }
}

/// The text without the parts of a secret that have this block of it and are long enough, if there are any. A part
/// that `may_go_on` behind the text stays.
fn hide_around(
    text: &str,
    secret: &str,
    block: Range<usize>,
    least: usize,
    may_go_on: bool,
) -> Option<String> {
    let (bytes, secret) = (text.as_bytes(), secret.as_bytes());
    let (before, after) = (&secret[..block.start], &secret[block.end..]);
    let mut hidden = String::new();
    let mut rest = 0;
    for found in memmem::find_iter(bytes, &secret[block.clone()]) {
        if found < rest {
            continue;
        }
        let equal = |(one, other): &(&u8, &u8)| one == other;
        let ahead = &bytes[rest..found];
        let start = found - ahead.iter().rev().zip(before.iter().rev()).take_while(equal).count();
        let behind = &bytes[found + block.len()..];
        let more = behind.iter().zip(after).take_while(equal).count();
        let end = found + block.len() + more;
        let goes_on = may_go_on && end == bytes.len() && more < after.len();
        if end - start >= least && !goes_on {
            // Half a character tells nothing and is no text.
            hidden.push_str(&text[rest..text.floor_char_boundary(start)]);
            hidden.push_str(MASK);
            rest = text.ceil_char_boundary(end);
        }
    }
    if rest == 0 {
        return None;
    }
    hidden.push_str(&text[rest..]);
    Some(hidden)
}

/// Whether the character shows nothing and takes no room. Texts need some of them, so cleaning leaves them.
fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{34f}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}'
            | '\u{2060}'..='\u{2064}'
            | '\u{206a}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0100}'..='\u{e01ef}'
    )
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

    fn redactor() -> Redactor {
        let mut secrets = Secrets::default();
        secrets.insert("KEY", "sk-1234567890".to_owned());
        Redactor::new(&secrets)
    }

    #[test]
    fn a_secret_with_characters_that_cannot_be_seen_is_hidden() {
        for invisible in "\u{ad}\u{200b}\u{200d}\u{2060}\u{2063}\u{fe0f}\u{feff}\u{fffa}".chars() {
            let spread = format!("é: s{invisible}k-12345{invisible}67890.");
            for spread in [&spread, &format!("é: s{invisible}k-1234567890.")] {
                let mut text = spread.clone();
                assert!(redactor().text(&mut text), "{invisible:?}");
                assert_eq!(text, "é: ****.", "{invisible:?}");
            }
            assert_eq!(&*redactor().bytes(spread.as_bytes()), "é: ****.".as_bytes());
            assert_eq!(&*redactor().part(spread.as_bytes()), "é: ****.".as_bytes());
            let cut = format!("sk-12345{invisible}6789");
            assert_eq!(&*redactor().bytes(cut.as_bytes()), b"****");
            let other = format!("👩{invisible}💻 sk-12345");
            assert_eq!(&*redactor().part(other.as_bytes()), other.as_bytes());
        }
    }

    #[test]
    fn a_secret_that_a_program_has_cut_is_hidden_in_a_line() {
        assert_eq!(&*redactor().bytes(b"the key is sk-123456789"), b"the key is ****");
        assert_eq!(&*redactor().bytes(b"34567890 was the key"), b"**** was the key");
    }

    #[test]
    fn a_long_part_of_a_secret_is_hidden_wherever_a_program_has_cut_it() {
        let key = "sk-ABCDEFGHIJKLMNOPQRSTUVWXYZ0123";
        let mut secrets = Secrets::default();
        secrets.insert("KEY", key.to_owned());
        let redactor = Redactor::new(&secrets);
        for from in 0..key.len() {
            for to in from + 1..=key.len() {
                let part = &key[from..to];
                let mut text = format!("é KEY={part}… [truncated] {part} é");
                let (before, is_long) = (text.clone(), part.len() >= key.len() / 2);
                assert_eq!(redactor.text(&mut text), is_long, "{part}");
                let expected = before.replace(part, "****");
                assert_eq!(text, if is_long { expected } else { before }, "{part}");
            }
        }
        let mut many = format!("{}.", &key[1..]).repeat(3);
        assert!(redactor.text(&mut many));
        assert_eq!(many, "****.****.****.");
    }

    #[test]
    fn a_secret_is_hidden_as_json_in_a_text_spells_it() {
        let mut secrets = Secrets::default();
        secrets.insert("KEY", "sk-\"12345\\67890".to_owned());
        let mut text = r#"{"key": "sk-\"12345\\67890"}"#.to_owned();
        assert!(Redactor::new(&secrets).text(&mut text));
        assert_eq!(text, r#"{"key": "****"}"#);
    }

    #[test]
    fn a_part_keeps_what_may_go_on() {
        let redactor = redactor();
        let cut = "\u{1b}[1mthe key is sk-123456789";
        assert_eq!(&*redactor.bytes(cut.as_bytes()), b"the key is ****");
        assert_eq!(&*redactor.part(cut.as_bytes()), cut.as_bytes());
        let inside = "the key is sk-123456789…";
        assert_eq!(&*redactor.part(inside.as_bytes()), "the key is ****…".as_bytes());
        assert_eq!(&*redactor.part(b"k-1234567890"), b"****");
        let whole = "\u{1b}[1msk-\u{1b}[0m1234567890";
        assert_eq!(&*redactor.part(whole.as_bytes()), b"****");
        assert_eq!(format!("{redactor:?}"), "Redactor { secrets: 1 }");
        assert!(Redactor::default().is_empty());
    }
}
