//! Searches the contents of files.

use std::io::{self, Read};
use std::path::Path;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};
use ignore::overrides::OverrideBuilder;
use serde_json::{Map, Value};

use super::arguments::{Arguments, count};
use super::notices::Notices;
use super::truncation::Head;
use super::{Call, Tool, ToolError, ToolOutput, files, paths, schema, walk};
use crate::cancel::Cancel;

pub(super) const TOOL: Tool = Tool {
    name: "grep",
    description: "Search file contents for a pattern. Returns matching lines with file paths and \
                  line numbers. Respects .gitignore. Output is truncated to 100 matches or 50KB \
                  (whichever is hit first). Long lines are truncated to 500 chars.",
    snippet: "Search file contents for patterns (respects .gitignore)",
    guidelines: &[],
    is_default: false,
    parameters,
    run,
};

const LIMIT: usize = 100;

/// The longest line that is shown, in characters.
const LINE_LIMIT: usize = 500;

/// The memory of the searcher. A file with a longer line is given up.
const MEMORY_LIMIT: usize = 32 * 1024 * 1024;

fn parameters() -> Value {
    schema(
        &["pattern"],
        &[
            ("pattern", "string", "Search pattern (regex or literal string)"),
            ("path", "string", "Directory or file to search (default: current directory)"),
            ("glob", "string", "Filter files by glob pattern, e.g. '*.ts' or '**/*.spec.ts'"),
            ("ignoreCase", "boolean", "Case-insensitive search (default: false)"),
            (
                "literal",
                "boolean",
                "Treat pattern as literal string instead of regex (default: false)",
            ),
            (
                "context",
                "number",
                "Number of lines to show before and after each match (default: 0)",
            ),
            ("limit", "number", "Maximum number of matches to return (default: 100)"),
        ],
    )
}

fn run(arguments: &Map<String, Value>, call: &mut Call<'_>) -> Result<ToolOutput, ToolError> {
    let mut arguments = Arguments::of(TOOL.name, arguments);
    let pattern = arguments.text("pattern");
    let path = arguments.optional_text("path").unwrap_or_default();
    let glob = arguments.optional_text("glob").filter(|glob| !glob.is_empty());
    let ignore_case = arguments.flag("ignoreCase");
    let literal = arguments.flag("literal");
    let context = arguments.optional_number("context").map_or(0, count);
    let limit = arguments.optional_number("limit").map_or(LIMIT, |limit| count(limit).max(1));
    arguments.finish()?;
    call.check()?;

    let matcher = RegexMatcherBuilder::new()
        .case_insensitive(ignore_case)
        .fixed_strings(literal)
        .multi_line(true)
        .line_terminator(Some(b'\n'))
        .build(&pattern)
        .map_err(|error| ToolError(error.to_string()))?;
    let target = paths::resolve(&path, call.cwd);
    let metadata = std::fs::metadata(&target)
        .map_err(|_| ToolError(format!("Path not found: {}", target.display())))?;
    let mut found = Found::new(limit, context, call.cancel);
    let mut searcher = searcher(context);
    if metadata.is_dir() {
        let mut walk = walk::walk(&target)?;
        if let Some(glob) = &glob {
            walk::check_pattern(glob)?;
            let root = if target.starts_with(call.cwd) { call.cwd } else { &target };
            let overrides = OverrideBuilder::new(root)
                .add(glob)
                .and_then(|builder| builder.build())
                .map_err(|error| ToolError(error.to_string()))?;
            walk.overrides(overrides);
        }
        for entry in walk.build() {
            call.check()?;
            let Ok(entry) = entry else {
                found.unread += 1;
                continue;
            };
            if entry.file_type().is_some_and(|kind| kind.is_file()) {
                let relative = entry.path().strip_prefix(&target).unwrap_or(entry.path());
                found.search(&mut searcher, &matcher, entry.path(), relative);
            }
            if found.is_full {
                break;
            }
        }
    } else if metadata.is_file() {
        let name = target.file_name().map_or(target.as_path(), Path::new);
        found.search(&mut searcher, &matcher, &target, name);
    } else {
        return Err(files::not_regular(&target));
    }
    call.check()?;
    Ok(found.output())
}

fn searcher(context: usize) -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MEMORY_LIMIT))
        .build()
}

/// The matches so far, and the state of the search in the current file.
struct Found<'a> {
    limit: usize,
    context: usize,
    cancel: &'a Cancel,
    /// The name of the current file in the output.
    file: String,
    text: Head,
    matches: usize,
    has_cut_lines: bool,
    is_binary: bool,
    /// Whether the limit was reached, so that the search can end.
    is_full: bool,
    /// The number of files that could not be read.
    unread: usize,
}

impl<'a> Found<'a> {
    fn new(limit: usize, context: usize, cancel: &'a Cancel) -> Found<'a> {
        Found {
            limit,
            context,
            cancel,
            file: String::new(),
            text: Head::default(),
            matches: 0,
            has_cut_lines: false,
            is_binary: false,
            is_full: false,
            unread: 0,
        }
    }

    fn search(
        &mut self,
        searcher: &mut Searcher,
        matcher: &RegexMatcher,
        path: &Path,
        name: &Path,
    ) {
        self.file = name.to_string_lossy().into_owned();
        self.is_binary = false;
        let before = (self.text.mark(), self.matches, self.has_cut_lines);
        match files::open(path) {
            Ok(file) => self.search_text(searcher, matcher, file),
            Err(_) => self.unread += 1,
        }
        // The first zero byte may come after some matches.
        if self.is_binary {
            self.text.rewind(before.0);
            (self.matches, self.has_cut_lines) = (before.1, before.2);
        }
        self.is_full = self.matches >= self.limit;
    }

    fn search_text(&mut self, searcher: &mut Searcher, matcher: &RegexMatcher, text: impl Read) {
        let text = Cancellable { text, cancel: self.cancel };
        if searcher.search_reader(matcher, text, &mut *self).is_err() {
            self.unread += 1;
        }
    }

    fn add(&mut self, mark: char, number: Option<u64>, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let line: String =
            line.chars().filter(|character| !matches!(character, '\r' | '\n')).collect();
        let end = line.char_indices().nth(LINE_LIMIT).map(|(end, _)| end);
        self.has_cut_lines |= end.is_some();
        let (line, cut) = match end {
            Some(end) => (&line[..end], "... [truncated]"),
            None => (line.as_str(), ""),
        };
        let newline = if self.text.is_empty() { "" } else { "\n" };
        let number = number.unwrap_or_default();
        self.text.push(&format!("{newline}{}{mark}{number}{mark} {line}{cut}", self.file));
    }

    fn output(self) -> ToolOutput {
        let mut notices = Notices::default();
        if self.is_full {
            notices.add_limit("matchLimitReached", self.limit, "matches", ", or refine pattern");
        }
        let truncation = self.text.truncate(usize::MAX);
        notices.add_truncation(&truncation);
        if self.has_cut_lines {
            let words = format!(
                "Some lines truncated to {LINE_LIMIT} chars. Use read tool to see full lines"
            );
            notices.add("linesTruncated", true, words);
        }
        if self.unread > 0 {
            let words = format!("{} files or directories could not be read", self.unread);
            notices.add("unreadable", self.unread, words);
        }
        let text =
            if self.matches == 0 { "No matches found".to_owned() } else { truncation.content };
        notices.output(text)
    }
}

/// Reading fails once the search is cancelled.
struct Cancellable<'a, R> {
    text: R,
    cancel: &'a Cancel,
}

impl<R: Read> Read for Cancellable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        self.text.read(buffer)
    }
}

impl Sink for &mut Found<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        // The context after the last match is complete by now.
        if self.matches == self.limit || self.cancel.is_cancelled() {
            return Ok(false);
        }
        self.matches += 1;
        self.add(':', found.line_number(), found.bytes());
        Ok(self.matches < self.limit || self.context > 0)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        self.add('-', context.line_number(), context.bytes());
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        Ok(self.matches < self.limit)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.is_binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
