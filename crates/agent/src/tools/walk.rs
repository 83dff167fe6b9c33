//! Walks the files for `grep` and `find`.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};

use super::ToolError;
use super::files::{self, Unreadable};

/// The files that can have the ignore rules of a directory.
const RULES: [&str; 3] = [".gitignore", ".ignore", ".git/info/exclude"];
const LARGEST_RULES: u64 = 16 * 1024 * 1024;
/// The most braces that a pattern may open. The parser recurses for each nested brace, and thousands
/// of them would overflow the stack, which would end the agent.
const MOST_BRACES: usize = 250;

/// Walks everything below the directory that git does not ignore, in the order of the paths, with
/// hidden files, but without `.git`.
///
/// A directory with unusable ignore rules is left out. If it is the directory itself or one above it,
/// that is an error.
pub(super) fn walk(directory: &Path) -> Result<WalkBuilder, ToolError> {
    if let Some((path, reason)) = directory.ancestors().find_map(unusable_rules) {
        return Err(ToolError(format!("{} cannot be used: {reason}", path.display())));
    }
    let mut walk = WalkBuilder::new(directory);
    // Within a repository, the rules of an outer repository do not apply. Outside of repositories,
    // `.gitignore` applies all the same.
    let is_in_repository = directory.ancestors().any(|ancestor| ancestor.join(".git").exists());
    let is_included = |entry: &DirEntry| {
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        entry.file_name() != ".git" && !(is_directory && unusable_rules(entry.path()).is_some())
    };
    walk.hidden(false)
        .require_git(is_in_repository)
        .sort_by_file_path(Path::cmp)
        .filter_entry(move |entry| entry.depth() == 0 || is_included(entry));
    Ok(walk)
}

pub(super) fn check_pattern(pattern: &str) -> Result<(), ToolError> {
    if has_too_many_braces(pattern.as_bytes()) {
        return Err(ToolError(format!("the pattern opens more than {MOST_BRACES} braces")));
    }
    Ok(())
}

/// The ignore rules of this directory that must not be read, and why: a pipe would block for ever,
/// and a device has no end.
fn unusable_rules(directory: &Path) -> Option<(PathBuf, String)> {
    RULES.iter().map(|name| directory.join(name)).find_map(|path| {
        let reason = match files::open(&path) {
            Ok(file) => problem(file).unwrap_or_else(|error| Some(error.to_string())),
            Err(Unreadable::NotRegular) => Some("it is not a regular file".to_owned()),
            // Missing and unreadable files have no rules.
            Err(Unreadable::Directory | Unreadable::Refused(_)) => None,
        };
        reason.map(|reason| (path, reason))
    })
}

fn problem(file: std::fs::File) -> io::Result<Option<String>> {
    if file.metadata()?.len() > LARGEST_RULES {
        return Ok(Some(format!("it has more than {LARGEST_RULES} bytes")));
    }
    for line in BufReader::new(file.take(LARGEST_RULES)).split(b'\n') {
        if has_too_many_braces(&line?) {
            return Ok(Some(format!("a line opens more than {MOST_BRACES} braces")));
        }
    }
    Ok(None)
}

/// Counts all braces, because only the parser knows which of them are nested.
fn has_too_many_braces(pattern: &[u8]) -> bool {
    memchr::memchr_iter(b'{', pattern).count() > MOST_BRACES
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::tools::testing::TestDirectory;

    fn nested(depth: usize) -> String {
        format!("{}a{}", "{".repeat(depth), "}".repeat(depth))
    }

    #[test]
    fn braces_within_one_another_do_not_overflow_the_stack() {
        let directory = TestDirectory::new();
        directory.file("a", "a");
        let words = "the pattern opens more than 250 braces";
        for depth in [251, 100_000] {
            let pattern = nested(depth);
            assert_eq!(directory.error("find", &json!({"pattern": pattern})), words);
            assert_eq!(directory.error("grep", &json!({"pattern": "a", "glob": pattern})), words);
        }
        assert_eq!(directory.text("find", &json!({"pattern": nested(50)})), "a");
    }

    #[test]
    fn rules_that_are_no_plain_file_or_too_deep_are_not_read() {
        let directory = TestDirectory::new();
        directory.file("a", "word");
        directory.file("deep/b", "word");
        directory.file("deep/.gitignore", nested(100_000));
        directory.file("pipe/c", "word");
        let pipe = directory.path("pipe/.ignore");
        process::make_named_pipe(&pipe).unwrap();
        directory.file("usual/d", "word");
        directory.file("usual/.gitignore", "{e,f}\n");
        directory.file("usual/e", "word");
        assert_eq!(
            directory.text("grep", &json!({"pattern": "word"})),
            "a:1: word\nusual/d:1: word"
        );
        for (below, name, reason) in [
            ("deep", ".gitignore", "a line opens more than 250 braces"),
            ("pipe", ".ignore", "it is not a regular file"),
        ] {
            let path = directory.path(below).join(name);
            assert_eq!(
                directory.error("find", &json!({"pattern": "*", "path": below})),
                format!("{} cannot be used: {reason}", path.display())
            );
        }
    }
}
