//! Files that are put in front of a prompt.

use std::io::{ErrorKind, Read};
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

fn block(file: &FileSpec, cwd: &Path) -> String {
    let shown = &file.path;
    let path = cwd.join(shown);
    let (opened, length) = match open_plain(&path) {
        Ok(found) => found,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return format!("[file not found: {shown}]");
        }
        Err(_) => return format!("[could not read file: {shown}]"),
    };
    if length > LARGEST {
        let kilobytes = (length + 512) / 1024;
        return format!("[file too large: {shown} ({kilobytes}KB, limit 1024KB)]");
    }
    let mut text = String::new();
    if opened.take(LARGEST).read_to_string(&mut text).is_err() {
        return format!("[could not read file: {shown}]");
    }
    format!("=== {shown} ===\n{}", select(&text, file.lines))
}

fn select(text: &str, lines: Lines) -> String {
    // The line feed at the end of a file ends its last line and begins no other.
    let all: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
    let count = all.len();
    let range = match lines {
        Lines::All => 0..count,
        Lines::Head(number) => 0..number.min(count),
        Lines::Tail(number) => count.saturating_sub(number)..count,
        Lines::Range { start, end } => {
            let start = start.unwrap_or(1).saturating_sub(1).min(count);
            start..end.unwrap_or(count).clamp(start, count)
        }
    };
    all[range].join("\n")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lines_are_selected_in_every_form() {
        let text = "one\ntwo\nthree\nfour\n";
        for (lines, expected) in [
            (Lines::All, "one\ntwo\nthree\nfour"),
            (Lines::Head(2), "one\ntwo"),
            (Lines::Head(99), "one\ntwo\nthree\nfour"),
            (Lines::Tail(1), "four"),
            (Lines::Tail(99), "one\ntwo\nthree\nfour"),
            (Lines::Range { start: Some(2), end: Some(3) }, "two\nthree"),
            (Lines::Range { start: None, end: Some(2) }, "one\ntwo"),
            (Lines::Range { start: Some(3), end: None }, "three\nfour"),
            (Lines::Range { start: Some(0), end: Some(1) }, "one"),
            (Lines::Range { start: Some(3), end: Some(2) }, ""),
            (Lines::Range { start: Some(9), end: Some(99) }, ""),
        ] {
            assert_eq!(select(text, lines), expected, "{lines:?}");
        }
        assert_eq!(select("a\n\n", Lines::All), "a\n");
        assert_eq!(select("", Lines::Tail(3)), "");
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
