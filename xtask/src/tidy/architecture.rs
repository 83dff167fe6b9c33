//! The table of arrows in ARCHITECTURE.md.

use std::collections::BTreeMap;

use super::Violation;
use super::arrows::TABLE;
use super::tree::Tree;

const PATH: &str = "ARCHITECTURE.md";

/// What opens the fenced block with the table.
const OPENING: &str = "```arrows";

/// Compares the document, if there is one, with the table that is enforced.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let Some(document) = tree.file(PATH) else { return Vec::new() };
    let Some(start) = document.text.lines().position(|line| line.trim_end() == OPENING) else {
        let rule = format!("The crates' arrows must be shown, in exactly this block:\n{}", block());
        return vec![Violation::new(PATH, 1, rule)];
    };
    let mut missing: BTreeMap<&str, String> =
        TABLE.iter().map(|row| (row.from, row.right_side())).collect();
    let mut violations = Vec::new();
    let lines = document.text.lines().enumerate().skip(start + 1);
    for (index, line) in lines.take_while(|(_, line)| !line.starts_with("```")) {
        if line.trim().is_empty() {
            continue;
        }
        let (from, to) = line.split_once("->").unwrap_or((line, ""));
        // The columns may be aligned with more spaces.
        let (from, to) = (from.trim(), to.split_whitespace().collect::<Vec<_>>().join(" "));
        let rule = match missing.remove(from) {
            Some(expected) if expected == to => continue,
            Some(expected) => {
                format!("This line must say what xtask enforces: `{from} -> {expected}`")
            }
            None => format!(
                "`{from}` is not in the table in xtask/src/tidy/arrows.rs, or is here twice; \
                 every line has the form `crate -> a, b`."
            ),
        };
        violations.push(Violation::new(PATH, index + 1, rule));
    }
    violations.extend(missing.into_iter().map(|(from, to)| {
        Violation::new(PATH, start + 1, format!("This block lacks the line `{from} -> {to}`"))
    }));
    violations
}

/// The whole block, to be copied.
fn block() -> String {
    let width = TABLE.iter().map(|row| row.from.len()).max().unwrap_or(0);
    let rows: String =
        TABLE.iter().map(|row| format!("{:width$} -> {}\n", row.from, row.right_side())).collect();
    format!("{OPENING}\n{rows}```")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_document(text: &str) -> Vec<Violation> {
        check(&Tree::of(&[(PATH, text)]))
    }

    #[test]
    fn no_document_and_the_suggested_block_are_fine() {
        assert!(check(&Tree::of(&[])).is_empty());
        assert!(check_document(&format!("# Title\n\n{}\n", block())).is_empty());
    }

    #[test]
    fn a_document_without_the_block_is_told_the_block() {
        let found = check_document("# Title\n```\nmodel -> nothing\n```\n");
        assert_eq!(found.len(), 1);
        assert!(found[0].rule.ends_with(&block()), "{}", found[0]);
        assert!(block().contains("session      -> model\n"), "{}", block());
    }

    #[test]
    fn wrong_missing_and_unknown_lines_are_found() {
        let text = format!("{}\n", block())
            .replace("session      -> model", "session -> store")
            .replace("plan         -> model, protocol\n", "")
            .replace("```\n", "stranger -> model\n```\n");
        let line = text.lines().position(|line| line.starts_with("stranger")).unwrap_or(0) + 1;
        let found: Vec<String> = check_document(&text).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "ARCHITECTURE.md:7: This line must say what xtask enforces: `session -> model`"
                    .to_owned(),
                format!(
                    "ARCHITECTURE.md:{line}: `stranger` is not in the table in \
                     xtask/src/tidy/arrows.rs, or is here twice; every line has the form \
                     `crate -> a, b`."
                ),
                "ARCHITECTURE.md:1: This block lacks the line `plan -> model, protocol`".to_owned(),
            ]
        );
    }
}
