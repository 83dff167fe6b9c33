//! The dependencies that a `Cargo.toml` lists.
//!
//! Not a parser of TOML: it reads the forms in which this workspace writes dependencies, one to a
//! line or one to a section.

/// A dependency of a crate on something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dependency {
    /// The name of the directory of one of our own crates, or the name of a foreign package.
    pub(super) name: String,
    /// Counted from one.
    pub(super) line: usize,
    pub(super) is_optional: bool,
}

/// The dependencies of the crate itself. Those of its tests may be anything.
pub(super) fn dependencies(manifest: &str) -> Vec<Dependency> {
    let mut dependencies: Vec<Dependency> = Vec::new();
    let mut section = "";
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        let number = index + 1;
        if let Some(header) = line.strip_prefix('[') {
            section = header.split(']').next().unwrap_or(header).trim();
            // `[dependencies.name]` and `[target.'…'.dependencies.name]`
            if let Some((table, name)) = section.rsplit_once('.')
                && is_dependencies(table)
            {
                dependencies.push(dependency(name, "", number));
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        if line.starts_with('#') {
            continue;
        }
        if is_dependencies(section) {
            dependencies.push(dependency(key.trim(), value, number));
        } else if section.rsplit_once('.').is_some_and(|(table, _)| is_dependencies(table))
            && let Some(last) = dependencies.last_mut()
        {
            last.is_optional |= is_optional(line);
            if let Some(name) = renamed(line) {
                last.name = name;
            }
        }
    }
    dependencies
}

fn is_dependencies(section: &str) -> bool {
    matches!(section, "dependencies" | "build-dependencies")
        || (section.starts_with("target.")
            && (section.ends_with(".dependencies") || section.ends_with(".build-dependencies")))
}

fn dependency(key: &str, value: &str, line: usize) -> Dependency {
    // `name.workspace = true`
    let key = key.split('.').next().unwrap_or(key).trim_matches('"');
    Dependency {
        name: renamed(value).unwrap_or_else(|| directory_name(key)),
        line,
        is_optional: is_optional(value),
    }
}

fn is_optional(text: &str) -> bool {
    without_spaces(text).contains("optional=true")
}

/// The package, if the dependency has another name.
fn renamed(text: &str) -> Option<String> {
    let text = without_spaces(text);
    let (_, after) = text.split_once("package=\"")?;
    after.split('"').next().map(directory_name)
}

/// From the name of one of our packages to the name of its directory.
fn directory_name(package: &str) -> String {
    if package == "pi-subagents" {
        return "cli".to_owned();
    }
    package.strip_prefix("pi-subagents-").unwrap_or(package).to_owned()
}

fn without_spaces(text: &str) -> String {
    text.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_dependency_is_read() {
        let manifest = r#"
[package]
name = "pi-subagents-runner"
model = "not a dependency"
[dependencies]
# store.workspace = true
model.workspace = true
test-support = { workspace = true, optional = true }
renamed = { path = "../plan", package = "pi-subagents-plan" }
[dependencies.session]
workspace = true
optional = true
[target.'cfg(unix)'.dependencies]
pi-subagents-process = { path = "../process" }
[dev-dependencies]
tempfile.workspace = true
[dev-dependencies.store]
workspace = true
"#;
        let found: Vec<(String, usize, bool)> = dependencies(manifest)
            .into_iter()
            .map(|dependency| (dependency.name, dependency.line, dependency.is_optional))
            .collect();
        let expected = [
            ("model", 7, false),
            ("test-support", 8, true),
            ("plan", 9, false),
            ("session", 10, true),
            ("process", 14, false),
        ];
        assert_eq!(found, expected.map(|(name, line, optional)| (name.to_owned(), line, optional)));
    }
}
