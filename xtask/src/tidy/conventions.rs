//! How files are written.

use super::Violation;
use super::pattern;
use super::tree::{TextFile, Tree};

/// A file that is longer has more than one purpose.
const MAXIMAL_LINES: usize = 600;

/// The directories with files of ours. What a fuzzer has found may have any form.
const OURS: &[&str] = &["bench/", "crates/", "fuzz/src/", "fuzz/tests/", "soak/", "xtask/"];

/// What no Rust file contains, not even in a comment. Put together from pieces, or this file would
/// break its own rule.
const UNFINISHED: &[&str] = &[
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("d", "bg!("),
    concat!("#[ig", "nore*"),
    concat!("FIX", "ME"),
    concat!("X", "XX"),
];

/// Checks the form of every file.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let is_ours = |path: &str| OURS.iter().any(|directory| path.starts_with(directory));
    let ours = tree.files.iter().filter(|file| is_ours(&file.path));
    let rust = tree.rust_files().flat_map(|file| {
        let found = [documentation(file), unfinished(file), sleep(file), allow(file)];
        found.into_iter().flatten()
    });
    ours.flat_map(length).chain(rust).collect()
}

fn length(file: &TextFile) -> Vec<Violation> {
    let lines = file.text.lines().count();
    if lines <= MAXIMAL_LINES {
        return Vec::new();
    }
    let rule = format!("A file has at most {MAXIMAL_LINES} lines, this one has {lines}; split it.");
    vec![Violation::new(&file.path, MAXIMAL_LINES + 1, rule)]
}

fn documentation(file: &TextFile) -> Vec<Violation> {
    let is_root = file.path.ends_with("src/lib.rs") || file.path.ends_with("main.rs");
    if !is_root || file.text.starts_with("//!") {
        return Vec::new();
    }
    vec![Violation::new(&file.path, 1, "The root of a crate starts with `//!`: what it is for.")]
}

fn unfinished(file: &TextFile) -> Vec<Violation> {
    lines(file, UNFINISHED, &file.text, "nothing unfinished or switched off is kept.")
}

fn sleep(file: &TextFile) -> Vec<Violation> {
    if !file.directories().any(|directory| directory == "tests") {
        return Vec::new();
    }
    lines(file, &["thread::sleep"], &file.code, "tests wait for what they need, not for a time.")
}

fn allow(file: &TextFile) -> Vec<Violation> {
    let reason = "use `#[expect(…, reason = \"…\")]`, which tells when it is not needed any more.";
    lines(file, &["#[allow(", "#![allow("], &file.code, reason)
}

fn lines(file: &TextFile, patterns: &[&str], text: &str, reason: &str) -> Vec<Violation> {
    pattern::find(patterns, text)
        .into_iter()
        .map(|(line, pattern)| {
            let shown = pattern.trim_end_matches('*');
            Violation::new(&file.path, line, format!("`{shown}`: {reason}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_found(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn long_files_are_found() {
        for path in ["crates/a/src/b.rs", "crates/a/data.json", "fuzz/src/d.rs", "xtask/src/c.rs"] {
            assert!(lines_found(path, &"\n".repeat(600)).is_empty(), "{path}");
            assert_eq!(lines_found(path, &"\n".repeat(601)), [601], "{path}");
        }
        for path in ["e2e/package-lock.json", "fuzz/corpus/a/0123"] {
            assert!(lines_found(path, &"\n".repeat(601)).is_empty(), "{path}");
        }
    }

    #[test]
    fn roots_without_documentation_are_found() {
        for path in ["crates/a/src/lib.rs", "crates/a/src/main.rs", "xtask/src/main.rs"] {
            assert_eq!(lines_found(path, "fn main() {}"), [1], "{path}");
            assert!(lines_found(path, "//! A.").is_empty(), "{path}");
        }
        assert!(lines_found("crates/a/src/b.rs", "").is_empty());
    }

    #[test]
    fn unfinished_code_is_found_even_in_comments() {
        for pattern in UNFINISHED {
            let text = format!("\n// {}", pattern.trim_end_matches('*'));
            assert_eq!(lines_found("crates/a/src/b.rs", &text), [2], "{pattern}");
            assert!(lines_found("README.md", &text).is_empty(), "{pattern}");
        }
        let template = "X".repeat(6);
        assert!(lines_found("crates/a/src/b.rs", &template).is_empty());
    }

    #[test]
    fn sleeping_tests_are_found() {
        let text = "use std::thread;\nthread::sleep(a);\n// thread::sleep(b)";
        assert_eq!(lines_found("crates/a/tests/b.rs", text), [2]);
        assert_eq!(lines_found("crates/a/tests/b/c.rs", text), [2]);
        assert!(lines_found("crates/a/src/tests.rs", text).is_empty());
    }

    #[test]
    fn allowed_lints_are_found() {
        let text = "#![allow(a)]\n#[expect(b, reason = \"#[allow(c)]\")]\n#[allow(d)]\nfn e() {}";
        assert_eq!(lines_found("crates/a/src/b.rs", text), [1, 3]);
    }
}
