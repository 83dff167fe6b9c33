//! Parts of texts, and their widths.

use std::borrow::Cow;

use model::clean;

/// The first `limit` characters.
pub fn cut_chars(text: &str, limit: usize) -> &str {
    text.char_indices().nth(limit).map_or(text, |(end, _)| &text[..end])
}

/// As many whole characters as fit into `limit` bytes.
pub fn cut_bytes(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    let text = clean(text);
    if text.contains(['\n', '\t']) { Cow::Owned(text.replace(['\n', '\t'], " ")) } else { text }
}

/// The number of characters. All widths in previews are counted so, never in bytes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}

/// The text if it fits into `budget` characters, else its beginning and three dots.
pub fn shorten(text: &str, budget: usize) -> Cow<'_, str> {
    if text.chars().nth(budget).is_none() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("{}...", cut_chars(text, budget.saturating_sub(3))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_fall_on_whole_characters() {
        assert_eq!(cut_chars("żółw", 2), "żó");
        assert_eq!(cut_chars("ab", 2), "ab");
        assert_eq!(cut_bytes("żółw", 3), "ż");
        assert_eq!(cut_bytes("ab", 9), "ab");
    }

    #[test]
    fn a_text_is_shortened_only_if_it_must_be() {
        for (text, budget, expected) in
            [("żółwie", 6, "żółwie"), ("żółwie", 5, "żó..."), ("żółwie", 0, "..."), ("", 0, "")]
        {
            assert_eq!(shorten(text, budget), expected, "{text:?} {budget}");
        }
    }

    #[test]
    fn one_line_is_one_line() {
        assert_eq!(one_line("a\nb\tc\r\u{1b}[31md"), "a b cd");
    }
}
