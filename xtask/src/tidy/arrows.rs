//! Which of our crates may depend on which.

use std::collections::BTreeSet;

use super::Violation;
use super::manifest::{self, Dependency};
use super::tree::Tree;

/// A row of the table: a crate, and the crates that it may depend on.
pub(super) struct Arrows {
    /// The name of the directory below `crates/`.
    pub(super) from: &'static str,
    to: &'static [&'static str],
    /// Only together with `optional = true`, so that the product can be built without them.
    to_optional: &'static [&'static str],
}

/// The same table is in ARCHITECTURE.md; the check of it compares the two.
pub(super) const TABLE: &[Arrows] = &[
    Arrows { from: "model", to: &[], to_optional: &[] },
    Arrows { from: "answer", to: &[], to_optional: &[] },
    Arrows { from: "process", to: &[], to_optional: &[] },
    Arrows { from: "workspace", to: &["model", "process", "store"], to_optional: &[] },
    Arrows { from: "governor", to: &["model", "process"], to_optional: &[] },
    Arrows { from: "session", to: &["model"], to_optional: &[] },
    Arrows { from: "store", to: &["model"], to_optional: &[] },
    Arrows { from: "protocol", to: &["model", "process"], to_optional: &[] },
    Arrows { from: "plan", to: &["model", "protocol"], to_optional: &[] },
    Arrows {
        from: "runner",
        to: &[
            "answer",
            "governor",
            "model",
            "process",
            "protocol",
            "session",
            "store",
            "workspace",
        ],
        to_optional: &[],
    },
    Arrows { from: "agent", to: &["governor", "model", "plan", "process"], to_optional: &[] },
    Arrows {
        from: "tools",
        to: &["answer", "model", "plan", "runner", "session", "store", "workspace"],
        to_optional: &[],
    },
    Arrows {
        from: "bridge",
        to: &["model", "plan", "process", "session", "tools"],
        to_optional: &[],
    },
    Arrows {
        from: "mcp",
        to: &["model", "plan", "process", "session", "store", "tools"],
        to_optional: &[],
    },
    Arrows {
        from: "fleet",
        to: &["governor", "model", "plan", "process", "runner", "store", "workspace"],
        to_optional: &[],
    },
    Arrows { from: "setup", to: &["model"], to_optional: &[] },
    Arrows { from: "tui", to: &["model", "session"], to_optional: &[] },
    Arrows {
        from: "cli",
        to: &[
            "agent",
            "answer",
            "bridge",
            "fleet",
            "governor",
            "mcp",
            "model",
            "plan",
            "process",
            "runner",
            "session",
            "setup",
            "store",
            "tools",
            "tui",
            "workspace",
        ],
        to_optional: &["test-support"],
    },
    Arrows { from: "test-support", to: &[], to_optional: &[] },
];

impl Arrows {
    /// The right side of the row in ARCHITECTURE.md.
    pub(super) fn right_side(&self) -> String {
        if self.to.is_empty() && self.to_optional.is_empty() {
            return "nothing".to_owned();
        }
        let required = self.to.iter().map(|name| (*name).to_owned());
        let optional = self.to_optional.iter().map(|name| format!("{name} (optional)"));
        required.chain(optional).collect::<Vec<_>>().join(", ")
    }

    /// What is wrong with the dependency, if anything is.
    fn complaint(&self, dependency: &Dependency) -> Option<String> {
        let (from, to) = (self.from, dependency.name.as_str());
        if self.to.contains(&to) {
            None
        } else if !self.to_optional.contains(&to) {
            Some(format!(
                "`{from}` must not depend on `{to}`; the table in xtask/src/tidy/arrows.rs has \
                 only `{from} -> {}`.",
                self.right_side()
            ))
        } else if !dependency.is_optional {
            Some(format!("`{from}` may depend on `{to}` only with `optional = true`."))
        } else {
            None
        }
    }
}

/// Compares the manifests with the table.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let crates: BTreeSet<&str> = tree.files.iter().filter_map(|file| file.crate_name()).collect();
    let mut violations = Vec::new();
    for name in &crates {
        let path = format!("crates/{name}/Cargo.toml");
        let Some(row) = TABLE.iter().find(|row| row.from == *name) else {
            violations.push(Violation::new(
                &path,
                1,
                format!(
                    "The crate `{name}` is unknown; add it to the table in \
                     xtask/src/tidy/arrows.rs and to ARCHITECTURE.md."
                ),
            ));
            continue;
        };
        let manifest = tree.file(&path).map_or("", |file| &file.text);
        for dependency in manifest::dependencies(manifest) {
            if crates.contains(dependency.name.as_str())
                && let Some(complaint) = row.complaint(&dependency)
            {
                violations.push(Violation::new(&path, dependency.line, complaint));
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(manifests: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(manifests)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_arrow_that_is_not_in_the_table_is_found() {
        let found = violations(&[
            ("crates/model/Cargo.toml", "[dependencies]\nserde.workspace = true\nstore = 1"),
            ("crates/store/Cargo.toml", "[dependencies]\nmodel.workspace = true"),
        ]);
        assert_eq!(
            found,
            ["crates/model/Cargo.toml:3: `model` must not depend on `store`; the table in \
              xtask/src/tidy/arrows.rs has only `model -> nothing`."]
        );
    }

    #[test]
    fn an_optional_arrow_must_be_optional() {
        let check = |line: &str| {
            let manifest = format!("[dependencies]\n{line}");
            violations(&[
                ("crates/cli/Cargo.toml", &manifest),
                ("crates/test-support/Cargo.toml", ""),
            ])
        };
        assert!(check("test-support = { workspace = true, optional = true }").is_empty());
        assert_eq!(
            check("test-support.workspace = true"),
            ["crates/cli/Cargo.toml:2: `cli` may depend on `test-support` only with \
              `optional = true`."]
        );
    }

    #[test]
    fn an_unknown_crate_is_found() {
        let found = violations(&[("crates/unknown/Cargo.toml", "[dependencies]\n")]);
        assert_eq!(
            found,
            [
                "crates/unknown/Cargo.toml:1: The crate `unknown` is unknown; add it to the table in \
              xtask/src/tidy/arrows.rs and to ARCHITECTURE.md."
            ]
        );
    }

    #[test]
    fn rows_are_written_as_in_the_document() {
        let right_side =
            |name| TABLE.iter().find(|row| row.from == name).map(Arrows::right_side).unwrap();
        assert_eq!(right_side("model"), "nothing");
        assert_eq!(
            right_side("runner"),
            "answer, governor, model, process, protocol, session, store, workspace"
        );
        assert!(right_side("cli").ends_with("tui, workspace, test-support (optional)"));
    }
}
