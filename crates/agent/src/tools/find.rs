//! Finding files by their names.

use std::ffi::OsStr;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use serde_json::{Map, Value, json};

use super::arguments::{Arguments, count};
use super::notices::Notices;
use super::truncation::Head;
use super::{Call, Tool, ToolError, ToolOutput, paths, walk};

pub(super) const TOOL: Tool = Tool {
    name: "find",
    description: "Search for files by glob pattern. Returns matching file paths relative to the \
                  search directory. Respects .gitignore. Output is truncated to 1000 results or \
                  50KB (whichever is hit first).",
    snippet: "Find files by glob pattern (respects .gitignore)",
    guidelines: &[],
    is_default: false,
    parameters,
    run,
};

const LIMIT: usize = 1000;

fn parameters() -> Value {
    json!({
        "type": "object",
        "required": ["pattern"],
        "properties": {
            "pattern": {
                "type": "string",
                "description": "Glob pattern to match files, e.g. '*.ts', '**/*.json', or \
                                'src/**/*.spec.ts'",
            },
            "path": {
                "type": "string",
                "description": "Directory to search in (default: current directory)",
            },
            "limit": {
                "type": "number",
                "description": "Maximum number of results (default: 1000)",
            },
        },
    })
}

fn run(arguments: &Map<String, Value>, call: &mut Call<'_>) -> Result<ToolOutput, ToolError> {
    let mut arguments = Arguments::of(TOOL.name, arguments);
    let pattern = arguments.text("pattern");
    let path = arguments.optional_text("path").unwrap_or_default();
    let limit = arguments.optional_number("limit").map_or(LIMIT, |limit| count(limit).max(1));
    arguments.finish()?;
    call.check()?;

    let pattern = Pattern::parse(&pattern)?;
    let directory = paths::resolve(&path, call.cwd);
    let metadata = std::fs::metadata(&directory)
        .map_err(|_| ToolError(format!("Path not found: {}", directory.display())))?;
    if !metadata.is_dir() {
        return Err(ToolError(format!("Not a directory: {}", directory.display())));
    }
    let mut listing = Head::default();
    let mut listed = 0;
    // What cannot be read cannot be listed; the rest is still of use.
    for entry in walk::walk(&directory).build().flatten() {
        call.check()?;
        if entry.depth() == 0 || !pattern.matches(entry.path(), entry.file_name()) {
            continue;
        }
        let relative = entry.path().strip_prefix(&directory).unwrap_or(entry.path());
        let newline = if listed == 0 { "" } else { "\n" };
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        let suffix = if is_directory { "/" } else { "" };
        listing.push(&format!("{newline}{}{suffix}", relative.to_string_lossy()));
        listed += 1;
        if listed == limit {
            break;
        }
    }
    if listed == 0 {
        return Ok(ToolOutput::text("No files found matching pattern"));
    }
    let mut notices = Notices::default();
    if listed == limit {
        let more = limit.saturating_mul(2);
        notices.add(
            "resultLimitReached",
            limit,
            format!("{limit} results limit reached. Use limit={more} for more, or refine pattern"),
        );
    }
    let truncation = listing.truncate(usize::MAX);
    notices.add_truncation(&truncation);
    Ok(notices.output(truncation.content))
}

/// A glob, understood as by `fd`: one with a slash is about the end of the whole path, another about
/// the name, and without an upper-case letter it means both cases.
struct Pattern {
    glob: GlobMatcher,
    is_about_path: bool,
}

impl Pattern {
    fn parse(pattern: &str) -> Result<Pattern, ToolError> {
        let is_about_path = pattern.contains('/');
        let is_anchored = pattern.starts_with('/') || pattern.starts_with("**/");
        let prefix = if is_about_path && !is_anchored { "**/" } else { "" };
        let glob = GlobBuilder::new(&format!("{prefix}{pattern}"))
            .literal_separator(true)
            .case_insensitive(!pattern.chars().any(char::is_uppercase))
            .build()
            .map_err(|error| ToolError(error.to_string()))?;
        Ok(Pattern { glob: glob.compile_matcher(), is_about_path })
    }

    fn matches(&self, path: &Path, name: &OsStr) -> bool {
        if self.is_about_path { self.glob.is_match(path) } else { self.glob.is_match(name) }
    }
}
