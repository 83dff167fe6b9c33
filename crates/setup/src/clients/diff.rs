//! Shows a change.
//!
//! It has only lines of our own entry, because other lines may hold the keys of other servers.

use similar::{ChangeTag, TextDiff};

/// A unified diff of lines at `line`. For a file that is created or removed, the other side is
/// `/dev/null`.
pub(super) fn unified(
    path: &str,
    line: usize,
    before: Option<&str>,
    after: Option<&str>,
    is_whole_file: bool,
) -> String {
    let side = |text: Option<&str>| match text {
        None if is_whole_file => "/dev/null",
        _ => path,
    };
    let mut lines = vec![
        format!("--- {}", side(before)),
        format!("+++ {}", side(after)),
        format!("@@ line {line} @@"),
    ];
    let diff = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
    for change in diff.iter_all_changes() {
        let sign = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        };
        lines.push(format!("{sign}{}", change.value().trim_end_matches(['\n', '\r'])));
    }
    lines.join("\n")
}
