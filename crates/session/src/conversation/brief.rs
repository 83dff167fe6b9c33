//! What a tool returned, in one short line.

use crate::text::{cut_chars, one_line};
use crate::tool_summary::{count_entries, tool_summary};

const LONGEST: usize = 200;

/// The result in one line. What a command printed last tells most about it; of everything else the
/// first line does. Files that were read and matches are counted.
pub(super) fn brief(tool: &str, text: &str, is_error: bool, limit_reached: bool) -> String {
    if let Some(summary) = tool_summary(tool, text, is_error, limit_reached) {
        return summary;
    }
    let more = if limit_reached { "+" } else { "" };
    match tool {
        "edit" | "write" if !is_error => String::new(),
        "read" if !is_error => counted(text.lines().count(), "line", "lines", more),
        "grep" if !is_error => match text.trim() {
            "No matches found" => "0 matches".to_owned(),
            found => counted(count_entries(found), "match", "matches", more),
        },
        "bash" => filled_line(text.lines().rev()),
        _ => filled_line(text.lines()),
    }
}

fn counted(count: usize, one: &str, many: &str, more: &str) -> String {
    format!("{count}{more} {}", if count == 1 { one } else { many })
}

fn filled_line<'a>(mut lines: impl Iterator<Item = &'a str>) -> String {
    let line = lines.find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let cut = cut_chars(line, LONGEST);
    format!("{}{}", one_line(cut), if cut.len() < line.len() { "…" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_short() {
        let long = "x".repeat(300);
        for (tool, text, is_error, expected) in [
            ("bash", "running 41 tests\n\nok. 41 passed\n\n", false, "ok. 41 passed"),
            ("bash", "x\nCommand exited with code 1", true, "Command exited with code 1"),
            ("bash", "", false, ""),
            ("read", "a\nb", false, "2 lines"),
            ("read", "a", false, "1 line"),
            ("read", "ENOENT: no such file\n at x", true, "ENOENT: no such file"),
            ("grep", "a:1: x\na:2: y", false, "2 matches"),
            ("grep", "No matches found", false, "0 matches"),
            ("ls", "a\nb/", false, "1 file, 1 dir"),
            ("edit", "Successfully replaced 1 block", false, ""),
            ("edit", "Could not find the text", true, "Could not find the text"),
            ("fetch", "\u{1b}[31mfine\u{1b}[0m\nmore", false, "fine"),
            ("fetch", &long, false, &format!("{}…", "x".repeat(200))),
        ] {
            assert_eq!(brief(tool, text, is_error, false), expected, "{tool} {text:?}");
        }
        assert_eq!(brief("grep", "a\nb", false, true), "2+ matches");
    }
}
