//! `cargo xtask release VERSION`: writes a new version into every file that names it, and into the changelog.

use std::fs;

use jiff::Timestamp;
use jiff::tz::Offset;
use xtask::{Invocation, repository_root};

/// The heading of what is not released yet.
const UNRELEASED: &str = "## [Unreleased]\n";

/// Runs the command.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let [version] = arguments else {
        return Err("usage: cargo xtask release VERSION, such as 0.2.0".to_owned());
    };
    let status = Invocation::new("git status --porcelain").read()?;
    if !status.is_empty() {
        return Err("there are changes that are not committed; commit them first".to_owned());
    }
    let root = repository_root();
    let mut changed = Vec::new();
    let mut change = |name: &str, edit: &dyn Fn(&str) -> Result<String, String>| {
        let path = root.join(name);
        let failed = |error: std::io::Error| format!("{name}: {error}");
        let text = edit(&fs::read_to_string(&path).map_err(failed)?)
            .map_err(|problem| format!("{name}: {problem}"))?;
        changed.push((path, text));
        Ok::<(), String>(())
    };
    let today = Offset::UTC.to_datetime(Timestamp::now()).date().to_string();
    change("Cargo.toml", &|text| with_version(text, "version = \"", version))?;
    change("extension/package.json", &|text| with_version(text, "\"version\": \"", version))?;
    change("CHANGELOG.md", &|text| released(text, version, &today))?;
    // Nothing is written before every file has been read and checked.
    for (path, text) in changed {
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let lock = Invocation::new("cargo update --workspace --offline");
    lock.run().map_err(|what| format!("`{lock}` {what}"))?;
    println!(
        "Version {version} is written. Look at it, and then:\n    cargo xtask test\n    git commit \
         --all --message \"Release {version}\"\n    git tag v{version}\n    git push --tags"
    );
    Ok(())
}

/// The text with the first version in it replaced by a later one.
fn with_version(text: &str, before: &str, version: &str) -> Result<String, String> {
    let start = text.find(before).ok_or("there is no version")? + before.len();
    let end = start + text[start..].find('"').ok_or("the version has no end")?;
    let current = &text[start..end];
    if parse(version)? <= parse(current)? {
        return Err(format!("{version} is not later than {current}"));
    }
    Ok(format!("{}{version}{}", &text[..start], &text[end..]))
}

fn parse(version: &str) -> Result<[u64; 3], String> {
    let parts: Vec<Option<u64>> = version.split('.').map(|part| part.parse().ok()).collect();
    match parts[..] {
        [Some(major), Some(minor), Some(patch)] => Ok([major, minor, patch]),
        _ => Err(format!("{version} is not a version of three numbers")),
    }
}

/// The changelog with a heading for the version above everything that was not released.
fn released(text: &str, version: &str, today: &str) -> Result<String, String> {
    let (head, rest) = text.split_once(UNRELEASED).ok_or("there is no [Unreleased]")?;
    let news = rest.split("\n## [").next().unwrap_or_default();
    if news.trim().is_empty() {
        return Err("nothing is written below [Unreleased]".to_owned());
    }
    Ok(format!("{head}{UNRELEASED}\n## [{version}] - {today}\n{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_replaced_by_a_later_one_only() {
        let text = "[workspace.package]\nversion = \"0.1.0\"\n[x]\nversion = \"9\"\n";
        let written = |version| with_version(text, "version = \"", version);
        assert_eq!(
            written("0.2.0").unwrap(),
            "[workspace.package]\nversion = \"0.2.0\"\n[x]\nversion = \"9\"\n"
        );
        assert!(written("0.1.0").unwrap_err().contains("not later than 0.1.0"));
        assert!(written("0.0.9").unwrap_err().contains("not later"));
        assert!(written("1.0").unwrap_err().contains("three numbers"));
        assert!(written("v1.0.0").unwrap_err().contains("three numbers"));
    }

    #[test]
    fn what_was_not_released_gets_a_heading() {
        let text =
            "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- it\n\n## [0.1.0] - 2026-01-01\n";
        assert_eq!(
            released(text, "0.2.0", "2026-02-03").unwrap(),
            "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-02-03\n\n### Added\n\n- it\n\n\
             ## [0.1.0] - 2026-01-01\n"
        );
        let empty = "# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2026-01-01\n\n- it\n";
        assert!(released(empty, "0.2.0", "2026-02-03").unwrap_err().contains("nothing"));
    }
}
