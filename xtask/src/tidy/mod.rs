//! `cargo xtask tidy`: the rules of this repository that no compiler knows.
//!
//! Every check takes the [`Tree`] and returns what it found, so that a test can give it a tree
//! in memory.

mod agent_words;
mod architecture;
mod arrows;
mod change_places;
mod claims;
mod conventions;
mod invariants;
mod leaks;
mod left_out_tests;
mod manifest;
mod pattern;
mod rust_source;
mod test_modules;
mod tree;

use std::fmt;

use tree::Tree;

/// A line that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Violation {
    path: String,
    /// Counted from one.
    line: usize,
    /// A sentence about the rule.
    rule: String,
}

impl Violation {
    fn new(path: &str, line: usize, rule: impl Into<String>) -> Violation {
        Violation { path: path.to_owned(), line, rule: rule.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.path, self.line, self.rule)
    }
}

const CHECKS: &[fn(&Tree) -> Vec<Violation>] = &[
    arrows::check,
    architecture::check,
    invariants::check,
    conventions::check,
    leaks::check,
    claims::check,
    change_places::check,
    left_out_tests::check,
    agent_words::check,
];

/// Runs the command.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    crate::refuse_arguments("tidy", arguments)?;
    let tree = Tree::read()?;
    let mut violations: Vec<Violation> = CHECKS.iter().flat_map(|check| check(&tree)).collect();
    violations.sort();
    for violation in &violations {
        println!("{violation}");
    }
    match violations.len() {
        0 => {
            println!("tidy: {} files, no violations", tree.files.len());
            Ok(())
        }
        1 => Err("tidy found 1 violation, listed above".to_owned()),
        count => Err(format!("tidy found {count} violations, listed above")),
    }
}
