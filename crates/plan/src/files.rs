//! Files that are put in front of a prompt.

use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::path::Path;

use crate::plain_file::open_plain;

/// A file, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSpec {
    /// As it was given; relative to the directory in which the task works.
    pub path: String,
    /// The part that is meant.
    pub lines: Lines,
}

/// Some lines of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Lines {
    All,
    /// Counted from one, both included. Without a start from the first line, without an end to the
    /// last.
    Range {
        start: Option<usize>,
        end: Option<usize>,
    },
    Head(usize),
    Tail(usize),
}

/// Larger files are not read.
const LARGEST: u64 = 1024 * 1024;

/// The files, each under a header, and the prompt behind them. A file that cannot be read is a
/// placeholder and does not fail the task.
pub fn with_files(files: &[FileSpec], cwd: &Path, prompt: &str) -> String {
    let blocks = files.iter().map(|file| block(file, cwd));
    blocks.chain([prompt.to_owned()]).collect::<Vec<_>>().join("\n\n")
}

/// Why a file, or a part of it, cannot be put in front of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum FileProblem {
    #[error("file not found: {0}")]
    NotFound(String),
    #[error("could not read file: {0}")]
    Unreadable(String),
    #[error("file too large: {path} ({kilobytes}KB, limit 1024KB)")]
    TooLarge { path: String, kilobytes: u64 },
    #[error("file is empty: {0}")]
    Empty(String),
    #[error("no such lines: {path} has {count}")]
    NoSuchLines { path: String, count: usize },
}

/// Makes sure that the file can be put in front of a prompt, and has what is meant of it.
pub fn check_file(file: &FileSpec, cwd: &Path) -> Result<(), FileProblem> {
    read(file, cwd).map(drop)
}

fn block(file: &FileSpec, cwd: &Path) -> String {
    match read(file, cwd) {
        Ok(text) => format!("=== {} ===\n{text}", file.path),
        Err(problem) => format!("[{problem}]"),
    }
}

fn read(file: &FileSpec, cwd: &Path) -> Result<String, FileProblem> {
    let shown = || file.path.clone();
    let (opened, length) = open_plain(&cwd.join(&file.path)).map_err(|error| {
        if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
            FileProblem::NotFound(shown())
        } else {
            FileProblem::Unreadable(shown())
        }
    })?;
    if length > LARGEST {
        let kilobytes = (length + 512) / 1024;
        return Err(FileProblem::TooLarge { path: shown(), kilobytes });
    }
    let mut text = String::new();
    let read = opened.take(LARGEST).read_to_string(&mut text);
    read.map_err(|_| FileProblem::Unreadable(shown()))?;
    if text.is_empty() {
        return Err(FileProblem::Empty(shown()));
    }
    // The line feed at the end of a file ends its last line and begins no other.
    let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(&text).split('\n').collect();
    let selected = &lines[range(file.lines, lines.len())];
    if selected.is_empty() {
        return Err(FileProblem::NoSuchLines { path: shown(), count: lines.len() });
    }
    Ok(selected.join("\n"))
}

/// The indices of the lines, of so many.
fn range(lines: Lines, count: usize) -> Range<usize> {
    match lines {
        Lines::All => 0..count,
        Lines::Head(number) => 0..number.min(count),
        Lines::Tail(number) => count.saturating_sub(number)..count,
        Lines::Range { start, end } => {
            let start = start.unwrap_or(1).saturating_sub(1).min(count);
            start..end.unwrap_or(count).clamp(start, count)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lines_are_selected_in_every_form() {
        for (lines, expected) in [
            (Lines::All, 0..4),
            (Lines::Head(2), 0..2),
            (Lines::Head(99), 0..4),
            (Lines::Tail(1), 3..4),
            (Lines::Tail(99), 0..4),
            (Lines::Range { start: Some(2), end: Some(3) }, 1..3),
            (Lines::Range { start: None, end: Some(2) }, 0..2),
            (Lines::Range { start: Some(3), end: None }, 2..4),
            (Lines::Range { start: Some(0), end: Some(1) }, 0..1),
            (Lines::Range { start: Some(3), end: Some(2) }, 2..2),
            (Lines::Range { start: Some(9), end: Some(99) }, 4..4),
        ] {
            assert_eq!(range(lines, 4), expected, "{lines:?}");
        }
    }

    #[test]
    fn what_is_not_there_is_a_problem() {
        let top = tempfile::tempdir().unwrap();
        fs::write(top.path().join("four"), "one\ntwo\n\nfour\n").unwrap();
        fs::write(top.path().join("empty"), "").unwrap();
        let text = |path: &str, lines| read(&FileSpec { path: path.to_owned(), lines }, top.path());
        let problem = |path: &str, lines| text(path, lines).unwrap_err().to_string();
        assert_eq!(text("four", Lines::All).unwrap(), "one\ntwo\n\nfour");
        assert_eq!(text("four", Lines::Range { start: Some(3), end: Some(3) }).unwrap(), "");
        assert_eq!(problem("empty", Lines::All), "file is empty: empty");
        assert_eq!(problem("none", Lines::All), "file not found: none");
        for (start, end) in [(Some(5), None), (Some(3), Some(2)), (Some(1), Some(0))] {
            let lines = Lines::Range { start, end };
            assert_eq!(problem("four", lines), "no such lines: four has 4", "{lines:?}");
        }
    }

    #[test]
    fn files_stand_before_the_prompt_and_what_cannot_be_read_is_a_placeholder() {
        let top = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| fs::write(top.path().join(name), bytes).unwrap();
        write("a.txt", b"alpha\n");
        write("large.txt", &vec![b'x'; 1024 * 1024 + 1]);
        write("largest.txt", &vec![b'x'; 1024 * 1024]);
        write("binary", &[0xff, 0xfe]);
        fs::create_dir(top.path().join("directory")).unwrap();
        let outside = top.path().join("a.txt");
        let file = |path: &str| FileSpec { path: path.to_owned(), lines: Lines::All };
        let files = [
            file("a.txt"),
            file(outside.to_str().unwrap()),
            file("missing.txt"),
            file("directory"),
            file("binary"),
            file("large.txt"),
        ];
        assert_eq!(
            with_files(&files, top.path(), "Do it."),
            format!(
                "=== a.txt ===\nalpha\n\n=== {} ===\nalpha\n\n[file not found: missing.txt]\n\n\
                 [could not read file: directory]\n\n[could not read file: binary]\n\n\
                 [file too large: large.txt (1024KB, limit 1024KB)]\n\nDo it.",
                outside.display()
            )
        );
        let largest = with_files(&[file("largest.txt")], top.path(), "");
        assert_eq!(largest.len(), "=== largest.txt ===\n".len() + 1024 * 1024 + 2);
        assert_eq!(with_files(&[], top.path(), "Do it."), "Do it.");
    }
}
