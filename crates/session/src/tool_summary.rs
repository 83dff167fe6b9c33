//! The result of a tool, in a few words.

use model::Event;

/// The summary of a result of `ls` or `find`. Other tools, and failures, have none.
///
/// `limit_reached` means that the tool itself reports that there was more.
pub fn tool_summary(tool: &str, text: &str, is_error: bool, limit_reached: bool) -> Option<String> {
    if is_error {
        return None;
    }
    let summary = match tool {
        "ls" => list_summary(text),
        "find" => find_summary(text),
        _ => return None,
    };
    let more = if limit_reached || is_cut(text) { "+" } else { "" };
    Some(format!("{summary}{more}"))
}

fn list_summary(text: &str) -> String {
    if text.trim() == "(empty directory)" {
        return "(empty)".to_owned();
    }
    let directories = entries(text).filter(|entry| entry.ends_with('/')).count();
    let files = entries(text).count().saturating_sub(directories);
    let parts: Vec<String> = [(files, "file"), (directories, "dir")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, noun)| format!("{count} {noun}{}", if count == 1 { "" } else { "s" }))
        .collect();
    if parts.is_empty() { "(empty)".to_owned() } else { parts.join(", ") }
}

fn find_summary(text: &str) -> String {
    if text.trim() == "No files found matching pattern" {
        return "0 matches".to_owned();
    }
    match entries(text).count() {
        1 => "1 match".to_owned(),
        count => format!("{count} matches"),
    }
}

/// The number of lines that name an entry.
pub(crate) fn count_entries(text: &str) -> usize {
    entries(text).count()
}

/// The lines that name an entry. A notice of the tool is a line in brackets; a name such as
/// `[id].tsx` or `[slug]/` does not end with one.
fn entries(text: &str) -> impl Iterator<Item = &str> {
    let is_notice = |line: &str| line.starts_with('[') && line.ends_with(']');
    let lines = text.lines().map(str::trim_end);
    lines.filter(move |line| !line.is_empty() && !is_notice(line))
}

/// Whether a text is so long that its end was not kept.
fn is_cut(text: &str) -> bool {
    text.len() + char::MAX_LEN_UTF8 > Event::TOOL_RESULT_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_matches_are_counted() {
        let many = format!("{}a/\nb/\nc/\n\n[500 entries limit reached]", "f\n".repeat(500));
        for (tool, text, limit_reached, expected) in [
            ("ls", "", false, "(empty)"),
            ("ls", "(empty directory)\n", false, "(empty)"),
            ("ls", "a\nb\nsrc/", false, "2 files, 1 dir"),
            ("ls", "src/", false, "1 dir"),
            ("ls", "a\r\n", false, "1 file"),
            ("ls", "a\nb/\n[limit]", true, "1 file, 1 dir+"),
            ("ls", "[id].tsx\n[slug]/", false, "1 file, 1 dir"),
            ("ls", "[limit]", false, "(empty)"),
            ("ls", &many, true, "500 files, 3 dirs+"),
            ("find", "", false, "0 matches"),
            ("find", "No files found matching pattern", false, "0 matches"),
            ("find", "a.ts", false, "1 match"),
            ("find", "a.ts\nb/\nc.ts\n\n[x]", true, "3 matches+"),
        ] {
            let summary = tool_summary(tool, text, false, limit_reached);
            assert_eq!(summary.as_deref(), Some(expected), "{tool} {text}");
        }
    }

    #[test]
    fn a_result_that_was_cut_has_more() {
        let text = "ab\n".repeat(Event::TOOL_RESULT_BYTES / 3);
        let expected = format!("{} matches+", Event::TOOL_RESULT_BYTES / 3);
        assert_eq!(tool_summary("find", &text, false, false), Some(expected));
    }

    #[test]
    fn failures_and_other_tools_have_no_summary() {
        assert_eq!(tool_summary("ls", "a", true, false), None);
        assert_eq!(tool_summary("read", "a", false, false), None);
    }
}
