//! Finds files by their names.

use std::ffi::OsStr;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use serde_json::{Map, Value};

use super::arguments::{Arguments, count};
use super::notices::Notices;
use super::truncation::Head;
use super::{Call, Tool, ToolError, ToolOutput, paths, schema, walk};

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
    schema(
        &["pattern"],
        &[
            (
                "pattern",
                "string",
                "Glob pattern to match files, e.g. '*.ts', '**/*.json', or 'src/**/*.spec.ts'",
            ),
            ("path", "string", "Directory to search in (default: current directory)"),
            ("limit", "number", "Maximum number of results (default: 1000)"),
        ],
    )
}

fn run(arguments: &Map<String, Value>, call: &mut Call<'_>) -> Result<ToolOutput, ToolError> {
    let mut arguments = Arguments::of(TOOL.name, arguments);
    let pattern = arguments.text("pattern");
    let path = arguments.optional_text("path").unwrap_or_default();
    let limit = arguments.optional_number("limit").map_or(LIMIT, |limit| count(limit).max(1));
    arguments.finish()?;
    call.check()?;

    let pattern = Pattern::parse(&pattern)?;
    let directory = paths::resolve_directory(&path, call.cwd)?;
    let mut listing = Head::default();
    let mut listed = 0;
    // Directories that cannot be read are skipped.
    for entry in walk::walk(&directory)?.build().flatten() {
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
        notices.add_limit("resultLimitReached", limit, "results", ", or refine pattern");
    }
    let truncation = listing.truncate(usize::MAX);
    notices.add_truncation(&truncation);
    Ok(notices.output(truncation.content))
}

/// A glob with the meaning that it has for `fd`: with a slash, it matches the end of the path, else
/// the name; without an upper-case letter, it ignores case.
struct Pattern {
    glob: GlobMatcher,
    matches_path: bool,
}

impl Pattern {
    fn parse(pattern: &str) -> Result<Pattern, ToolError> {
        walk::check_pattern(pattern)?;
        let matches_path = pattern.contains('/');
        let is_anchored = pattern.starts_with('/') || pattern.starts_with("**/");
        let prefix = if matches_path && !is_anchored { "**/" } else { "" };
        let glob = GlobBuilder::new(&format!("{prefix}{pattern}"))
            .literal_separator(true)
            .case_insensitive(!pattern.chars().any(char::is_uppercase))
            .build()
            .map_err(|error| ToolError(error.to_string()))?;
        Ok(Pattern { glob: glob.compile_matcher(), matches_path })
    }

    fn matches(&self, path: &Path, name: &OsStr) -> bool {
        if self.matches_path { self.glob.is_match(path) } else { self.glob.is_match(name) }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;
    use crate::tools::testing::TestDirectory;

    fn directory() -> TestDirectory {
        let directory = TestDirectory::new();
        for name in
            ["src/main.rs", "src/a/Lib.RS", "src/a/b.ts", "src.rs", ".hidden.rs", "top/x.spec.ts"]
        {
            directory.file(name, "");
        }
        directory
    }

    #[test]
    fn names_and_paths_are_matched_as_by_fd() {
        let directory = directory();
        for (arguments, expected) in [
            // In the order of the paths, hidden files included.
            (json!({"pattern": "*.rs"}), ".hidden.rs\nsrc/a/Lib.RS\nsrc/main.rs\nsrc.rs"),
            (json!({"pattern": "*.RS"}), "src/a/Lib.RS"),
            (json!({"pattern": "*.rs", "path": "src"}), "a/Lib.RS\nmain.rs"),
            (json!({"pattern": "src/*"}), "src/a/\nsrc/main.rs"),
            (json!({"pattern": "src/**/*.ts"}), "src/a/b.ts"),
            (json!({"pattern": "**/*.ts"}), "src/a/b.ts\ntop/x.spec.ts"),
            (json!({"pattern": "a"}), "src/a/"),
            (json!({"pattern": "*.{ts,tsx}"}), "src/a/b.ts\ntop/x.spec.ts"),
            (json!({"pattern": "[x]*"}), "top/x.spec.ts"),
            (json!({"pattern": "*.py"}), "No files found matching pattern"),
        ] {
            assert_eq!(directory.text("find", &arguments), expected, "{arguments}");
        }
        let absolute = json!({"pattern": format!("{}/*.rs", directory.cwd().display())});
        assert_eq!(directory.text("find", &absolute), ".hidden.rs\nsrc.rs");
    }

    #[test]
    fn what_git_ignores_is_left_out() {
        let directory = TestDirectory::new();
        for name in
            ["a.txt", "a.skip", "skipped/b.txt", "sub/c.skip", "sub/keep.skip", ".git/d.txt"]
        {
            directory.file(name, "");
        }
        directory.file(".gitignore", "*.skip\n/skipped/\n");
        directory.file("sub/.gitignore", "!keep.skip\n");
        let expected = ".gitignore\na.txt\nsub/\nsub/.gitignore\nsub/keep.skip";
        assert_eq!(directory.text("find", &json!({"pattern": "*"})), expected);
        assert_eq!(
            directory.text("find", &json!({"pattern": "*.skip", "path": "sub"})),
            "keep.skip"
        );
        // The same without a repository.
        fs::remove_dir_all(directory.path(".git")).unwrap();
        assert_eq!(directory.text("find", &json!({"pattern": "*"})), expected);
        // A repository within has its own rules only.
        fs::create_dir(directory.path(".git")).unwrap();
        fs::create_dir(directory.path("sub/.git")).unwrap();
        let expected = "sub/c.skip\nsub/keep.skip";
        assert_eq!(directory.text("find", &json!({"pattern": "*.skip"})), expected);
    }

    #[test]
    fn limits_are_told() {
        let directory = TestDirectory::new();
        for number in 0..300 {
            directory.file(&format!("{number:0>200}"), "");
        }
        let limited = directory.run("find", &json!({"pattern": "*", "limit": 1})).unwrap();
        let text = format!(
            "{:0>200}\n\n[1 results limit reached. Use limit=2 for more, or refine pattern]",
            0
        );
        assert_eq!(limited.content, ToolOutput::text(text).content);
        assert_eq!(limited.details, Some(json!({"resultLimitReached": 1})));
        let all = directory.run("find", &json!({"pattern": "*"})).unwrap();
        assert_eq!(all.details.unwrap()["truncation"]["outputLines"], 254);
    }

    #[test]
    fn what_cannot_be_searched_is_told() {
        let directory = directory();
        let file = directory.path("src.rs").display().to_string();
        let error = directory.error("find", &json!({"pattern": "*", "path": "src.rs"}));
        assert_eq!(error, format!("Not a directory: {file}"));
        let error = directory.error("find", &json!({"pattern": "[a"}));
        assert!(error.contains("[a") && error.contains("unclosed"), "{error}");
    }
}
