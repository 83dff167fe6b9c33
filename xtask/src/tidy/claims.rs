//! The claims of docs/security.md, each of which names the tests that show it.

use super::Violation;
use super::tree::{TextFile, Tree};

const PATH: &str = "docs/security.md";

/// Checks that every row of every table names tests that exist.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let Some(page) = tree.file(PATH) else { return Vec::new() };
    let rows = page.text.lines().enumerate().filter(|(_, line)| is_claim(line));
    let violations = rows.flat_map(|(index, row)| {
        let rules = match tests_of(row) {
            tests if tests.is_empty() => {
                vec!["A claim names the test that shows it, in the last column.".to_owned()]
            }
            tests => tests.into_iter().filter_map(|test| wrong(tree, test)).collect(),
        };
        rules.into_iter().map(move |rule| Violation::new(PATH, index + 1, rule))
    });
    violations.collect()
}

/// Whether the line is a row of a table that is neither its head nor the line below that.
fn is_claim(line: &str) -> bool {
    line.starts_with('|') && !line.starts_with("|---") && !line.starts_with("| claim ")
}

/// The words between backticks in the last column.
fn tests_of(row: &str) -> Vec<&str> {
    let cells = row.trim().trim_matches('|').rsplit('|').next();
    cells.unwrap_or_default().split('`').skip(1).step_by(2).collect()
}

/// What is wrong with the name of a test, which has the form `path/of/its/file::name`.
fn wrong(tree: &Tree, test: &str) -> Option<String> {
    let Some((file, name)) = test.rsplit_once("::") else {
        return Some(format!("`{test}` is not a test: write `path/of/its/file::name`."));
    };
    match tree.file(&format!("{file}.rs")) {
        None => Some(format!("`{test}`: there is no file {file}.rs.")),
        Some(found) if !has_test(found, name) => {
            Some(format!("`{test}`: {file}.rs has no test of that name."))
        }
        Some(_) => None,
    }
}

/// Whether the file has a function of that name that is marked as a test.
fn has_test(file: &TextFile, name: &str) -> bool {
    let declaration = format!("fn {name}(");
    file.code.match_indices(&declaration).any(|(position, _)| {
        // Its attributes follow the item before it.
        let before = &file.code[..position];
        let attributes = before.rfind(['}', ';', '{']).map_or(before, |end| &before[end..]);
        attributes.contains("#[test]")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "fn helper() {}\n\n/// A test.\n#[test]\nfn shows_it() {}\n\n// #[test]\n\
                        fn does_not() {}\nproptest! {\n    #[test]\n    fn any(it in 0..9) {}\n}\n";

    fn rules(row: &str) -> Vec<String> {
        let page = format!("# Security\n\n| claim | test |\n|---|---|\n{row}\n");
        let tree = Tree::of(&[(PATH, &page), ("crates/a/tests/b.rs", CODE)]);
        let violations = check(&tree);
        assert!(violations.iter().all(|violation| violation.line == 5), "{violations:?}");
        violations.into_iter().map(|violation| violation.rule).collect()
    }

    #[test]
    fn tests_that_there_are_are_right() {
        for row in [
            "| It is so. | `crates/a/tests/b::shows_it` |",
            "| `a` is so. | `crates/a/tests/b::shows_it`, `crates/a/tests/b::any` |",
            "It is just so.",
        ] {
            assert!(rules(row).is_empty(), "{row}");
        }
        assert!(check(&Tree::of(&[])).is_empty());
    }

    #[test]
    fn what_is_no_test_is_named() {
        for (row, rule) in [
            ("| It is so. | |", "A claim names the test"),
            ("| `it` is so. | by nature |", "A claim names the test"),
            ("| It is so. | `shows_it` |", "is not a test"),
            (
                "| It is so. | `crates/a/tests/c::shows_it` |",
                "there is no file crates/a/tests/c.rs",
            ),
            ("| It is so. | `crates/a/tests/b::shows` |", "has no test of that name"),
            ("| It is so. | `crates/a/tests/b::helper` |", "has no test of that name"),
            ("| It is so. | `crates/a/tests/b::does_not` |", "has no test of that name"),
        ] {
            let found = rules(row);
            assert!(found.len() == 1 && found[0].contains(rule), "{row}: {found:?}");
        }
    }
}
