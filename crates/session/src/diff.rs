//! The diff of what a run changed, as far as a page or a window shows it.

/// How much of one diff is shown, in bytes.
pub const LARGEST_DIFF: usize = 256 * 1024;

/// The beginning of a diff, in whole lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownDiff {
    text: String,
    left_out: usize,
}

/// What a line of a diff is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum DiffLine {
    Added,
    Removed,
    /// Where the lines below stand in their file.
    Position,
    /// The beginning of another file.
    File,
    Other,
}

impl ShownDiff {
    /// A diff as git prints it, of which so many bytes are shown at most.
    pub fn new(diff: &[u8], most: usize) -> ShownDiff {
        let shown = match diff.get(..most) {
            Some(beginning) if diff.len() > most => {
                let end = beginning.iter().rposition(|byte| *byte == b'\n');
                &beginning[..end.map_or(0, |end| end + 1)]
            }
            _ => diff,
        };
        let text = String::from_utf8_lossy(shown).into_owned();
        ShownDiff { text, left_out: diff.len() - shown.len() }
    }

    /// The same diff, of which no more than this is shown.
    #[must_use]
    pub fn cut(&self, most: usize) -> ShownDiff {
        let cut = ShownDiff::new(self.text.as_bytes(), most);
        ShownDiff { left_out: cut.left_out + self.left_out, ..cut }
    }

    /// Its lines. They are as the agent wrote them.
    pub fn lines(&self) -> impl Iterator<Item = (DiffLine, &str)> {
        self.text.lines().map(|line| (DiffLine::of(line), line))
    }

    /// How many bytes at the end are not shown.
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

impl DiffLine {
    /// What a line is about, by its beginning alone.
    pub fn of(line: &str) -> DiffLine {
        match line.as_bytes() {
            [b'+', ..] => DiffLine::Added,
            [b'-', ..] => DiffLine::Removed,
            [b'@', b'@', ..] => DiffLine::Position,
            [b'd', b'i', b'f', b'f', ..] => DiffLine::File,
            _ => DiffLine::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(diff: &ShownDiff) -> Vec<&str> {
        diff.lines().map(|(_, line)| line).collect()
    }

    #[test]
    fn a_diff_is_shown_in_whole_lines_and_says_how_much_is_missing() {
        let diff = b"diff --git a/x b/x\n@@ -1 +1 @@\n-one\n+two\n three\n";
        let whole = ShownDiff::new(diff, diff.len());
        let kinds: Vec<DiffLine> = whole.lines().map(|(kind, _)| kind).collect();
        assert_eq!(
            kinds,
            [
                DiffLine::File,
                DiffLine::Position,
                DiffLine::Removed,
                DiffLine::Added,
                DiffLine::Other
            ]
        );
        assert_eq!(whole.left_out(), 0);
        let shown = ShownDiff::new(diff, diff.len() - 1);
        assert_eq!((lines(&shown).len(), shown.left_out()), (4, " three\n".len()));
        let less = shown.cut(20);
        assert_eq!(lines(&less), ["diff --git a/x b/x"]);
        assert_eq!(less.left_out(), diff.len() - "diff --git a/x b/x\n".len());
        assert_eq!(shown.cut(0).left_out(), diff.len());
        assert_eq!(ShownDiff::new(b"\xff\n", 1).left_out(), 2, "the first line is too long");
        assert_eq!(lines(&ShownDiff::new(b"\xff\n", 2)), ["\u{fffd}"]);
    }
}
