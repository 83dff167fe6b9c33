//! The claims of documents, each of which names the tests that show it.

use super::Violation;
use super::tree::{TextFile, Tree};

/// The documents that must have such claims.
const PAGES: [&str; 6] = [
    "docs/reference/security.md",
    "docs/reference/runs.md",
    "docs/reference/containment.md",
    "docs/use/sessions.md",
    "docs/use/panes.md",
    "docs/use/workspaces.md",
];

/// The heads of tables of claims. That something survives a fault is one, too.
const HEADS: [&str; 2] = ["| claim | shown by |", "| fault | points | shown by |"];

/// Checks that every row of every table of claims names tests that exist.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let pages = PAGES.iter().filter_map(|path| tree.file(path));
    pages.flat_map(|page| check_page(tree, page)).collect()
}

fn check_page(tree: &Tree, page: &TextFile) -> Vec<Violation> {
    let claims = claims(&page.text);
    if claims.is_empty() {
        let rule = format!("The page has a table `{}` with the tests of what it says.", HEADS[0]);
        return vec![Violation::new(&page.path, 1, rule)];
    }
    let violations = claims.into_iter().flat_map(|(line, row)| {
        let rules = match tests_of(row) {
            tests if tests.is_empty() => {
                vec!["A claim names the test that shows it, in the last column.".to_owned()]
            }
            tests => tests.into_iter().filter_map(|test| wrong(tree, test)).collect(),
        };
        rules.into_iter().map(move |rule| Violation::new(&page.path, line, rule))
    });
    violations.collect()
}

/// The rows of all tables of claims, with the numbers of their lines.
fn claims(text: &str) -> Vec<(usize, &str)> {
    let mut claims = Vec::new();
    let mut is_inside = false;
    for (line, row) in (1..).zip(text.lines()) {
        let is_head = HEADS.contains(&row);
        is_inside = is_head || (is_inside && row.starts_with('|'));
        if is_inside && !is_head && !row.starts_with("|---") {
            claims.push((line, row));
        }
    }
    claims
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
        let right = "| It is so. | `crates/a/tests/b::shows_it` |";
        let found = |path: &str, head: &str| {
            let page = format!(
                "# Runs\n\n| a | b |\n|---|---|\n| no | claim |\n\n{head}\n|---|---|\n{right}\n{row}\n"
            );
            let violations = check(&Tree::of(&[(path, &page), ("crates/a/tests/b.rs", CODE)]));
            let is_there = |violation: &Violation| violation.line == 10 && violation.path == path;
            assert!(violations.iter().all(is_there), "{violations:?}");
            violations.into_iter().map(|violation| violation.rule).collect::<Vec<String>>()
        };
        let pages = PAGES.iter().flat_map(|path| HEADS.map(|head| found(path, head)));
        let found: Vec<Vec<String>> = pages.collect();
        assert!(found.iter().all(|rules| *rules == found[0]), "{found:?}");
        found.into_iter().next().unwrap_or_default()
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
    fn a_page_without_claims_is_wrong() {
        for page in ["# Runs\n", "| a | b |\n|---|---|\n| no | claim |\n"] {
            let violations = check(&Tree::of(&[("docs/reference/runs.md", page)]));
            assert!(violations.len() == 1 && violations[0].rule.contains("has a table"), "{page}");
        }
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
