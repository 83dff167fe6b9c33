//! The diff of an edit, for views.

use std::time::Duration;

use similar::{ChangeTag, DiffOp, TextDiff};

/// The number of lines that are shown around a change.
const CONTEXT: usize = 4;

/// After this time, a diff that is not the shortest is good enough.
const PATIENCE: Duration = Duration::from_millis(500);

pub(super) struct Diff<'a> {
    diff: TextDiff<'a, 'a, str>,
    /// The changes with the lines around them, joined where they touch.
    groups: Vec<Vec<DiffOp>>,
    old_lines: usize,
    /// The number of digits of the largest line number.
    width: usize,
}

impl<'a> Diff<'a> {
    pub(super) fn of(old: &'a str, new: &'a str) -> Diff<'a> {
        let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
        let groups = diff.grouped_ops(CONTEXT);
        let lines = |text: &str| text.matches('\n').count() + 1;
        let width = lines(old).max(lines(new)).to_string().len();
        let old_lines = diff.old_len();
        Diff { diff, groups, old_lines, width }
    }

    /// The changed lines with their numbers, and dots for lines that are left out.
    pub(super) fn numbered(&self) -> String {
        let dots = format!(" {:width$} ...", "", width = self.width);
        let mut lines = Vec::new();
        let mut shown = 0;
        for group in &self.groups {
            let start = group.first().map_or(0, |op| op.old_range().start);
            if start > shown {
                lines.push(dots.clone());
            }
            for (sign, number, line) in self.lines(group) {
                let line = line.strip_suffix('\n').unwrap_or(line);
                lines.push(format!("{sign}{number:width$} {line}", width = self.width));
            }
            shown = group.last().map_or(0, |op| op.old_range().end);
        }
        if !self.groups.is_empty() && shown < self.old_lines {
            lines.push(dots);
        }
        lines.join("\n")
    }

    pub(super) fn patch(&self, path: &str) -> String {
        let mut patch = format!("--- {path}\n+++ {path}\n");
        for group in &self.groups {
            let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
            let range = |start: usize, end: usize| {
                // An empty range is named by the line before it.
                let shown = if start == end { start } else { start + 1 };
                format!("{shown},{}", end - start)
            };
            let old = range(first.old_range().start, last.old_range().end);
            let new = range(first.new_range().start, last.new_range().end);
            patch.push_str(&format!("@@ -{old} +{new} @@\n"));
            for (sign, _, line) in self.lines(group) {
                patch.push(sign);
                patch.push_str(line);
                if !line.ends_with('\n') {
                    patch.push_str("\n\\ No newline at end of file\n");
                }
            }
        }
        patch
    }

    /// The number that the first changed line has in the new text.
    pub(super) fn first_changed_line(&self) -> Option<usize> {
        let changes = self.groups.iter().flatten();
        let mut changed = changes.filter(|op| !matches!(op, DiffOp::Equal { .. }));
        changed.next().map(|op| op.new_range().start + 1)
    }

    /// Sign, number and text of every line: numbers of the new text for lines that were added,
    /// those of the old one for all others.
    fn lines<'b>(&'b self, group: &'b [DiffOp]) -> impl Iterator<Item = (char, usize, &'b str)> {
        group.iter().flat_map(|op| self.diff.iter_changes(op)).map(|change| {
            let (sign, index) = match change.tag() {
                ChangeTag::Equal => (' ', change.old_index()),
                ChangeTag::Delete => ('-', change.old_index()),
                ChangeTag::Insert => ('+', change.new_index()),
            };
            (sign, index.unwrap_or_default() + 1, change.value())
        })
    }
}
