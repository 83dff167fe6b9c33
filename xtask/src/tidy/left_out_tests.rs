//! Tests that no test program contains.
//!
//! Where a package says `autotests = false`, Cargo builds only the test programs that its manifest names. A
//! file that is neither one of them nor a module of one is never compiled, and a test in it never fails.

use super::Violation;
use super::tree::{TextFile, Tree};

/// Checks the packages that name their test programs.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let manifests = tree.files.iter().filter(|file| file.path.ends_with("/Cargo.toml"));
    let manifests =
        manifests.filter(|file| file.text.lines().any(|line| line == "autotests = false"));
    manifests.flat_map(|manifest| check_package(tree, manifest)).collect()
}

fn check_package(tree: &Tree, manifest: &TextFile) -> Vec<Violation> {
    let directory = manifest.path.trim_end_matches("Cargo.toml");
    let tests = format!("{directory}tests/");
    let programs = test_programs(&manifest.text);
    let roots = programs.iter().flat_map(|name| {
        let paths = [format!("{tests}{name}.rs"), format!("{tests}{name}/main.rs")];
        paths.into_iter().filter_map(|path| tree.file(&path))
    });
    let roots: Vec<&TextFile> = roots.collect();
    let is_part = |name: &str| {
        let declaration = format!("mod {name};");
        programs.contains(&name)
            || roots.iter().any(|root| root.code.lines().any(|line| line == declaration))
    };
    let files = tree.rust_files().filter_map(|file| {
        let inside = file.path.strip_prefix(&tests)?;
        let (name, rest) = inside.split_once('/').unwrap_or((inside.strip_suffix(".rs")?, ""));
        // The other files of a directory are modules of this one.
        matches!(rest, "" | "main.rs" | "mod.rs").then_some((file, name))
    });
    let left_out = files.filter(|(_, name)| !is_part(name));
    let violations = left_out.map(|(file, name)| {
        let rule = format!(
            "No test program contains this file: declare `mod {name};` in one, or name it in \
             {directory}Cargo.toml."
        );
        Violation::new(&file.path, 1, rule)
    });
    violations.collect()
}

/// The names in the `[[test]]` sections of a manifest.
fn test_programs(manifest: &str) -> Vec<&str> {
    let mut section = "";
    let names = manifest.lines().filter_map(|line| {
        if line.starts_with('[') {
            section = line;
        }
        let name = line.strip_prefix("name = \"")?.strip_suffix('"')?;
        (section == "[[test]]").then_some(name)
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[package]\nname = \"a\"\nautotests = false\n\n[[test]]\nname = \"suite\"\n\n\
                            [[test]]\nname = \"alone\"\ntest = false\n";

    fn left_out(manifest: &str, path: &str) -> bool {
        let root = "mod one;\nmod two;\n// mod three;\n";
        let files = [
            ("crates/a/Cargo.toml", manifest),
            ("crates/a/tests/suite.rs", root),
            (path, "#[test]\nfn it_is_run() {}\n"),
        ];
        let found = check(&Tree::of(&files));
        assert!(found.iter().all(|violation| violation.path == path), "{found:?}");
        !found.is_empty()
    }

    #[test]
    fn what_a_test_program_contains_is_right() {
        for path in [
            "crates/a/tests/one.rs",
            "crates/a/tests/two/mod.rs",
            "crates/a/tests/two/part.rs",
            "crates/a/tests/alone.rs",
            "crates/a/tests/alone/main.rs",
            "crates/a/src/lib.rs",
            "crates/b/tests/other.rs",
        ] {
            assert!(!left_out(MANIFEST, path), "{path}");
        }
    }

    #[test]
    fn what_none_contains_is_found() {
        for path in [
            "crates/a/tests/other.rs",
            "crates/a/tests/other/mod.rs",
            "crates/a/tests/other/main.rs",
            "crates/a/tests/three.rs",
        ] {
            assert!(left_out(MANIFEST, path), "{path}");
        }
        let automatic = MANIFEST.replace("autotests = false\n", "");
        assert!(!left_out(&automatic, "crates/a/tests/other.rs"));
    }
}
