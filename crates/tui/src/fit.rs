//! Fits lines into the width of the screen.

use session::view::{Line, Role, Span};
use unicode_width::UnicodeWidthChar;

/// Marks that the rest of a line did not fit.
const CUT: &str = "…";

/// The line, or its beginning and `…` if it is wider than `columns`.
pub(crate) fn fit(line: Line, columns: usize) -> Line {
    if line_width(&line) <= columns {
        return line;
    }
    let mut left = columns.saturating_sub(1);
    let mut fitted = Line::default();
    for span in line.spans() {
        let (head, rest) = split(span.text(), left);
        left -= width(head);
        fitted = add(fitted, span, head);
        if !rest.is_empty() {
            break;
        }
    }
    if columns == 0 { fitted } else { fitted.with(Role::Dim, CUT) }
}

/// Breaks the line into lines that are at most `columns` wide.
pub(crate) fn wrap(line: Line, columns: usize) -> Vec<Line> {
    let columns = columns.max(2);
    if line_width(&line) <= columns {
        return vec![line];
    }
    let mut lines = Vec::new();
    let (mut current, mut left) = (Line::default(), columns);
    for span in line.spans() {
        let mut text = span.text();
        while !text.is_empty() {
            let (head, rest) = split(text, left);
            left -= width(head);
            current = add(current, span, head);
            text = rest;
            if !rest.is_empty() {
                lines.push(std::mem::take(&mut current));
                left = columns;
            }
        }
    }
    lines.push(current);
    lines
}

pub(crate) fn line_width(line: &Line) -> usize {
    line.spans().iter().map(|span| width(span.text())).sum()
}

/// Adds a text in the style of a span.
pub(crate) fn add(line: Line, span: &Span, text: &str) -> Line {
    if span.is_bold() { line.with_bold(span.role(), text) } else { line.with(span.role(), text) }
}

/// As much of a text as fits, and the rest.
fn split(text: &str, columns: usize) -> (&str, &str) {
    let mut used = 0;
    for (at, character) in text.char_indices() {
        used += character_width(character);
        if used > columns {
            return text.split_at(at);
        }
    }
    (text, "")
}

fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(character_width).sum() }
}

/// Never less than the terminal needs: a character that is counted too wide leaves a gap at the end
/// of its line, but one that is counted too narrow would break into the line below.
fn character_width(character: char) -> usize {
    match character {
        // It turns the character before it into an emoji, which some terminals draw twice as wide.
        '\u{fe0f}' => 1,
        _ => character.width().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_only_if_it_must_be_and_between_characters() {
        for (text, columns, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("e\u{301}e\u{301}", 2, "e\u{301}e\u{301}"),
            ("⚠\u{fe0f}x", 2, "⚠…"),
            ("ab", 1, "…"),
            ("ab", 0, ""),
            ("", 0, ""),
        ] {
            let fitted = fit(Line::of(Role::Plain, text), columns);
            assert_eq!(fitted.text(), expected, "{text:?} {columns}");
            assert!(line_width(&fitted) <= columns);
        }
    }

    #[test]
    fn the_pieces_of_a_line_keep_their_roles() {
        let line = Line::of(Role::Success, "ab").with_bold(Role::Error, "cdef");
        let fitted = fit(line, 4);
        let spans: Vec<(Role, bool, &str)> =
            fitted.spans().iter().map(|span| (span.role(), span.is_bold(), span.text())).collect();
        assert_eq!(
            spans,
            [(Role::Success, false, "ab"), (Role::Error, true, "c"), (Role::Dim, false, "…")]
        );
    }

    #[test]
    fn a_long_line_becomes_several() {
        let lines = wrap(Line::of(Role::Plain, "ab日本c").with(Role::Dim, "def"), 4);
        let texts: Vec<String> = lines.iter().map(Line::text).collect();
        assert_eq!(texts, ["ab日", "本cd", "ef"]);
        assert_eq!(wrap(Line::of(Role::Plain, "日本"), 1).len(), 2);
        assert_eq!(wrap(Line::default(), 9), [Line::default()]);
    }
}
