//! Directories, files and scripts as people type them: relative to where they stand.

use std::path::{Component, Path, PathBuf};

use plan::{FileSpec, Lines, check_file};
use tools::TaskArguments;

use crate::error::CommandError;

/// `--cwd`: an absolute path, which must be a directory. What needs no change is not changed, so that the
/// agent is told the path that the user knows.
pub(super) fn directory(typed: &str) -> Result<String, CommandError> {
    let path = Path::new(typed);
    let ascends = path.components().any(|component| component == Component::ParentDir);
    let path = if path.is_absolute() && !ascends {
        path.to_owned()
    } else {
        std::fs::canonicalize(path)
            .map_err(|error| CommandError::usage(format!("--cwd {typed}: {error}")))?
    };
    if !path.is_dir() {
        return Err(CommandError::usage(format!("--cwd {typed}: is not a directory")));
    }
    let path = path.into_os_string().into_string();
    path.map_err(|_| CommandError::usage(format!("--cwd {typed}: is not valid UTF-8")))
}

/// `--file`: a file that is there, or lines that it has. `cwd` is where the task works, if not here.
pub(super) fn file(typed: &str, cwd: Option<&str>) -> Result<FileSpec, CommandError> {
    let here = PathBuf::new();
    let mut file = if here.join(typed).is_file() { whole(typed) } else { with_range(typed) };
    check_file(&file, &here).map_err(|problem| {
        CommandError::usage(format!("--file {typed}: {problem}"))
            .hint("give PATH, PATH:START-END, PATH:START- or PATH:-END")
    })?;
    if cwd.is_some()
        && let Ok(absolute) = std::path::absolute(&file.path)
    {
        // The agent reads it from where it works.
        file.path = absolute.to_string_lossy().into_owned();
    }
    Ok(file)
}

/// Scripts that are there get their whole paths, so that the agent finds them in a worktree, too: git may ignore them, or
/// they may be newer than what the worktree has.
pub(super) fn scripts(task: &mut TaskArguments) {
    let directory = PathBuf::from(task.cwd.as_deref().unwrap_or_default());
    for model in task.model.iter_mut().chain(&mut task.fallback_models) {
        let Some(typed) = model.strip_prefix("script/") else { continue };
        let path = directory.join(typed);
        if let (true, Ok(path)) = (path.is_file(), std::path::absolute(&path)) {
            *model = format!("script/{}", path.display());
        }
    }
}

fn whole(path: &str) -> FileSpec {
    FileSpec { path: path.to_owned(), lines: Lines::All }
}

/// A path with a range of lines behind a colon, if there is one.
fn with_range(text: &str) -> FileSpec {
    let range = text.rsplit_once(':').and_then(|(path, range)| {
        let (start, end) = range.split_once('-').unwrap_or((range, range));
        let number = |digits: &str| {
            if digits.is_empty() { Some(None) } else { digits.parse().ok().map(Some) }
        };
        let (start, end) = (number(start)?, number(end)?);
        (start.is_some() || end.is_some())
            .then(|| FileSpec { path: path.to_owned(), lines: Lines::Range { start, end } })
    });
    range.unwrap_or_else(|| whole(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_stands_behind_the_path() {
        for (text, path, lines) in [
            ("a.rs", "a.rs", Lines::All),
            ("a.rs:2-5", "a.rs", Lines::Range { start: Some(2), end: Some(5) }),
            ("a.rs:2-", "a.rs", Lines::Range { start: Some(2), end: None }),
            ("a.rs:-5", "a.rs", Lines::Range { start: None, end: Some(5) }),
            ("a.rs:7", "a.rs", Lines::Range { start: Some(7), end: Some(7) }),
            ("a:b-c", "a:b-c", Lines::All),
            ("a:-", "a:-", Lines::All),
            ("dir:x/a-b", "dir:x/a-b", Lines::All),
        ] {
            assert_eq!(with_range(text), FileSpec { path: path.to_owned(), lines }, "{text}");
        }
    }
}
