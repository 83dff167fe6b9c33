//! Whether the user trusts a project, as pi remembers it.

use std::fs;
use std::path::Path;

use model::paths::StateDir;
use serde_json::Value;

use crate::FileWarning;
use crate::plain_file::read_json;

/// Whether what a project says may run code of its choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The caller approved of the project, this once.
    Approved,
    /// The user told pi to trust it.
    Trusted,
    /// The user, or this once the caller, refused to trust it.
    Refused,
    /// No decision was made.
    Undecided,
}

impl Trust {
    /// Whether the project may run code of its choice.
    pub fn allows(self) -> bool {
        matches!(self, Trust::Approved | Trust::Trusted)
    }
}

/// Whether a project is trusted. What counts, in this order: the caller's approval, pi's
/// `trust.json`, and what pi's settings say about projects in general. If a file cannot be read, the
/// project is not trusted, and there is a warning.
///
/// pi also trusts projects that have no files which could run code. pi does not know our files, so
/// that rule does not count here.
pub fn project_trust(
    approval: Option<bool>,
    agent_dir: &Path,
    project: &Path,
) -> (Trust, Vec<FileWarning>) {
    match approval {
        Some(true) => return (Trust::Approved, Vec::new()),
        Some(false) => return (Trust::Refused, Vec::new()),
        None => {}
    }
    let user = StateDir::of_user(agent_dir);
    let path = user.trust();
    let saved = read_json(&path).and_then(|store| match store {
        Some(store) => nearest_decision(&store, project),
        None => Ok(None),
    });
    match saved {
        Ok(Some(true)) => (Trust::Trusted, Vec::new()),
        Ok(Some(false)) => (Trust::Refused, Vec::new()),
        Ok(None) if trusts_all_projects(&user) => (Trust::Trusted, Vec::new()),
        Ok(None) => (Trust::Undecided, Vec::new()),
        Err(problem) => {
            let problem = format!("no project is trusted: {problem}");
            (Trust::Undecided, vec![FileWarning { path, line: None, problem }])
        }
    }
}

/// The decision about the project or the nearest directory above it. Paths in `trust.json` have no
/// symbolic links.
fn nearest_decision(store: &Value, project: &Path) -> Result<Option<bool>, String> {
    let store = store.as_object().ok_or("it is not an object")?;
    // pi ignores a file with anything else in it, and a damaged one must not grant anything.
    if !store.values().all(|value| value.is_boolean() || value.is_null()) {
        return Err("it has values other than true, false and null".to_owned());
    }
    let project = fs::canonicalize(project).unwrap_or_else(|_| project.to_owned());
    Ok(project
        .ancestors()
        .filter_map(Path::to_str)
        .find_map(|directory| store.get(directory).and_then(Value::as_bool)))
}

/// What is wrong with the settings is reported where all of them are read.
fn trusts_all_projects(user: &StateDir) -> bool {
    let settings = read_json(&user.settings()).ok().flatten();
    settings.is_some_and(|settings| settings["defaultProjectTrust"] == "always")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use tempfile::TempDir;

    use super::*;

    struct World {
        top: TempDir,
    }

    impl World {
        /// In the store, `TOP` stands for the directory in which everything is.
        fn new(store: &str, settings: &str) -> World {
            let world = World { top: tempfile::tempdir().unwrap() };
            fs::create_dir_all(world.at("repo/project")).unwrap();
            fs::create_dir(world.at("agent")).unwrap();
            symlink(world.at("repo"), world.at("link")).unwrap();
            let top = fs::canonicalize(world.top.path()).unwrap();
            for (name, text) in [("trust.json", store), ("settings.json", settings)] {
                if !text.is_empty() {
                    let text = text.replace("TOP", top.to_str().unwrap());
                    fs::write(world.at("agent").join(name), text).unwrap();
                }
            }
            world
        }

        fn at(&self, path: &str) -> PathBuf {
            self.top.path().join(path)
        }

        fn trust(&self, approval: Option<bool>, project: &str) -> (Trust, Vec<String>) {
            let (trust, warnings) = project_trust(approval, &self.at("agent"), &self.at(project));
            (trust, warnings.iter().map(|warning| warning.problem.clone()).collect())
        }
    }

    #[test]
    fn the_nearest_decision_counts() {
        for (store, expected) in [
            ("", Trust::Undecided),
            ("{}", Trust::Undecided),
            (r#"{"TOP/repo/project": true}"#, Trust::Trusted),
            (r#"{"TOP/repo/project": false}"#, Trust::Refused),
            (r#"{"TOP/repo": true}"#, Trust::Trusted),
            (r#"{"TOP/repo": true, "TOP/repo/project": false}"#, Trust::Refused),
            (r#"{"TOP/repo": false, "TOP/repo/project": true}"#, Trust::Trusted),
            (r#"{"TOP/repo": true, "TOP/repo/project": null}"#, Trust::Trusted),
            (r#"{"/": true}"#, Trust::Trusted),
            (r#"{"TOP/repo/project/sub": true, "TOP/rep": true}"#, Trust::Undecided),
            ("\u{feff}{\"TOP/repo\": true}", Trust::Trusted),
        ] {
            let world = World::new(store, "");
            assert_eq!(world.trust(None, "repo/project"), (expected, vec![]), "{store}");
            assert_eq!(world.trust(None, "link/project"), (expected, vec![]), "{store}");
        }
    }

    #[test]
    fn the_caller_has_the_first_word_and_the_settings_the_last() {
        let always = r#"{"defaultProjectTrust": "always"}"#;
        let yes = r#"{"TOP": true}"#;
        let no = r#"{"TOP": false}"#;
        for (approval, store, settings, expected) in [
            (Some(true), no, "", Trust::Approved),
            (Some(false), yes, always, Trust::Refused),
            (None, no, always, Trust::Refused),
            (None, "", always, Trust::Trusted),
            (None, "", r#"{"defaultProjectTrust": "ask"}"#, Trust::Undecided),
            (None, "", r#"{"defaultProjectTrust": true}"#, Trust::Undecided),
            (None, "", "[]", Trust::Undecided),
            (None, "", "{", Trust::Undecided),
        ] {
            let world = World::new(store, settings);
            assert_eq!(world.trust(approval, "repo/project").0, expected, "{store} {settings}");
        }
        assert!(Trust::Approved.allows() && Trust::Trusted.allows());
        assert!(!Trust::Refused.allows() && !Trust::Undecided.allows());
    }

    #[test]
    fn a_damaged_store_trusts_nothing_and_is_a_warning() {
        for (store, problem) in [
            ("{", "it is not JSON"),
            ("[]", "it is not an object"),
            (r#"{"TOP": true, "x": "yes"}"#, "it has values other than true, false and null"),
        ] {
            let (trust, warnings) =
                World::new(store, r#"{"defaultProjectTrust": "always"}"#).trust(None, "repo");
            assert_eq!(trust, Trust::Undecided, "{store}");
            assert!(warnings.len() == 1 && warnings[0].contains(problem), "{warnings:?}");
        }
    }
}
