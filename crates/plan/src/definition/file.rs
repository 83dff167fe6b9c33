//! The files of definitions, written. Nothing else in this crate changes files.

use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::load::{DefinitionFile, read_directory};
use super::{
    Definition, DefinitionDirectories, DefinitionOrigin, InvalidDefinitionName, Scope,
    check_definition_name, to_markdown,
};

/// A definition cannot be written or removed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum DefinitionFileError {
    #[error(transparent)]
    InvalidName(#[from] InvalidDefinitionName),
    #[error("{definition} already exists: {}", path.display())]
    AlreadyExists { definition: String, path: PathBuf },
    #[error("{definition} not found.")]
    NotFound { definition: String },
    #[error(
        "{definition} cannot be saved to the project with an apiKey. Save it to the global \
         directory ({}/) or remove the key.",
        global.display()
    )]
    KeyInProject { definition: String, global: PathBuf },
    #[error(
        "{definition} cannot be saved: {} holds another {kind}, \"{other}\"",
        path.display()
    )]
    Taken { definition: String, kind: &'static str, path: PathBuf, other: String },
    #[error("{} cannot be {action}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
}

/// Writes a definition that its scope does not have yet. Returns its file.
pub fn create_definition(
    directories: &DefinitionDirectories,
    definition: &Definition,
) -> Result<PathBuf, DefinitionFileError> {
    let target = target(directories, definition)?;
    let exists = |path| DefinitionFileError::AlreadyExists { definition: definition.label(), path };
    if target.exists {
        return Err(exists(target.path));
    }
    write(&target.path, definition, |file, path| {
        file.persist_noclobber(path).map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => exists(path.to_owned()),
            _ => failed("written", path)(error.error),
        })
    })?;
    Ok(target.path)
}

/// Writes a copy of a definition of another program, as one of ours. Returns the copy.
pub fn import_definition(
    directories: &DefinitionDirectories,
    definition: &Definition,
    scope: Scope,
) -> Result<Definition, DefinitionFileError> {
    let path = directories.of_scope(scope).join(format!("{}.md", definition.name));
    let origin = DefinitionOrigin::Own;
    let mut copy = Definition { scope, path, origin, ..definition.clone() };
    copy.path = create_definition(directories, &copy)?;
    Ok(copy)
}

/// Writes a definition over the one that its scope has; if it has none, as a new one. Returns its
/// file. What is not part of a definition, such as comments, does not stay in the file.
pub fn update_definition(
    directories: &DefinitionDirectories,
    definition: &Definition,
) -> Result<PathBuf, DefinitionFileError> {
    let target = target(directories, definition)?;
    write(&target.path, definition, |file, path| {
        file.persist(path).map_err(|error| failed("written", path)(error.error))
    })?;
    Ok(target.path)
}

/// Removes a definition from both scopes. Returns the files that are gone.
pub fn delete_definition(
    directories: &DefinitionDirectories,
    name: &str,
) -> Result<Vec<PathBuf>, DefinitionFileError> {
    check_definition_name(directories.kind, name)?;
    let mut removed = Vec::new();
    for scope in directories.scopes() {
        for file in read_directory(directories, scope, &mut Vec::new()) {
            // A file that cannot be loaded is known by its name alone.
            let is_meant = match &file.definition {
                Some(definition) => definition.name == name,
                None => is_named(&file.path, name),
            };
            if is_meant {
                fs::remove_file(&file.path).map_err(failed("removed", &file.path))?;
                removed.push(file.path);
            }
        }
    }
    if removed.is_empty() {
        return Err(DefinitionFileError::NotFound { definition: directories.kind.label(name) });
    }
    Ok(removed)
}

struct Target {
    path: PathBuf,
    exists: bool,
}

/// The file that already holds the definition in its scope, else the one that is named after it.
fn target(
    directories: &DefinitionDirectories,
    definition: &Definition,
) -> Result<Target, DefinitionFileError> {
    let name = &definition.name;
    check_definition_name(directories.kind, name)?;
    if definition.scope == Scope::Project && definition.configuration.api_key.is_some() {
        let global = directories.global.clone();
        return Err(DefinitionFileError::KeyInProject { definition: definition.label(), global });
    }
    let files = read_directory(directories, definition.scope, &mut Vec::new());
    // If several files define it, the last one counts.
    let defines =
        |file: &&DefinitionFile| file.definition.as_ref().is_some_and(|p| p.name == *name);
    if let Some(file) = files.iter().rfind(defines) {
        return Ok(Target { path: file.path.clone(), exists: true });
    }
    let path = directories.of_scope(definition.scope).join(format!("{name}.md"));
    match files.iter().find(|file| is_named(&file.path, name)) {
        None => Ok(Target { path, exists: false }),
        Some(DefinitionFile { definition: Some(other), .. }) => Err(DefinitionFileError::Taken {
            definition: definition.label(),
            kind: directories.kind.word(),
            path,
            other: other.name.clone(),
        }),
        Some(_) => Ok(Target { path, exists: true }),
    }
}

fn is_named(path: &Path, name: &str) -> bool {
    path.file_stem().is_some_and(|stem| stem == name)
}

/// Writes the definition's text to `path` in one step, readable by its user alone. A symbolic link
/// at `path` is replaced, not followed.
fn write(
    path: &Path,
    definition: &Definition,
    persist: impl FnOnce(NamedTempFile, &Path) -> Result<fs::File, DefinitionFileError>,
) -> Result<(), DefinitionFileError> {
    let directory = path.parent().unwrap_or(Path::new("."));
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(failed("created", directory))?;
    let prepare = || -> io::Result<NamedTempFile> {
        // Temporary files of this kind are created with mode 0600.
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(directory)?;
        file.write_all(to_markdown(definition).as_bytes())?;
        file.as_file().sync_data()?;
        Ok(file)
    };
    persist(prepare().map_err(failed("written", path))?, path).map(drop)
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DefinitionFileError {
    let path = path.to_owned();
    move |source| DefinitionFileError::Io { action, path, source }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
