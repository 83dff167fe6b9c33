//! The beginning of a long text.

use super::{Line, Role};

/// The first lines of a text, and the number of the others.
pub fn truncated(text: &str, max_lines: usize) -> Vec<Line> {
    if text.trim().is_empty() {
        return vec![Line::of(Role::Muted, "(no output)")];
    }
    let mut rest = text.lines();
    let mut lines: Vec<Line> =
        rest.by_ref().take(max_lines).map(|line| Line::of(Role::Plain, line)).collect();
    match rest.count() {
        0 => {}
        1 => lines.push(Line::of(Role::Dim, "... (1 more line)")),
        more => lines.push(Line::of(Role::Dim, &format!("... ({more} more lines)"))),
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_shown_in_part() {
        let texts = |text: &str, max_lines| -> Vec<String> {
            truncated(text, max_lines).iter().map(Line::text).collect()
        };
        assert_eq!(texts("a\nb\n", 2), ["a", "b"]);
        assert_eq!(texts("a\nb\nc", 2), ["a", "b", "... (1 more line)"]);
        assert_eq!(texts(&"x\n".repeat(62), 15).last().unwrap(), "... (47 more lines)");
        assert_eq!(texts("a\n\tb", 9), ["a", "    b"]);
        assert_eq!(texts(" \n", 9), ["(no output)"]);
        assert_eq!(texts("a\nb", 0), ["... (2 more lines)"]);
    }
}
