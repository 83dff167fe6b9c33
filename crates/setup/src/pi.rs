//! The extension for pi, which this program carries.
//!
//! It becomes a directory below `extensions` in pi's agent directory. A link in it leads back to
//! this program, so that both are always of one version.

use std::fs;
use std::path::{Path, PathBuf};

use model::paths::StateDir;
use serde_json::Value;

use crate::SetupError;
use crate::files::{self, Change, failed};

/// The name of the extension's directory and of the link in it.
const NAME: &str = "pi-subagents";

/// Marks a directory as ours, because it names our repository. It is written first and removed last, so that an interrupted
/// installation or removal can be repeated.
const MANIFEST: &str = "package.json";

/// What our manifest has and no other. The name of the package is no such mark: another project has published a
/// package `pi-subagents`, and ours has had this name, too.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// The directories within that of the extension.
const DIRECTORIES: &[&str] = &["prompts"];

/// The files of the extension. The manifest comes first.
const FILES: &[(&str, &str)] = &[
    (MANIFEST, include_str!("../../../extension/package.json")),
    ("index.ts", include_str!("../../../extension/index.ts")),
    ("session.ts", include_str!("../../../extension/session.ts")),
    ("bridge.ts", include_str!("../../../extension/bridge.ts")),
    ("render.ts", include_str!("../../../extension/render.ts")),
    ("window.ts", include_str!("../../../extension/window.ts")),
    ("agents.ts", include_str!("../../../extension/agents.ts")),
    ("dialogs.ts", include_str!("../../../extension/dialogs.ts")),
    ("prompts/implement.md", include_str!("../../../extension/prompts/implement.md")),
    (
        "prompts/implement-and-review.md",
        include_str!("../../../extension/prompts/implement-and-review.md"),
    ),
    ("prompts/scout-and-plan.md", include_str!("../../../extension/prompts/scout-and-plan.md")),
];

/// What [`install`] has done, or would do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Installed {
    pub directory: PathBuf,
    /// Including the link to this program.
    pub files: Vec<(PathBuf, Change)>,
    /// Other files in the directory, which were left alone.
    pub foreign: Vec<PathBuf>,
}

impl Installed {
    /// Whether everything was up to date.
    pub fn is_unchanged(&self) -> bool {
        self.files.iter().all(|(_, change)| *change == Change::Unchanged)
    }

    /// Whether nothing was installed before.
    pub fn is_new(&self) -> bool {
        self.files.iter().all(|(_, change)| *change == Change::Created)
    }
}

/// What [`remove`] has done, or would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Of the extension. It stays if it has foreign files.
    pub directory: PathBuf,
    /// Files and link; empty if there was no extension.
    pub removed: Vec<PathBuf>,
    /// Other files in the directory, which were left alone.
    pub foreign: Vec<PathBuf>,
}

/// What [`inspect`] has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Where the extension is, or would be.
    pub directory: PathBuf,
    /// Whether an extension of ours is installed.
    pub is_installed: bool,
    /// According to its manifest.
    pub version: Option<String>,
    /// Files that are missing, or not as this program would write them.
    pub differing: Vec<PathBuf>,
    /// The target of its link.
    pub program: Option<PathBuf>,
}

/// Looks at the extension in an agent directory. Foreign files in its place are an error, as they
/// are for [`install`].
pub fn inspect(agent_dir: &Path) -> Result<Inspection, SetupError> {
    let directory = directory(agent_dir);
    refuse_others(&directory)?;
    let manifest = manifest(&directory);
    let is_installed = is_ours(&manifest);
    let is_different = |name: &str, text: &str| {
        is_installed && !fs::read(directory.join(name)).is_ok_and(|there| there == text.as_bytes())
    };
    let differing = FILES.iter().filter(|(name, text)| is_different(name, text));
    Ok(Inspection {
        is_installed,
        version: manifest["version"].as_str().map(str::to_owned),
        differing: differing.map(|(name, _)| directory.join(name)).collect(),
        program: fs::read_link(directory.join(NAME)).ok(),
        directory,
    })
}

/// What [`install`] would do. Nothing is changed.
pub fn preview_installation(agent_dir: &Path, executable: &Path) -> Result<Installed, SetupError> {
    let directory = directory(agent_dir);
    refuse_others(&directory)?;
    let mut changes: Vec<(PathBuf, Change)> = FILES
        .iter()
        .map(|(name, text)| (directory.join(name), *text))
        .map(|(path, text)| (path.clone(), files::change_of_file(&path, text)))
        .collect();
    let link = directory.join(NAME);
    let change = files::change_of_link(&link, executable);
    changes.push((link, change));
    let foreign = if directory.exists() { foreign(&directory)? } else { Vec::new() };
    Ok(Installed { directory, files: changes, foreign })
}

/// Installs or updates the extension in an agent directory. Its link leads to `executable`.
pub fn install(agent_dir: &Path, executable: &Path) -> Result<Installed, SetupError> {
    let installed = preview_installation(agent_dir, executable)?;
    let directory = &installed.directory;
    for (name, text) in FILES {
        let path = directory.join(name);
        files::make_directory(path.parent().unwrap_or(directory))?;
        files::write(&path, text)?;
    }
    files::link(&directory.join(NAME), executable)?;
    Ok(installed)
}

/// What [`remove`] would do. Nothing is changed.
pub fn preview_removal(agent_dir: &Path) -> Result<Removed, SetupError> {
    let directory = directory(agent_dir);
    refuse_others(&directory)?;
    let names = [NAME].into_iter().chain(FILES.iter().map(|(name, _)| *name));
    let paths = names.map(|name| directory.join(name));
    let removed = paths.filter(|path| path.symlink_metadata().is_ok()).collect();
    let foreign = if directory.exists() { foreign(&directory)? } else { Vec::new() };
    Ok(Removed { directory, removed, foreign })
}

/// Removes the extension from an agent directory.
pub fn remove(agent_dir: &Path) -> Result<Removed, SetupError> {
    let directory = directory(agent_dir);
    refuse_others(&directory)?;
    let mut removed = Vec::new();
    let mut remove = |name: &str| -> Result<(), SetupError> {
        let path = directory.join(name);
        if files::remove(&path)? {
            removed.push(path);
        }
        Ok(())
    };
    remove(NAME)?;
    for (name, _) in FILES.iter().filter(|(name, _)| *name != MANIFEST) {
        remove(name)?;
    }
    for name in DIRECTORIES {
        files::drop_directory(&directory.join(name))?;
    }
    remove(MANIFEST)?;
    let is_gone = files::drop_directory(&directory)?;
    let foreign = if is_gone { Vec::new() } else { foreign(&directory)? };
    Ok(Removed { directory, removed, foreign })
}

fn directory(agent_dir: &Path) -> PathBuf {
    StateDir::of_user(agent_dir).extensions().join(NAME)
}

fn is_ours(manifest: &Value) -> bool {
    manifest["repository"] == REPOSITORY
}

fn manifest(directory: &Path) -> Value {
    let manifest = fs::read(directory.join(MANIFEST)).unwrap_or_default();
    serde_json::from_slice(&manifest).unwrap_or_default()
}

/// Refuses everything but an empty directory and an extension of ours.
fn refuse_others(directory: &Path) -> Result<(), SetupError> {
    if !files::is_directory(directory)? {
        return Ok(());
    }
    if !is_ours(&manifest(directory)) && !list(directory)?.is_empty() {
        return Err(SetupError::NotOurs(directory.to_owned()));
    }
    for name in DIRECTORIES {
        files::is_directory(&directory.join(name))?;
    }
    files::refuse_non_link(&directory.join(NAME))
}

/// The files in the directory and its directories that are not part of the extension.
fn foreign(directory: &Path) -> Result<Vec<PathBuf>, SetupError> {
    let ours: Vec<PathBuf> = FILES
        .iter()
        .map(|(name, _)| *name)
        .chain(DIRECTORIES.iter().copied())
        .chain([NAME])
        .map(|name| directory.join(name))
        .collect();
    let mut found = list(directory)?;
    for path in DIRECTORIES.iter().map(|name| directory.join(name)) {
        if files::is_directory(&path)? {
            found.extend(list(&path)?);
        }
    }
    found.retain(|path| !ours.contains(path));
    found.sort();
    Ok(found)
}

fn list(directory: &Path) -> Result<Vec<PathBuf>, SetupError> {
    let entries = fs::read_dir(directory).map_err(failed("read", directory))?;
    entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(failed("read", directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extension() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../extension")
    }

    #[test]
    fn the_extension_has_the_version_of_the_program() {
        let manifest: Value = serde_json::from_str(FILES[0].1).unwrap();
        assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(manifest["name"], "@pi-subagents/cli");
    }

    #[test]
    fn an_extension_of_another_project_is_not_ours_whatever_its_name_is() {
        for (manifest, expected) in [
            (FILES[0].1.to_owned(), true),
            (FILES[0].1.replace("@pi-subagents/cli", NAME), true),
            (r#"{"name": "pi-subagents", "version": "0.67.0"}"#.to_owned(), false),
            (r#"{"name": "@pi-subagents/cli"}"#.to_owned(), false),
            ("{}".to_owned(), false),
        ] {
            let parsed: Value = serde_json::from_str(&manifest).unwrap();
            assert_eq!(is_ours(&parsed), expected, "{manifest}");
        }
    }

    #[test]
    fn every_file_of_the_extension_is_included() {
        let mut files: Vec<PathBuf> = [extension(), extension().join("prompts")]
            .iter()
            .flat_map(|directory| list(directory).unwrap())
            .filter(|path| path.is_file() && !path.ends_with("tsconfig.json"))
            .collect();
        files.sort();
        let mut included: Vec<PathBuf> =
            FILES.iter().map(|(name, _)| extension().join(name)).collect();
        included.sort();
        assert_eq!(files, included);
    }
}
