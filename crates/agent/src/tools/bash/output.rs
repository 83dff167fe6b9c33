//! The output of a command, of which only the end is kept in memory.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::cleaner::Cleaner;
use super::full_output::FullOutput;
use crate::message::Content;
use crate::tools::ToolOutput;
use crate::tools::lossy::LossyDecoder;
use crate::tools::truncation::{
    Extent, Limit, MAX_BYTES, MAX_LINES, Truncation, size, truncate_tail,
};

/// How much text is kept. Twice of what is shown, so that the first line that is shown is whole.
const KEPT_BYTES: usize = 2 * MAX_BYTES;

/// What a command has printed so far.
#[derive(Debug)]
pub(super) struct Output {
    decoder: LossyDecoder,
    cleaner: Cleaner,
    tail: String,
    /// Whether the tail begins with a line, and not within one.
    is_tail_whole: bool,
    extent: Extent,
    last_line_bytes: usize,
    raw_bytes: usize,
    full: FullOutput,
    /// Where the file with everything goes.
    directory: PathBuf,
}

impl Output {
    /// Nothing yet.
    pub(super) fn new(directory: PathBuf) -> Output {
        Output {
            decoder: LossyDecoder::default(),
            cleaner: Cleaner::default(),
            tail: String::new(),
            is_tail_whole: true,
            extent: Extent::default(),
            last_line_bytes: 0,
            raw_bytes: 0,
            full: FullOutput::default(),
            directory,
        }
    }

    /// Takes more.
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

    /// Takes what was held back because more could have come.
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
    }

    /// What there is to show of a command that goes on.
    pub(super) fn report(&self) -> ToolOutput {
        let truncation = self.truncate();
        let content = vec![Content::text(truncation.content.clone())];
        let details = self.details(&truncation).unwrap_or_else(|| json!({}));
        ToolOutput { content, details: Some(details) }
    }

    /// What there is to say when it has ended: the text, with where the rest of it is, and the
    /// details.
    pub(super) fn conclude(mut self) -> (String, Option<Value>) {
        let truncation = self.truncate();
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
            self.is_tail_whole = self.tail.as_bytes()[start - 1] == b'\n';
            self.tail.drain(..start);
        }
    }

    fn is_too_long(&self) -> bool {
        self.extent.lines() > MAX_LINES || self.extent.bytes > MAX_BYTES
    }

    fn truncate(&self) -> Truncation {
        let rest_of_line = match self.tail.find('\n') {
            Some(newline) if !self.is_tail_whole => newline + 1,
            _ => 0,
        };
        truncate_tail(&self.tail[rest_of_line..], self.extent)
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
