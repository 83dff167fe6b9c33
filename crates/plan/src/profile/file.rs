//! The files of profiles, written. Nothing else in this crate changes files.

use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::load::{ProfileFile, read_directory};
use super::{
    InvalidProfileName, Profile, ProfileDirectories, Scope, check_profile_name, to_markdown,
};

/// A profile cannot be written or removed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ProfileFileError {
    #[error(transparent)]
    InvalidName(#[from] InvalidProfileName),
    #[error("Profile \"{name}\" already exists: {}", path.display())]
    AlreadyExists { name: String, path: PathBuf },
    #[error("Profile \"{name}\" not found.")]
    NotFound { name: String },
    #[error(
        "Profile \"{name}\" cannot be saved to the project with an apiKey. Save it to the global \
         directory ({}/) or remove the key.",
        global.display()
    )]
    KeyInProject { name: String, global: PathBuf },
    #[error(
        "Profile \"{name}\" cannot be saved: {} holds another profile, \"{other}\"",
        path.display()
    )]
    Taken { name: String, path: PathBuf, other: String },
    #[error("{} cannot be {action}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
}

/// Writes a profile that its scope does not have yet. Returns its file.
pub fn create_profile(
    directories: &ProfileDirectories,
    profile: &Profile,
) -> Result<PathBuf, ProfileFileError> {
    let target = target(directories, profile)?;
    let exists = |path| ProfileFileError::AlreadyExists { name: profile.name.clone(), path };
    if target.exists {
        return Err(exists(target.path));
    }
    write(&target.path, profile, |file, path| {
        file.persist_noclobber(path).map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => exists(path.to_owned()),
            _ => failed("written", path)(error.error),
        })
    })?;
    Ok(target.path)
}

/// Writes a profile over the one that its scope has; if it has none, as a new one. Returns its
/// file. What is not part of a profile, such as comments, does not stay in the file.
pub fn update_profile(
    directories: &ProfileDirectories,
    profile: &Profile,
) -> Result<PathBuf, ProfileFileError> {
    let target = target(directories, profile)?;
    write(&target.path, profile, |file, path| {
        file.persist(path).map_err(|error| failed("written", path)(error.error))
    })?;
    Ok(target.path)
}

/// Removes a profile from both scopes. Returns the files that are gone.
pub fn delete_profile(
    directories: &ProfileDirectories,
    name: &str,
) -> Result<Vec<PathBuf>, ProfileFileError> {
    check_profile_name(name)?;
    let mut removed = Vec::new();
    for scope in directories.scopes() {
        for file in read_directory(directories, scope, &mut Vec::new()) {
            // A file that cannot be loaded is known by its name alone.
            let is_meant = match &file.profile {
                Some(profile) => profile.name == name,
                None => is_named(&file.path, name),
            };
            if is_meant {
                fs::remove_file(&file.path).map_err(failed("removed", &file.path))?;
                removed.push(file.path);
            }
        }
    }
    if removed.is_empty() {
        return Err(ProfileFileError::NotFound { name: name.to_owned() });
    }
    Ok(removed)
}

struct Target {
    path: PathBuf,
    exists: bool,
}

/// The file that already defines the profile in its scope, else the one that is named after it.
fn target(directories: &ProfileDirectories, profile: &Profile) -> Result<Target, ProfileFileError> {
    let name = &profile.name;
    check_profile_name(name)?;
    if profile.scope == Scope::Project && profile.api_key.is_some() {
        let global = directories.global.clone();
        return Err(ProfileFileError::KeyInProject { name: name.clone(), global });
    }
    let files = read_directory(directories, profile.scope, &mut Vec::new());
    // When several files define a profile, the last one counts.
    let defines = |file: &&ProfileFile| file.profile.as_ref().is_some_and(|p| p.name == *name);
    if let Some(file) = files.iter().rfind(defines) {
        return Ok(Target { path: file.path.clone(), exists: true });
    }
    let path = directories.of_scope(profile.scope).join(format!("{name}.md"));
    match files.iter().find(|file| is_named(&file.path, name)) {
        None => Ok(Target { path, exists: false }),
        Some(ProfileFile { profile: Some(other), .. }) => {
            Err(ProfileFileError::Taken { name: name.clone(), path, other: other.name.clone() })
        }
        Some(_) => Ok(Target { path, exists: true }),
    }
}

fn is_named(path: &Path, name: &str) -> bool {
    path.file_stem().is_some_and(|stem| stem == name)
}

/// Makes the profile's text appear under `path` at once and whole, for nobody else to read.
/// Whoever follows the path afterwards finds this file, also where there was a symbolic link.
fn write(
    path: &Path,
    profile: &Profile,
    persist: impl FnOnce(NamedTempFile, &Path) -> Result<fs::File, ProfileFileError>,
) -> Result<(), ProfileFileError> {
    let directory = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(failed("created", directory))?;
    let prepare = || -> io::Result<NamedTempFile> {
        // Temporary files of this kind are created with mode 0600.
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(directory)?;
        file.write_all(to_markdown(profile).as_bytes())?;
        file.as_file().sync_data()?;
        Ok(file)
    };
    persist(prepare().map_err(failed("written", path))?, path).map(drop)
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ProfileFileError {
    let path = path.to_owned();
    move |source| ProfileFileError::Io { action, path, source }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
