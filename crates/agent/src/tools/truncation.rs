//! Cuts a long text for the model.
//!
//! There are two limits, and the one that is hit first wins. Lines are kept whole, with one
//! exception: of a last line that is too long by itself, the end is kept.

use serde::Serialize;

pub(super) const MAX_LINES: usize = 2000;
pub(super) const MAX_BYTES: usize = 50 * 1024;

/// The part of a text that was kept, with the fields of pi's `details`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Truncation {
    pub(super) content: String,
    pub(super) truncated: bool,
    pub(super) truncated_by: Option<Limit>,
    pub(super) total_lines: usize,
    pub(super) total_bytes: usize,
    pub(super) output_lines: usize,
    pub(super) output_bytes: usize,
    pub(super) last_line_partial: bool,
    pub(super) first_line_exceeds_limit: bool,
    pub(super) max_lines: usize,
    pub(super) max_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Limit {
    Lines,
    Bytes,
}

/// The size of a text that was not kept whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) bytes: usize,
    pub(super) newlines: usize,
    pub(super) is_line_open: bool,
}

impl Extent {
    pub(super) fn add(&mut self, text: &str) {
        let Some(last) = text.bytes().last() else { return };
        self.bytes += text.len();
        self.newlines += memchr::memchr_iter(b'\n', text.as_bytes()).count();
        self.is_line_open = last != b'\n';
    }

    /// The number of lines, of which the last may lack its end.
    pub(super) fn lines(self) -> usize {
        self.newlines + usize::from(self.is_line_open)
    }
}

/// Takes a text of any length and keeps only the beginning that can be shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Head {
    /// Up to a little more than the limit.
    beginning: String,
    extent: Extent,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    kept: usize,
    extent: Extent,
}

impl Head {
    pub(super) fn push(&mut self, text: &str) {
        self.extent.add(text);
        // One byte more than the limit shows that a line does not fit, wherever it ends.
        let room = (MAX_BYTES + 1).saturating_sub(self.beginning.len());
        if room > 0 {
            let end = text.ceil_char_boundary(room.min(text.len()));
            self.beginning.push_str(&text[..end]);
        }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { kept: self.beginning.len(), extent: self.extent }
    }

    /// Forgets what came after the mark.
    pub(super) fn rewind(&mut self, mark: Mark) {
        self.beginning.truncate(mark.kept);
        self.extent = mark.extent;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.extent.bytes == 0
    }

    /// The part that is kept. Without a limit of lines, `max_lines` is the largest number.
    pub(super) fn truncate(self, max_lines: usize) -> Truncation {
        let mut truncation = Truncation::untouched(self.extent, max_lines);
        truncation.content = self.beginning;
        if self.extent.lines() <= max_lines && self.extent.bytes <= MAX_BYTES {
            return truncation;
        }
        let (mut end, mut lines, mut limit) = (0, 0, Limit::Lines);
        let mut start = 0;
        for line in truncation.content.split('\n').take(self.extent.lines().min(max_lines)) {
            if start + line.len() > MAX_BYTES {
                limit = Limit::Bytes;
                break;
            }
            end = start + line.len();
            start = end + 1;
            lines += 1;
        }
        truncation.content.truncate(end);
        truncation.first_line_exceeds_limit = lines == 0;
        truncation.cut(limit, lines)
    }
}

/// The end of a text that is kept. `tail` is the whole text, or more of its end than can be shown.
pub(super) fn truncate_tail(tail: &str, extent: Extent) -> Truncation {
    let mut truncation = Truncation::untouched(extent, MAX_LINES);
    if extent.lines() <= MAX_LINES && extent.bytes <= MAX_BYTES {
        truncation.content = tail.to_owned();
        return truncation;
    }
    // A newline at the very end ends the last line and is not shown.
    let text = tail.strip_suffix('\n').unwrap_or(tail);
    let (mut start, mut lines, mut limit) = (text.len(), 0, Limit::Lines);
    for line in text.rsplit('\n').take(MAX_LINES) {
        let line_start = start - line.len() - usize::from(lines > 0);
        if text.len() - line_start > MAX_BYTES {
            limit = Limit::Bytes;
            if lines == 0 {
                start = text.ceil_char_boundary(text.len() - MAX_BYTES);
                lines = 1;
                truncation.last_line_partial = true;
            }
            break;
        }
        start = line_start;
        lines += 1;
    }
    truncation.content = text[start..].to_owned();
    truncation.cut(limit, lines)
}

impl Truncation {
    fn untouched(extent: Extent, max_lines: usize) -> Truncation {
        Truncation {
            content: String::new(),
            truncated: false,
            truncated_by: None,
            total_lines: extent.lines(),
            total_bytes: extent.bytes,
            output_lines: extent.lines(),
            output_bytes: extent.bytes,
            last_line_partial: false,
            first_line_exceeds_limit: false,
            // The largest exact integer of JavaScript means "no limit" in pi's details.
            max_lines: max_lines.min((1 << 53) - 1),
            max_bytes: MAX_BYTES,
        }
    }

    fn cut(mut self, limit: Limit, lines: usize) -> Truncation {
        self.truncated = true;
        self.truncated_by = Some(limit);
        self.output_lines = lines;
        self.output_bytes = self.content.len();
        self
    }
}

pub(super) fn size(bytes: usize) -> String {
    // Exact up to 2^53, which no file reaches.
    let number = bytes as f64;
    if bytes < 1024 {
        format!("{bytes}B")
    } else if bytes < 1024 * 1024 {
        format!("{:.1}KB", number / 1024.0)
    } else {
        format!("{:.1}MB", number / (1024.0 * 1024.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Truncation {
        let mut head = Head::default();
        for piece in text.as_bytes().chunks(1000) {
            head.push(std::str::from_utf8(piece).unwrap());
        }
        head.truncate(MAX_LINES)
    }

    fn tail(text: &str) -> Truncation {
        let mut extent = Extent::default();
        extent.add(text);
        truncate_tail(text, extent)
    }

    /// Lines with their numbers, each with its end.
    fn lines(count: usize) -> String {
        (1..=count).map(|number| format!("{number}\n")).collect()
    }

    #[test]
    fn what_is_within_the_limits_stays_as_it_is() {
        let full = format!("{}\n", "x".repeat(MAX_BYTES - 1));
        for text in [String::new(), "\n".to_owned(), "a\n\nb".to_owned(), lines(2000), full] {
            for truncation in [head(&text), tail(&text)] {
                assert_eq!(truncation.content, text);
                assert!(!truncation.truncated);
                assert_eq!(truncation.truncated_by, None);
                assert_eq!(truncation.output_lines, text.lines().count());
                assert_eq!(truncation.output_bytes, text.len());
            }
        }
    }

    #[test]
    fn lines_that_are_too_many_are_cut_off_at_one_side() {
        let text = lines(2003);
        let truncation = head(&text);
        assert_eq!(truncation.content, lines(2000).trim_end());
        assert_eq!(truncation.truncated_by, Some(Limit::Lines));
        assert_eq!((truncation.output_lines, truncation.total_lines), (2000, 2003));
        let truncation = tail(&text);
        assert_eq!(truncation.content, text[lines(3).len()..].trim_end());
        assert_eq!(truncation.truncated_by, Some(Limit::Lines));
        assert_eq!((truncation.output_lines, truncation.total_lines), (2000, 2003));
        // The last line needs no end.
        assert!(head(&format!("{}x", lines(2000))).truncated);
    }

    #[test]
    fn bytes_that_are_too_many_are_cut_off_between_lines() {
        let line = "x".repeat(1023);
        let text = format!("{line}\n").repeat(51);
        for truncation in [head(&text), tail(&text)] {
            assert_eq!(truncation.content, [line.as_str(); 50].join("\n"));
            assert_eq!(truncation.truncated_by, Some(Limit::Bytes));
            assert_eq!((truncation.output_lines, truncation.total_lines), (50, 51));
            assert_eq!((truncation.output_bytes, truncation.total_bytes), (51_199, 52_224));
            assert!(!truncation.last_line_partial && !truncation.first_line_exceeds_limit);
        }
    }

    #[test]
    fn of_one_line_that_is_too_long_only_the_end_can_be_shown() {
        let text = format!("{}\n", "é".repeat(MAX_BYTES));
        let truncation = head(&text);
        assert!(truncation.first_line_exceeds_limit);
        assert_eq!((truncation.content.as_str(), truncation.output_lines), ("", 0));
        let truncation = tail(&format!("first\na{text}"));
        assert!(truncation.last_line_partial);
        assert_eq!(truncation.content, "é".repeat(MAX_BYTES / 2));
        assert_eq!((truncation.output_lines, truncation.total_lines), (1, 2));
    }

    #[test]
    fn a_head_forgets_what_came_after_a_mark() {
        let mut head = Head::default();
        assert!(head.is_empty());
        head.push("a\n");
        let mark = head.mark();
        head.push(&"b".repeat(2 * MAX_BYTES));
        head.rewind(mark);
        assert!(!head.is_empty());
        head.push("c");
        let truncation = head.truncate(usize::MAX);
        assert_eq!(truncation.content, "a\nc");
        assert_eq!((truncation.total_bytes, truncation.total_lines), (3, 2));
        assert_eq!(truncation.max_lines, 9_007_199_254_740_991);
    }

    #[test]
    fn a_head_keeps_little_of_a_long_text() {
        let mut head = Head::default();
        for _ in 0..1000 {
            head.push(&"é".repeat(1000));
        }
        assert!(head.beginning.len() <= MAX_BYTES + 4);
        assert_eq!(head.truncate(MAX_LINES).total_bytes, 2_000_000);
    }

    #[test]
    fn sizes_are_for_people() {
        let sizes = [0, 1023, 1024, 1536, 1024 * 1024, 5_000_000].map(size);
        assert_eq!(sizes, ["0B", "1023B", "1.0KB", "1.5KB", "1.0MB", "4.8MB"]);
    }
}
