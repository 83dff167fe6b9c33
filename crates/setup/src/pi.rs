//! The extension for pi, which this program carries.
//!
//! It becomes a directory below the `extensions` of pi's agent directory. A link beside it leads
//! back to this program, so that the two are always of one version.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::SetupError;
use crate::files::{self, Change, failed};

/// The name of the extension, of its directory and of the link in it.
const NAME: &str = "pi-subagents";

/// What tells that a directory is ours. It is the first to be written and the last to be removed,
/// so that what was interrupted can be repeated.
const MANIFEST: &str = "package.json";

/// The directories of the extension, below its own.
const DIRECTORIES: &[&str] = &["prompts"];

/// The files of the extension. The manifest comes first.
const FILES: &[(&str, &str)] = &[
    (MANIFEST, include_str!("../../../extension/package.json")),
    ("index.ts", include_str!("../../../extension/index.ts")),
    ("session.ts", include_str!("../../../extension/session.ts")),
    ("bridge.ts", include_str!("../../../extension/bridge.ts")),
    ("render.ts", include_str!("../../../extension/render.ts")),
    ("prompts/implement.md", include_str!("../../../extension/prompts/implement.md")),
    (
        "prompts/implement-and-review.md",
        include_str!("../../../extension/prompts/implement-and-review.md"),
    ),
    ("prompts/scout-and-plan.md", include_str!("../../../extension/prompts/scout-and-plan.md")),
];

/// The extension is in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Its directory.
    pub directory: PathBuf,
    /// Its files, and the link to this program.
    pub files: Vec<(PathBuf, Change)>,
    /// What else is in the directory, and was left alone.
    pub foreign: Vec<PathBuf>,
}

impl Installed {
    /// Whether all of it was there before.
    pub fn is_unchanged(&self) -> bool {
        self.files.iter().all(|(_, change)| *change == Change::Unchanged)
    }

    /// Whether none of it was there before.
    pub fn is_new(&self) -> bool {
        self.files.iter().all(|(_, change)| *change == Change::Created)
    }
}

/// The extension is not in its place any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Its directory. It stays if something foreign is in it.
    pub directory: PathBuf,
    /// The files and the link that are gone; none if there was no extension.
    pub removed: Vec<PathBuf>,
    /// What else is in the directory, and was left alone.
    pub foreign: Vec<PathBuf>,
}

/// What is in the place of the extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Its directory, or where that would be.
    pub directory: PathBuf,
    /// Whether an extension of ours is there.
    pub is_installed: bool,
    /// The version that it says it has.
    pub version: Option<String>,
    /// Its files that are missing, or not as this program would write them.
    pub differing: Vec<PathBuf>,
    /// Where its link leads.
    pub program: Option<PathBuf>,
}

/// Looks at the extension in an agent directory. What is there and is not ours is an error, as it
/// would be for [`install`].
pub fn inspect(agent_dir: &Path) -> Result<Inspection, SetupError> {
    let directory = directory(agent_dir);
    refuse_others(&directory)?;
    let manifest = fs::read(directory.join(MANIFEST)).unwrap_or_default();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap_or_default();
    let is_installed = manifest["name"] == NAME;
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

/// Puts the extension into an agent directory, or brings it up to date there. The link leads to
/// `executable`.
pub fn install(agent_dir: &Path, executable: &Path) -> Result<Installed, SetupError> {
    let directory = directory(agent_dir);
    refuse_others(&directory)?;
    let mut changes = Vec::new();
    for (name, text) in FILES {
        let path = directory.join(name);
        files::make_directory(path.parent().unwrap_or(&directory))?;
        let change = files::write(&path, text)?;
        changes.push((path, change));
    }
    let link = directory.join(NAME);
    let change = files::link(&link, executable)?;
    changes.push((link, change));
    let foreign = foreign(&directory)?;
    Ok(Installed { directory, files: changes, foreign })
}

/// Takes the extension out of an agent directory.
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
    agent_dir.join("extensions").join(NAME)
}

/// Goes on only where there is nothing yet, or an extension of ours, in directories of its own.
fn refuse_others(directory: &Path) -> Result<(), SetupError> {
    if !files::is_directory(directory)? {
        return Ok(());
    }
    let manifest = fs::read(directory.join(MANIFEST)).unwrap_or_default();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap_or_default();
    if manifest["name"] != NAME && !list(directory)?.is_empty() {
        return Err(SetupError::NotOurs(directory.to_owned()));
    }
    for name in DIRECTORIES {
        files::is_directory(&directory.join(name))?;
    }
    files::refuse_non_link(&directory.join(NAME))
}

/// What is in the directory and its directories, and is not of the extension.
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
        assert_eq!(manifest["name"], NAME);
    }

    #[test]
    fn every_file_of_the_extension_is_carried() {
        let mut files: Vec<PathBuf> = [extension(), extension().join("prompts")]
            .iter()
            .flat_map(|directory| list(directory).unwrap())
            .filter(|path| path.is_file() && !path.ends_with("tsconfig.json"))
            .collect();
        files.sort();
        let mut carried: Vec<PathBuf> =
            FILES.iter().map(|(name, _)| extension().join(name)).collect();
        carried.sort();
        assert_eq!(files, carried);
    }
}
