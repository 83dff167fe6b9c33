//! The output of a command. Only its end is kept in memory.

use std::path::{Path, PathBuf};

use model::Redactor;
use serde_json::{Value, json};

use super::cleaner::Cleaner;
use super::full_output::FullOutput;
use crate::message::Content;
use crate::tools::ToolOutput;
use crate::tools::truncation::{
    Extent, Limit, MAX_BYTES, MAX_LINES, Truncation, size, truncate_tail,
};
use crate::tools::utf8::Utf8Decoder;

/// How much text is kept. It may begin within a line, but that is too far back to be shown.
const KEPT_BYTES: usize = 2 * MAX_BYTES;

/// What the model gets of the output of a command that arrives in these pieces. A long output is kept
/// in the directory. The fuzzer uses it, which has output but no command.
pub fn shown_output<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, directory: &Path) -> String {
    let mut output = Output::new(directory.to_owned(), Redactor::default());
    for piece in pieces {
        output.push(piece);
    }
    output.finish();
    output.conclude().0
}

#[derive(Debug, Default)]
pub(super) struct Output {
    decoder: Utf8Decoder,
    cleaner: Cleaner,
    tail: String,
    extent: Extent,
    last_line_bytes: usize,
    raw_bytes: usize,
    full: FullOutput,
    /// For the file with the whole output.
    directory: PathBuf,
}

impl Output {
    pub(super) fn new(directory: PathBuf, redactor: Redactor) -> Output {
        Output { directory, full: FullOutput::new(redactor), ..Output::default() }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let mut text = String::new();
        self.decoder.decode(bytes, &mut text);
        let mut clean = String::new();
        self.cleaner.clean(&text, &mut clean);
        self.push_text(&clean);
        self.raw_bytes += bytes.len();
        self.full.push(bytes);
        if self.is_too_long() || self.raw_bytes > MAX_BYTES {
            self.full.spill(&self.directory);
        }
    }

    /// Ends the output: incomplete characters and sequences are not held back any longer.
    pub(super) fn finish(&mut self) {
        let mut text = String::new();
        self.decoder.finish(&mut text);
        let mut clean = String::new();
        self.cleaner.clean(&text, &mut clean);
        self.cleaner.finish(&mut clean);
        self.push_text(&clean);
        if self.is_too_long() {
            self.full.spill(&self.directory);
        }
        self.full.finish();
    }

    pub(super) fn report(&self) -> ToolOutput {
        let truncation = truncate_tail(&self.tail, self.extent);
        let content = vec![Content::text(truncation.content.clone())];
        let details = self.details(&truncation).unwrap_or_else(|| json!({}));
        ToolOutput { content, details: Some(details) }
    }

    /// The text for the model, with the path of the whole output if it was cut, and the details.
    pub(super) fn conclude(mut self) -> (String, Option<Value>) {
        let truncation = truncate_tail(&self.tail, self.extent);
        let mut text = truncation.content.clone();
        let details = self.details(&truncation);
        if truncation.truncated {
            text.push_str(&self.notice(&truncation));
        }
        (text, details)
    }

    fn push_text(&mut self, text: &str) {
        self.extent.add(text);
        match text.rfind('\n') {
            Some(newline) => self.last_line_bytes = text.len() - newline - 1,
            None => self.last_line_bytes += text.len(),
        }
        self.tail.push_str(text);
        if self.tail.len() > 2 * KEPT_BYTES {
            let start = self.tail.ceil_char_boundary(self.tail.len() - KEPT_BYTES);
            self.tail.drain(..start);
        }
    }

    fn is_too_long(&self) -> bool {
        self.extent.lines() > MAX_LINES || self.extent.bytes > MAX_BYTES
    }

    fn details(&self, truncation: &Truncation) -> Option<Value> {
        let mut details = serde_json::Map::new();
        if truncation.truncated {
            details.insert("truncation".to_owned(), json!(truncation));
            if let Some(path) = self.full.path() {
                details.insert("fullOutputPath".to_owned(), json!(path.to_string_lossy()));
            }
        }
        (!details.is_empty()).then_some(Value::Object(details))
    }

    fn notice(&mut self, truncation: &Truncation) -> String {
        let full = self.full.keep();
        let last = truncation.total_lines;
        let first = last - truncation.output_lines + 1;
        if truncation.last_line_partial {
            let (shown, all) = (size(truncation.output_bytes), size(self.last_line_bytes));
            return format!(
                "\n\n[Showing last {shown} of line {last} (line is {all}). Full output: {full}]"
            );
        }
        let limit = match truncation.truncated_by {
            Some(Limit::Bytes) => format!(" ({} limit)", size(MAX_BYTES)),
            _ => String::new(),
        };
        format!("\n\n[Showing lines {first}-{last} of {last}{limit}. Full output: {full}]")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn output_of(directory: &std::path::Path, text: &str) -> Output {
        let mut output = Output::new(directory.to_owned(), Redactor::default());
        for piece in text.as_bytes().chunks(1000) {
            output.push(piece);
        }
        output.finish();
        output
    }

    /// The text, the details and the content of the file with everything.
    fn conclude(text: &str) -> (String, Option<Value>, Option<String>) {
        let directory = tempfile::tempdir().unwrap();
        let (text, details) = output_of(directory.path(), text).conclude();
        let files: Vec<_> = fs::read_dir(directory.path()).unwrap().map(Result::unwrap).collect();
        assert!(files.len() <= 1);
        let full = files.first().map(|file| fs::read_to_string(file.path()).unwrap());
        let shown = text.replace(&directory.path().display().to_string(), "TMP");
        (shown, details, full)
    }

    #[test]
    fn what_fits_is_shown_as_it_is_and_leaves_no_file() {
        for text in [String::new(), "a\nb".to_owned(), "x\n".repeat(2000), "x".repeat(MAX_BYTES)] {
            assert_eq!(conclude(&text), (text, None, None));
        }
    }

    #[test]
    fn of_many_lines_the_last_are_shown() {
        let all: String = (1..=2005).map(|number| format!("{number}\n")).collect();
        let (text, details, full) = conclude(&all);
        let (shown, notice) = text.split_once("\n\n").unwrap();
        assert_eq!(shown.lines().next(), Some("6"));
        assert_eq!(shown.lines().last(), Some("2005"));
        let rest = notice.strip_prefix("[Showing lines 6-2005 of 2005. Full output: TMP/pi-bash-");
        let (id, rest) = rest.unwrap().split_at(16);
        assert!(id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        assert_eq!(rest, ".log]");
        assert_eq!(full, Some(all));
        let details = details.unwrap();
        assert_eq!(details["truncation"]["truncatedBy"], "lines");
        assert_eq!(details["truncation"]["content"], shown);
        assert!(details["fullOutputPath"].as_str().unwrap().ends_with(&format!("{id}.log")));
    }

    #[test]
    fn of_long_lines_as_many_as_fit_are_shown() {
        let all = format!("{}\n", "x".repeat(99)).repeat(600);
        let (text, details, full) = conclude(&all);
        let notice = "\n\n[Showing lines 89-600 of 600 (50.0KB limit). Full output: TMP/";
        assert!(text.contains(notice), "{}", &text[text.len() - 200..]);
        assert_eq!(full, Some(all));
        assert_eq!(details.unwrap()["truncation"]["outputBytes"], 512 * 100 - 1);
    }

    #[test]
    fn of_one_line_that_is_too_long_the_end_is_shown() {
        let all = format!("first\n{}", "é".repeat(100_000));
        let (text, details, _) = conclude(&all);
        let notice = "\n\n[Showing last 50.0KB of line 2 (line is 195.3KB). Full output: TMP/";
        assert!(text.starts_with('é') && text.contains(notice), "{}", &text[text.len() - 200..]);
        assert_eq!(details.unwrap()["truncation"]["lastLinePartial"], true);
    }

    #[test]
    fn memory_does_not_grow_with_the_output() {
        let directory = tempfile::tempdir().unwrap();
        let mut output = Output::new(directory.path().to_owned(), Redactor::default());
        let piece = "0123456789\n".repeat(1000);
        for _ in 0..2000 {
            output.push(piece.as_bytes());
        }
        assert!(output.tail.capacity() <= 4 * KEPT_BYTES, "{}", output.tail.capacity());
        assert!(output.full.path().is_some());
        let (text, details) = output.conclude();
        assert!(text.contains("[Showing lines 1998001-2000000 of 2000000. Full output: "));
        let path = details.unwrap()["fullOutputPath"].as_str().unwrap().to_owned();
        let metadata = fs::metadata(path).unwrap();
        assert_eq!(metadata.len(), 22_000_000);
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&metadata) & 0o777, 0o600);
    }

    #[test]
    fn a_file_that_is_not_needed_is_not_left() {
        let directory = tempfile::tempdir().unwrap();
        let invisible = "\u{1b}[0m".repeat(MAX_BYTES);
        let output = output_of(directory.path(), &format!("{invisible}seen\n"));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        assert_eq!(output.conclude(), ("seen\n".to_owned(), None));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_no_failure() {
        let directory = tempfile::tempdir().unwrap();
        let output = output_of(&directory.path().join("missing"), &"x\n".repeat(3000));
        let (text, details) = output.conclude();
        assert!(text.contains("of 3000. Full output: could not be saved (No such file"), "{text}");
        assert_eq!(details.unwrap().get("fullOutputPath"), None);
    }

    #[test]
    fn what_is_no_text_is_replaced_wherever_it_is_cut() {
        let directory = tempfile::tempdir().unwrap();
        let mut output = Output::new(directory.path().to_owned(), Redactor::default());
        for piece in [&b"a\xff\xc3"[..], b"\xa9\x1b", b"[1", b"mb\xe2\x82"] {
            output.push(piece);
        }
        output.finish();
        assert_eq!(output.conclude().0, "a\u{fffd}éb\u{fffd}");
    }
}
