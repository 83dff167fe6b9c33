//! The table of `CONTRIBUTING.md` that says where to change what.

use std::collections::BTreeSet;

use super::Violation;
use super::tree::Tree;

const PAGE: &str = "CONTRIBUTING.md";

/// The head of the table.
const HEAD: &str = "| change | where |";

/// More places than this are a sign that the design has no room for the change.
const MOST_PLACES: usize = 3;

/// Checks that the places exist, and that no change needs too many of them.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let Some(page) = tree.file(PAGE) else { return Vec::new() };
    let rows = (1..).zip(page.text.lines()).skip_while(|(_, line)| *line != HEAD).skip(2);
    let rows = rows.take_while(|(_, line)| line.starts_with('|'));
    let found: Vec<Violation> = rows
        .flat_map(|(line, row)| {
            let rules = rules(tree, row);
            rules.into_iter().map(move |rule| Violation::new(PAGE, line, rule))
        })
        .collect();
    if page.text.contains(HEAD) {
        found
    } else {
        vec![Violation::new(PAGE, 1, format!("The page has a table `{HEAD}`."))]
    }
}

fn rules(tree: &Tree, row: &str) -> Vec<String> {
    let places: BTreeSet<&str> = row
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| word.contains('/') && !word.starts_with('/') && !word.contains(' '))
        .collect();
    let is_there = |place: &str| {
        tree.files
            .iter()
            .any(|file| file.path == place || place.ends_with('/') && file.path.starts_with(place))
    };
    let missing = places.iter().filter(|place| !is_there(place));
    let mut rules: Vec<String> =
        missing.map(|place| format!("`{place}` is not there: write its whole path.")).collect();
    // A test or a document comes with every change.
    let to_change = places
        .iter()
        .filter(|place| !place.starts_with("docs/") && !place.contains("/tests/"))
        .count();
    if to_change > MOST_PLACES {
        rules.push(format!("A change needs at most {MOST_PLACES} places, and this {to_change}."));
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(row: &str) -> Vec<(usize, String)> {
        let page = format!("# Contributing\n\n{HEAD}\n|---|---|\n{row}\n\n| `no/table` |\n");
        let files = ["a/b.rs", "a/c.rs", "a/d/e.rs", "docs/a.md", "a/tests/f.rs"];
        let mut tree = vec![(PAGE, page.as_str())];
        tree.extend(files.map(|path| (path, "")));
        let violations = check(&Tree::of(&tree));
        violations.into_iter().map(|violation| (violation.line, violation.rule)).collect()
    }

    #[test]
    fn three_places_that_exist_are_right() {
        for row in [
            "| one thing | `a/b.rs` |",
            "| `/a` | `a/b.rs`, again `a/b.rs`; `a/c.rs` and `a/d/`, `Word` of them |",
            "| one thing | `a/b.rs`, `a/c.rs`, `a/d/e.rs`, `docs/a.md`, `a/tests/f.rs` |",
        ] {
            assert_eq!(found(row), [], "{row}");
        }
    }

    #[test]
    fn a_place_that_is_not_there_and_a_fourth_are_wrong() {
        let missing = found("| one thing | `a/b.rs`, `a/x.rs`, `a/x/` |");
        assert_eq!(missing.len(), 2, "{missing:?}");
        assert!(missing.iter().all(|(line, rule)| *line == 5 && rule.contains("is not there")));
        let many = found("| one thing | `a/b.rs`, `a/c.rs`, `a/d/`, `a/d/e.rs` |");
        assert!(many.len() == 1 && many[0].1.contains("and this 4"), "{many:?}");
    }

    #[test]
    fn a_page_without_the_table_is_wrong() {
        assert_eq!(check(&Tree::of(&[(PAGE, "# Contributing\n")])).len(), 1);
        assert!(check(&Tree::of(&[])).is_empty());
    }
}
