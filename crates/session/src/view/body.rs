//! The part of a window below its header.

use super::{Extent, Line, Phase, Role, Standing, TaskView};
use crate::window::{LineKind, WindowLine};

/// How every line of a window begins.
const INDENT: &str = "  ";

/// The entries of a task's window.
pub fn window_lines(task: &TaskView<'_>, extent: Extent) -> Vec<Line> {
    let window = &task.state.window;
    if window.history().next().is_none() {
        let words = match (task.phase, extent) {
            (Phase::Queued, _) => "  (queued)",
            (Phase::Running, Extent::Collapsed) => "  (starting...)",
            (Phase::Running, Extent::Expanded) | (Phase::Ended, _) => "  (no output)",
        };
        return vec![Line::of(Role::Muted, words)];
    }
    match extent {
        Extent::Collapsed => {
            window.last(task.state.context().window_lines).flat_map(entry_lines).collect()
        }
        Extent::Expanded => window.history().flat_map(entry_lines).collect(),
    }
}

/// The error of a task that has failed.
pub fn error_lines(task: &TaskView<'_>) -> Vec<Line> {
    if task.standing() != Standing::Failed {
        return Vec::new();
    }
    let Some(error) = &task.state.facts.error else { return Vec::new() };
    let error = format!("Error: {error}");
    error.lines().map(|line| Line::of(Role::Error, &format!("{INDENT}{line}"))).collect()
}

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

fn entry_lines(entry: &WindowLine) -> Vec<Line> {
    let indented = || Line::of(Role::Plain, INDENT);
    match entry.kind {
        LineKind::Text => {
            entry.text.lines().map(|line| indented().with(Role::Plain, line)).collect()
        }
        // Only entries of one line have numbers to mark.
        LineKind::Tool if entry.text.contains('\n') => {
            entry.text.lines().map(|line| indented().with(Role::Muted, line)).collect()
        }
        LineKind::Tool => {
            let pieces = tool_pieces(&entry.text).into_iter();
            vec![pieces.fold(indented(), |line, (role, text)| line.with(role, text))]
        }
    }
}

/// The text of a tool's entry with its numbers marked: lines added and removed, lines read, and
/// things found.
fn tool_pieces(text: &str) -> Vec<(Role, &str)> {
    let marked = changes(text)
        .or_else(|| lines_written(text))
        .or_else(|| lines_read(text))
        .or_else(|| things_found(text));
    marked.unwrap_or_else(|| vec![(Role::Muted, text)])
}

/// `… +3/-2 …`
fn changes(text: &str) -> Option<Vec<(Role, &str)>> {
    text.match_indices('+').find_map(|(at, _)| {
        let (before, from_plus) = text.split_at_checked(at)?;
        let (added, rest) = split_number(from_plus, "+")?;
        let (slash, rest) = rest.split_at_checked(1).filter(|(slash, _)| *slash == "/")?;
        let (removed, rest) = split_number(rest, "-")?;
        Some(vec![
            (Role::Muted, before),
            (Role::Added, added),
            (Role::Muted, slash),
            (Role::Removed, removed),
            (Role::Muted, rest),
        ])
    })
}

/// `… write … +3`
fn lines_written(text: &str) -> Option<Vec<(Role, &str)>> {
    let at = text.rfind('+').filter(|_| text.contains("write"))?;
    let (before, from_plus) = text.split_at_checked(at)?;
    let (added, rest) = split_number(from_plus, "+")?;
    rest.trim()
        .is_empty()
        .then(|| vec![(Role::Muted, before), (Role::Added, added), (Role::Muted, rest)])
}

/// `… (3 lines) …`
fn lines_read(text: &str) -> Option<Vec<(Role, &str)>> {
    text.match_indices('(').find_map(|(at, bracket)| {
        let (before, from_number) = text.split_at_checked(at + bracket.len())?;
        let (number, rest) = split_number(from_number, "")?;
        (rest.starts_with(" lines)") || rest.starts_with(" line)"))
            .then(|| vec![(Role::Muted, before), (Role::Added, number), (Role::Muted, rest)])
    })
}

/// `  3 files, 1 dir`
fn things_found(text: &str) -> Option<Vec<(Role, &str)>> {
    let (indent, from_number) = text.split_at_checked(INDENT.len())?;
    let (number, rest) = split_number(from_number, "")?;
    (indent == INDENT && rest.starts_with(' '))
        .then(|| vec![(Role::Muted, indent), (Role::Added, number), (Role::Muted, rest)])
}

/// Splits a text after the sign and the number at its start, if it has them.
fn split_number<'a>(text: &'a str, sign: &str) -> Option<(&'a str, &'a str)> {
    let digits_on = text.strip_prefix(sign)?;
    let rest = digits_on.trim_start_matches(|character: char| character.is_ascii_digit());
    if rest.len() == digits_on.len() {
        return None;
    }
    text.split_at_checked(text.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str) -> String {
        let pieces = tool_pieces(text).into_iter().map(|(role, text)| match role {
            Role::Added => format!("<{text}>"),
            Role::Removed => format!("[{text}]"),
            _ => text.to_owned(),
        });
        pieces.collect()
    }

    #[test]
    fn the_numbers_of_a_tool_are_marked() {
        for (text, expected) in [
            ("→ edit → a (2 edits) +10/-2", "→ edit → a (2 edits) <+10>/[-2]"),
            ("→ edit → a+b +1/-0 ", "→ edit → a+b <+1>/[-0] "),
            ("→ bash → x +1/2 +3/-4", "→ bash → x +1/2 <+3>/[-4]"),
            ("→ write → a+1 +20 ", "→ write → a+1 <+20> "),
            ("→ write → a +2b", "→ write → a +2b"),
            ("→ read → a +20", "→ read → a +20"),
            ("→ read → a:5+10 (10 lines)", "→ read → a:5+10 (<10> lines)"),
            ("→ read → (x) (1 line) b", "→ read → (x) (<1> line) b"),
            ("→ read → a (10 liness", "→ read → a (10 liness"),
            ("  2 files, 1 dir", "  <2> files, 1 dir"),
            ("  500 files, 3 dirs+", "  <500> files, 3 dirs+"),
            ("  (empty)", "  (empty)"),
            ("  ls: 2 files", "  ls: 2 files"),
            ("→ ls → src", "→ ls → src"),
            ("ż+", "ż+"),
            ("ż", "ż"),
            ("", ""),
        ] {
            assert_eq!(marked(text), expected);
        }
    }

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
