//! Reads a file: lines of a text, or an image.

mod image;
mod lines;

use std::io::{Read as _, Seek as _};

use serde_json::{Map, Value, json};

use super::arguments::{Arguments, count};
use super::truncation::{Limit, MAX_BYTES, MAX_LINES, size};
use super::{Call, Tool, ToolError, ToolOutput, files, paths, schema, system_error};
use crate::message::Content;
use lines::{Lines, Range};

pub(super) const TOOL: Tool = Tool {
    name: "read",
    description: "Read the contents of a file. Supports text files and images (jpg, png, gif, \
                  webp, bmp). Images are sent as attachments. For text files, output is truncated \
                  to 2000 lines or 50KB (whichever is hit first). Use offset/limit for large \
                  files. When you need the full file, continue with offset until complete.",
    snippet: "Read file contents",
    guidelines: &["Use read to examine files instead of cat or sed."],
    is_default: true,
    parameters,
    run,
};

fn parameters() -> Value {
    schema(
        &["path"],
        &[
            ("path", "string", "Path to the file to read (relative or absolute)"),
            ("offset", "number", "Line number to start reading from (1-indexed)"),
            ("limit", "number", "Maximum number of lines to read"),
        ],
    )
}

fn run(arguments: &Map<String, Value>, call: &mut Call<'_>) -> Result<ToolOutput, ToolError> {
    let mut arguments = Arguments::of(TOOL.name, arguments);
    let path = arguments.text("path");
    let offset = arguments.optional_number("offset").map_or(0, count);
    let limit = arguments.optional_number("limit").map(count);
    arguments.finish()?;
    call.check()?;

    let target = paths::resolve_existing(&path, call.cwd);
    let mut file = files::open(&target).map_err(|error| error.on("access", &target))?;
    let unreadable = |error: std::io::Error| system_error::of_call(&error, "read");
    let mut beginning = Vec::new();
    let sniffed = file.by_ref().take(image::SNIFFED_BYTES).read_to_end(&mut beginning);
    sniffed.map_err(unreadable)?;
    if let Some(mime_type) = image::recognize(&beginning) {
        return image::read(mime_type, beginning, file).map_err(unreadable);
    }
    file.rewind().map_err(unreadable)?;
    let range = Range { start: offset.saturating_sub(1), limit };
    match lines::read(file, range, call.cancel).map_err(unreadable)? {
        Some(lines) => text(&path, offset, range, lines),
        None => Err(ToolError::aborted()),
    }
}

/// The result for a text, with a notice of how to read on.
fn text(path: &str, offset: usize, range: Range, lines: Lines) -> Result<ToolOutput, ToolError> {
    let total = lines.total;
    if range.start >= total {
        let words = format!("Offset {offset} is beyond end of file ({total} lines total)");
        return Err(ToolError(words));
    }
    let first = range.start + 1;
    let first_line_bytes = lines.first_line_bytes;
    let truncation = lines.selected.truncate(MAX_LINES);
    let last = range.start + truncation.output_lines;
    let mut text = truncation.content.clone();
    if truncation.first_line_exceeds_limit {
        text = format!(
            "[Line {first} is {}, exceeds {} limit. Use bash: sed -n '{first}p' {path} | head -c \
             {MAX_BYTES}]",
            size(first_line_bytes),
            size(MAX_BYTES)
        );
    } else if truncation.truncated {
        let limit = match truncation.truncated_by {
            Some(Limit::Bytes) => format!(" ({} limit)", size(MAX_BYTES)),
            _ => String::new(),
        };
        text.push_str(&format!(
            "\n\n[Showing lines {first}-{last} of {total}{limit}. Use offset={} to continue.]",
            last + 1
        ));
    } else if let Some(limit) = range.limit
        && let end = range.start.saturating_add(limit)
        && end < total
    {
        text.push_str(&format!(
            "\n\n[{} more lines in file. Use offset={} to continue.]",
            total - end,
            end + 1
        ));
    }
    let details = truncation.truncated.then(|| json!({ "truncation": truncation }));
    Ok(ToolOutput { content: vec![Content::text(text)], details })
}

#[cfg(test)]
mod tests;
