//! Traces of the machine on which a file was made.
//!
//! A path or a host that exists only there would make the repository depend on it.

use super::Violation;
use super::tree::{TextFile, Tree};

/// What no text file contains. Put together from pieces, or this file would break its own rule.
const LOCAL: &[&str] = &[
    concat!("../sha", "red"),
    concat!(".lib", "rary"),
    concat!("index.crates", ".io"),
    concat!("registry.npm", "js.org"),
    concat!("pypi", ".org"),
];

/// Looks through every text file.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    tree.files.iter().flat_map(check_file).collect()
}

fn check_file(file: &TextFile) -> Vec<Violation> {
    let is_npm_lock = file.path.rsplit('/').next() == Some("package-lock.json");
    let mut violations = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let number = index + 1;
        for text in LOCAL.iter().filter(|text| line.contains(**text)) {
            let rule = format!(
                "`{text}`: files name no paths of one machine, and no hosts that packages are \
                 loaded from."
            );
            violations.push(Violation::new(&file.path, number, rule));
        }
        if is_npm_lock && line.trim_start().starts_with("\"resolved\"") {
            let rule = "A lock file of npm has no `resolved`; e2e/.npmrc leaves it out, with \
                        `omit-lockfile-registry-resolved`.";
            violations.push(Violation::new(&file.path, number, rule));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_found(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn traces_are_found_in_every_file() {
        for local in LOCAL {
            let text = format!("a\nb/{local}/c\n");
            assert_eq!(lines_found("README.md", &text), [2], "{local}");
            assert_eq!(lines_found("Cargo.lock", &text), [2], "{local}");
        }
    }

    #[test]
    fn the_lock_file_of_cargo_may_name_its_registry() {
        let source = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
        assert!(lines_found("Cargo.lock", source).is_empty());
    }

    #[test]
    fn the_lock_file_of_npm_says_no_addresses() {
        let text = "{\n  \"resolved\": \"https://example.org/a.tgz\"\n}";
        assert_eq!(lines_found("e2e/package-lock.json", text), [2]);
        assert!(lines_found("e2e/other.json", text).is_empty());
    }
}
