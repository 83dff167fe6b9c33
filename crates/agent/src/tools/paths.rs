//! Resolves paths as models write them.

use std::fs;
use std::path::{Component, Path, PathBuf};

use percent_encoding::percent_decode_str;
use unicode_normalization::UnicodeNormalization as _;

use super::ToolError;

/// The absolute path. Models put an `@` before paths that they saw so in a prompt, write `~`, and use
/// other kinds of spaces.
pub(super) fn resolve(path: &str, cwd: &Path) -> PathBuf {
    resolve_with_home(path, cwd, std::env::home_dir().as_deref())
}

/// The path of an existing file, if there is one: the names of some files on macOS have characters
/// that models write differently.
pub(super) fn resolve_existing(path: &str, cwd: &Path) -> PathBuf {
    let resolved = resolve(path, cwd);
    if resolved.exists() {
        return resolved;
    }
    let Some(text) = resolved.to_str() else { return resolved };
    let decomposed: String = text.nfd().collect();
    let variants = [
        narrow_spaces_before_noon_marks(text),
        decomposed.clone(),
        text.replace('\'', "\u{2019}"),
        decomposed.replace('\'', "\u{2019}"),
    ];
    let existing = variants.into_iter().map(PathBuf::from).find(|variant| variant.exists());
    existing.unwrap_or(resolved)
}

pub(super) fn resolve_directory(path: &str, cwd: &Path) -> Result<PathBuf, ToolError> {
    let directory = resolve(path, cwd);
    let metadata = fs::metadata(&directory)
        .map_err(|_| ToolError(format!("Path not found: {}", directory.display())))?;
    if !metadata.is_dir() {
        return Err(ToolError(format!("Not a directory: {}", directory.display())));
    }
    Ok(directory)
}

fn resolve_with_home(path: &str, cwd: &Path, home: Option<&Path>) -> PathBuf {
    let path: String = path.chars().map(plain_space).collect();
    let path = path.strip_prefix('@').unwrap_or(&path);
    let path = match (path.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(without_scheme(path)),
    };
    normalize(&cwd.join(path))
}

fn plain_space(character: char) -> char {
    match character {
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

/// `file:///a%20b` is `/a b`.
fn without_scheme(path: &str) -> String {
    let Some(rest) = path.strip_prefix("file://") else { return path.to_owned() };
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    percent_decode_str(rest).decode_utf8_lossy().into_owned()
}

/// Removes `.` and `..` from an absolute path, without looking at the files.
fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// The names of screenshots on macOS have a narrow space in "9.41 AM.png".
fn narrow_spaces_before_noon_marks(path: &str) -> String {
    let mut narrow = path.to_owned();
    for mark in ["AM.", "PM.", "am.", "pm."] {
        narrow = narrow.replace(&format!(" {mark}"), &format!("\u{202f}{mark}"));
    }
    narrow
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_understood_as_they_are_meant() {
        let home = Path::new("/home/user");
        for (path, expected) in [
            ("a/b", "/work/a/b"),
            ("/a/b", "/a/b"),
            (".", "/work"),
            ("./a/../b/./c", "/work/b/c"),
            ("../../../x", "/x"),
            ("@a", "/work/a"),
            ("@/a", "/a"),
            ("~", "/home/user"),
            ("~/a", "/home/user/a"),
            ("@~/a", "/home/user/a"),
            ("~other/a", "/work/~other/a"),
            ("a\u{a0}b\u{3000}c", "/work/a b c"),
            ("file:///a%20b/%c3%a9%zz%", "/a b/é%zz%"),
            ("file://localhost/a", "/a"),
            ("", "/work"),
        ] {
            let resolved = resolve_with_home(path, Path::new("/work"), Some(home));
            assert_eq!(resolved, Path::new(expected), "{path}");
        }
        assert_eq!(resolve_with_home("~/a", Path::new("/work"), None), Path::new("/work/~/a"));
    }

    #[test]
    fn files_with_names_that_models_write_differently_are_found() {
        let directory = tempfile::tempdir().unwrap();
        for (stored, typed) in [
            ("at 9.41\u{202f}AM.png", "at 9.41 AM.png"),
            ("cafe\u{301}.txt", "caf\u{e9}.txt"),
            ("d\u{2019}e.txt", "d'e.txt"),
            ("d\u{2019}e\u{301}.txt", "d'\u{e9}.txt"),
        ] {
            let stored = directory.path().join(stored);
            std::fs::write(&stored, "x").unwrap();
            assert_eq!(resolve_existing(typed, directory.path()), stored);
        }
        let missing = directory.path().join("missing AM.png");
        assert_eq!(resolve_existing("missing AM.png", directory.path()), missing);
    }
}
