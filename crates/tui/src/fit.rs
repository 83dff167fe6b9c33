//! Fits lines into the width of the screen.

use session::view::{Line, Role, Span};
use unicode_width::UnicodeWidthChar;

/// Marks that the rest of a line did not fit.
const CUT: &str = "…";

/// The line, or its beginning and `…` if it is wider than `columns`.
pub fn fit(line: Line, columns: usize) -> Line {
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

/// Breaks the line into lines that are at most `columns` wide, between words where that is possible. All but
/// the first begin with `indent` blanks.
pub(crate) fn wrap(line: Line, columns: usize, indent: usize) -> Vec<Line> {
    let columns = columns.max(2);
    if line_width(&line) <= columns {
        return vec![line];
    }
    // Half of the room is left for the words.
    let indent = if indent * 2 > columns { 0 } else { indent };
    let letters: Vec<Letter<'_>> = line
        .spans()
        .iter()
        .flat_map(|span| span.text().chars().map(move |character| Letter { span, character }))
        .collect();
    let mut lines = Vec::new();
    let mut rest = letters.as_slice();
    while !rest.is_empty() {
        let indent = if lines.is_empty() { 0 } else { indent };
        let (head, tail) = rest.split_at(break_point(rest, columns - indent));
        lines.push(joined(indent, head));
        let blanks = tail.iter().take_while(|letter| letter.character == ' ').count();
        rest = tail.get(blanks..).unwrap_or_default();
    }
    lines
}

struct Letter<'a> {
    span: &'a Span,
    character: char,
}

/// How many letters go into a line.
fn break_point(letters: &[Letter<'_>], columns: usize) -> usize {
    let mut used = 0;
    let mut last_blank = 0;
    let mut is_word = false;
    for (index, letter) in letters.iter().enumerate() {
        // A break inside of the blanks at the beginning would make an empty line.
        if letter.character == ' ' && is_word {
            last_blank = index;
        }
        is_word = letter.character != ' ';
        used += character_width(letter.character);
        if used > columns {
            return if last_blank > 0 { last_blank } else { index.max(1) };
        }
    }
    letters.len()
}

fn joined(indent: usize, letters: &[Letter<'_>]) -> Line {
    let mut line = Line::of(Role::Plain, &" ".repeat(indent));
    for piece in letters.chunk_by(|one, next| std::ptr::eq(one.span, next.span)) {
        if let Some(first) = piece.first() {
            let text: String = piece.iter().map(|letter| letter.character).collect();
            line = add(line, first.span, &text);
        }
    }
    line
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
    fn a_long_line_is_broken_between_words() {
        let wrapped = |text: &str, columns, indent| -> Vec<String> {
            wrap(Line::of(Role::Plain, text), columns, indent).iter().map(Line::text).collect()
        };
        for (text, columns, indent, expected) in [
            ("one two three", 8, 0, &["one two", "three"][..]),
            ("one two three", 7, 0, &["one two", "three"]),
            ("one two three", 8, 2, &["one two", "  three"]),
            ("one twothreefour", 6, 0, &["one", "twothr", "eefour"]),
            ("  onetwo three", 8, 0, &["  onetwo", "three"]),
            ("日本語日本語", 5, 0, &["日本", "語日", "本語"]),
            ("日本", 1, 0, &["日", "本"]),
            ("a   b", 3, 0, &["a", "b"]),
            ("", 9, 0, &[""]),
            ("          x", 4, 0, &["    ", "x"]),
        ] {
            assert_eq!(wrapped(text, columns, indent), expected, "{text:?} {columns} {indent}");
        }
    }

    #[test]
    fn the_pieces_of_a_broken_line_keep_their_roles() {
        let lines = wrap(Line::of(Role::Plain, "ab cd").with_bold(Role::Error, "ef gh"), 5, 0);
        let spans = |line: &Line| -> Vec<(Role, bool, String)> {
            let spans = line.spans().iter();
            spans.map(|span| (span.role(), span.is_bold(), span.text().to_owned())).collect()
        };
        assert_eq!(spans(&lines[0]), [(Role::Plain, false, "ab".to_owned())]);
        assert_eq!(
            spans(&lines[1]),
            [(Role::Plain, false, "cd".to_owned()), (Role::Error, true, "ef".to_owned())]
        );
        assert_eq!(lines[2].text(), "gh");
    }
}
