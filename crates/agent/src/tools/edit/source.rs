//! Converts a file to the text that the model sees, and back.
//!
//! The model does not see byte order marks, the two bytes that end a line on Windows, and bytes that
//! are no text. All of them stay wherever nothing is replaced.

use std::borrow::Cow;

use super::matching::Replacement;

/// While a file is edited, bytes that are no UTF-8 are characters from the end of the last private
/// plane of Unicode. A file that has such characters already counts as binary.
const FIRST_STAND_IN: char = '\u{10ff00}';
const LAST_STAND_IN: char = '\u{10ffff}';

#[derive(Debug)]
pub(super) struct Source {
    /// The content, with stand-ins.
    original: String,
    /// The text without byte order mark, with `\n` at the ends of lines.
    text: String,
    /// The length of the byte order mark.
    mark: usize,
    /// The positions in the text of every `\n` that was two bytes in the content.
    pairs: Vec<usize>,
    newline: &'static str,
}

impl Source {
    /// `None` if the content is no text.
    pub(super) fn new(content: &[u8]) -> Option<Source> {
        let original = decode(content)?;
        let mark = if original.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let mut text = String::with_capacity(original.len());
        let mut pairs = Vec::new();
        let mut rest = &original[mark..];
        while let Some(at) = rest.find('\r') {
            text.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(behind) = rest.strip_prefix('\n') {
                pairs.push(text.len());
                rest = behind;
            }
            text.push('\n');
        }
        text.push_str(rest);
        let first = original.find('\n');
        let is_windows = first.is_some_and(|at| original[..at].ends_with('\r'));
        let newline = if is_windows { "\r\n" } else { "\n" };
        Some(Source { original, text, mark, pairs, newline })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The content with parts of the text replaced. New lines end like the first line of the file.
    pub(super) fn with(&self, replacements: &[Replacement]) -> Vec<u8> {
        let mut content = String::with_capacity(self.original.len());
        let mut position = 0;
        for replacement in replacements {
            content.push_str(&self.original[position..self.original_position(replacement.start)]);
            content.push_str(&replacement.text.replace('\n', self.newline));
            position = self.original_position(replacement.end);
        }
        content.push_str(&self.original[position..]);
        encode(&content)
    }

    fn original_position(&self, position: usize) -> usize {
        self.mark + position + self.pairs.partition_point(|pair| *pair < position)
    }
}

/// A text for views, without stand-ins.
pub(super) fn shown(text: &str) -> Cow<'_, str> {
    if text.contains(is_stand_in) {
        Cow::Owned(text.replace(is_stand_in, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

fn is_stand_in(character: char) -> bool {
    (FIRST_STAND_IN..=LAST_STAND_IN).contains(&character)
}

fn decode(content: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(content.len());
    for chunk in content.utf8_chunks() {
        text.push_str(chunk.valid());
        if chunk.valid().contains(is_stand_in) {
            return None;
        }
        for byte in chunk.invalid() {
            text.push(char::from_u32(u32::from(FIRST_STAND_IN) + u32::from(*byte))?);
        }
    }
    Some(text)
}

fn encode(text: &str) -> Vec<u8> {
    let mut content = Vec::with_capacity(text.len());
    for piece in text.split_inclusive(is_stand_in) {
        match piece.chars().next_back().filter(|last| is_stand_in(*last)) {
            Some(stand_in) => {
                content.extend_from_slice(&piece.as_bytes()[..piece.len() - stand_in.len_utf8()]);
                content.push((u32::from(stand_in) - u32::from(FIRST_STAND_IN)) as u8);
            }
            None => content.extend_from_slice(piece.as_bytes()),
        }
    }
    content
}
