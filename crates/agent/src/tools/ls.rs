//! Lists a directory.

use std::fs;

use serde_json::{Map, Value};

use super::arguments::{Arguments, count};
use super::notices::Notices;
use super::truncation::Head;
use super::{Call, Tool, ToolError, ToolOutput, paths, schema, system_error};

pub(super) const TOOL: Tool = Tool {
    name: "ls",
    description: "List directory contents. Returns entries sorted alphabetically, with '/' suffix \
                  for directories. Includes dotfiles. Output is truncated to 500 entries or 50KB \
                  (whichever is hit first).",
    snippet: "List directory contents",
    guidelines: &[],
    is_default: false,
    parameters,
    run,
};

const LIMIT: usize = 500;

fn parameters() -> Value {
    schema(
        &[],
        &[
            ("path", "string", "Directory to list (default: current directory)"),
            ("limit", "number", "Maximum number of entries to return (default: 500)"),
        ],
    )
}

fn run(arguments: &Map<String, Value>, call: &mut Call<'_>) -> Result<ToolOutput, ToolError> {
    let mut arguments = Arguments::of(TOOL.name, arguments);
    let path = arguments.optional_text("path").unwrap_or_default();
    let limit = arguments.optional_number("limit").map_or(LIMIT, |limit| count(limit).max(1));
    arguments.finish()?;
    call.check()?;

    let directory = paths::resolve_directory(&path, call.cwd)?;
    let unreadable = |error: std::io::Error| {
        let error = system_error::on_path(&error, "scandir", &directory);
        ToolError(format!("Cannot read directory: {error}"))
    };
    let mut names = Vec::new();
    for entry in fs::read_dir(&directory).map_err(unreadable)? {
        call.check()?;
        names.push(entry.map_err(unreadable)?.file_name());
    }
    // The names themselves order those that differ only in case.
    names.sort_by_cached_key(|name| (sort_key(&name.to_string_lossy()), name.clone()));

    let mut listing = Head::default();
    let mut listed = 0;
    let mut is_limited = false;
    for name in names {
        if listed == limit {
            is_limited = true;
            break;
        }
        call.check()?;
        // Dangling links are not listed.
        let Ok(metadata) = fs::metadata(directory.join(&name)) else { continue };
        let newline = if listed == 0 { "" } else { "\n" };
        let suffix = if metadata.is_dir() { "/" } else { "" };
        listing.push(&format!("{newline}{}{suffix}", name.to_string_lossy()));
        listed += 1;
    }
    if listed == 0 {
        return Ok(ToolOutput::text("(empty directory)"));
    }
    let mut notices = Notices::default();
    if is_limited {
        notices.add_limit("entryLimitReached", limit, "entries", "");
    }
    let truncation = listing.truncate(usize::MAX);
    notices.add_truncation(&truncation);
    Ok(notices.output(truncation.content))
}

/// Sorts names as a dictionary does: punctuation before digits before letters, ignoring case.
fn sort_key(name: &str) -> Vec<(u32, char)> {
    // Unicode's order of the ASCII punctuation.
    const PUNCTUATION: &str = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";
    let rank = |character: char| match PUNCTUATION.find(character) {
        Some(position) => position as u32,
        None => PUNCTUATION.len() as u32,
    };
    name.chars().flat_map(char::to_lowercase).map(|lower| (rank(lower), lower)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::testing::TestDirectory;

    #[test]
    fn entries_are_in_the_order_of_a_dictionary() {
        let directory = TestDirectory::new();
        for name in ["b10", "B-2", "b-1", "b.txt", "b", "B", "_x", ".y", "-z", "é", "ab", "a b"] {
            directory.file(name, "");
        }
        directory.file("c/d", "");
        assert_eq!(
            directory.text("ls", &json!({})),
            "_x\n-z\n.y\na b\nab\nB\nb\nb-1\nB-2\nb.txt\nb10\nc/\né"
        );
    }

    #[test]
    fn links_count_as_what_they_lead_to() {
        let directory = TestDirectory::new();
        directory.file("directory/file", "");
        std::os::unix::fs::symlink("directory", directory.path("to-directory")).unwrap();
        std::os::unix::fs::symlink("directory/file", directory.path("to-file")).unwrap();
        std::os::unix::fs::symlink("nowhere", directory.path("to-nowhere")).unwrap();
        assert_eq!(directory.text("ls", &json!({})), "directory/\nto-directory/\nto-file");
    }

    #[test]
    fn the_limit_and_the_size_are_told() {
        let directory = TestDirectory::new();
        std::fs::create_dir(directory.path("empty")).unwrap();
        assert_eq!(directory.text("ls", &json!({"path": "empty"})), "(empty directory)");
        for number in 0..600 {
            directory.file(&format!("d/{number:0>200}"), "");
        }
        let limited = directory.run("ls", &json!({"path": "d", "limit": 2})).unwrap();
        let names = format!("{:0>200}\n{:0>200}", 0, 1);
        assert_eq!(
            limited.content,
            ToolOutput::text(format!("{names}\n\n[2 entries limit reached. Use limit=4 for more]"))
                .content
        );
        assert_eq!(limited.details, Some(json!({"entryLimitReached": 2})));
        let all =
            directory.run("ls", &json!({"path": "d", "limit": 600})).unwrap().details.unwrap();
        assert_eq!(all.get("entryLimitReached"), None);
        assert_eq!(all["truncation"]["outputLines"], 254);
        assert_eq!(all["truncation"]["totalLines"], 600);
        let text = directory.text("ls", &json!({"path": "d"}));
        let notices = "[500 entries limit reached. Use limit=1000 for more. 50.0KB limit reached]";
        assert!(text.ends_with(notices), "{text}");
    }

    #[test]
    fn a_file_is_no_directory() {
        let directory = TestDirectory::new();
        let file = directory.file("a", "");
        let expected = format!("Not a directory: {}", file.display());
        assert_eq!(directory.error("ls", &json!({"path": "a"})), expected);
    }
}
