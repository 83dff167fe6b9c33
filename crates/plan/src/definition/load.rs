//! Definitions, from their files.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::directories::list;
use super::{Definition, DefinitionDirectories, DefinitionKind, Scope, validate};
use crate::frontmatter::{Document, Fields, FileWarning};
use crate::similar::{similar_names, then_did_you_mean};

/// All definitions of a kind, the user's and the project's.
#[derive(Clone, Debug, PartialEq)]
pub struct Definitions {
    kind: DefinitionKind,
    definitions: BTreeMap<String, Definition>,
    /// What is wrong with the files.
    pub warnings: Vec<FileWarning>,
}

/// There is no definition of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Unknown {0}: \"{name}\". Available {0}s: {1}", kind.word(), self.alternatives())]
#[expect(missing_docs, reason = "the message says it")]
pub struct UnknownDefinition {
    pub kind: DefinitionKind,
    pub name: String,
    /// The names that exist.
    pub available: Vec<String>,
}

impl UnknownDefinition {
    /// The names that exist, and the one that may be meant.
    fn alternatives(&self) -> String {
        let similar = similar_names(&self.name, self.available.iter().map(String::as_str));
        let available = match self.available.as_slice() {
            [] => "(none)".to_owned(),
            names => names.join(", "),
        };
        available + &then_did_you_mean(&similar)
    }

    /// The same in the words of commands that look at definitions.
    pub fn not_found(&self) -> String {
        let (title, name) = (self.kind.title(), &self.name);
        format!("{title} \"{name}\" not found. Available: {}", self.alternatives())
    }
}

impl Definitions {
    /// The definition of that name.
    pub fn get(&self, name: &str) -> Result<&Definition, UnknownDefinition> {
        self.definitions.get(name).ok_or_else(|| UnknownDefinition {
            kind: self.kind,
            name: name.to_owned(),
            available: self.definitions.keys().cloned().collect(),
        })
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Definition> {
        self.definitions.values()
    }
}

/// Reads all definitions of a kind. The project's win over the user's; what is wrong with a file is
/// a warning.
///
/// There is no cache: the files are small and few, and a change must count at once.
pub fn load_definitions(directories: &DefinitionDirectories) -> Definitions {
    let kind = directories.kind;
    let mut all = Definitions { kind, definitions: BTreeMap::new(), warnings: Vec::new() };
    for scope in directories.scopes() {
        let mut of_scope = BTreeMap::<String, Definition>::new();
        for file in read_directory(directories, scope, &mut all.warnings) {
            all.warnings.extend(file.warnings);
            let Some(definition) = file.definition else {
                continue;
            };
            if let Some(other) = of_scope.get(&definition.name) {
                all.warnings.push(FileWarning {
                    path: definition.path.clone(),
                    line: None,
                    problem: format!(
                        "it defines {} \"{}\" again and is used instead of {}",
                        kind.word(),
                        definition.name,
                        other.path.display()
                    ),
                });
            }
            of_scope.insert(definition.name.clone(), definition);
        }
        all.definitions.extend(of_scope);
    }
    all
}

/// A file that should hold a definition.
pub(super) struct DefinitionFile {
    pub(super) path: PathBuf,
    /// What it holds, if it can be loaded; if not, a warning says why.
    pub(super) definition: Option<Definition>,
    pub(super) warnings: Vec<FileWarning>,
}

/// The files of a scope, by name.
pub(super) fn read_directory(
    directories: &DefinitionDirectories,
    scope: Scope,
    warnings: &mut Vec<FileWarning>,
) -> Vec<DefinitionFile> {
    let directory = directories.of_scope(scope);
    let paths = match list(directory) {
        Ok(paths) => paths,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            let problem = format!("its {}s cannot be read: {error}", directories.kind.word());
            warnings.push(FileWarning { path: directory.to_owned(), line: None, problem });
            return Vec::new();
        }
    };
    paths
        .into_iter()
        .map(|path| {
            let (definition, warnings) = match Document::read(&path) {
                Ok(document) => from_document(document, &path, scope, directories),
                Err(error) => (None, vec![error.into_warning(&path)]),
            };
            DefinitionFile { path, definition, warnings }
        })
        .collect()
}

/// The definition that a document describes.
pub(super) fn from_document(
    mut document: Document,
    path: &Path,
    scope: Scope,
    directories: &DefinitionDirectories,
) -> (Option<Definition>, Vec<FileWarning>) {
    let kind = directories.kind;
    let mut fields = Fields::of(&mut document, path);
    let [name_line, description_line, key_line] =
        ["name", "description", "apiKey"].map(|name| fields.line(name));
    let name = fields.text("name");
    let mut definition =
        Definition::at(kind, name.as_deref().unwrap_or_default(), scope, path.to_owned());
    let is_restricted_as_written = super::fields::read(&mut definition, &mut fields);
    if let Some(problem) = key_problem(&definition, directories) {
        definition.configuration.api_key = None;
        fields.warn(key_line, problem);
    }
    let body = Some(document.body).filter(|body| !body.is_empty());
    match kind {
        DefinitionKind::Profile => definition.configuration.system_prompt = body,
        DefinitionKind::Preset => definition.configuration.append_system_prompt = body,
    }
    let mut reasons = Vec::new();
    match &name {
        Some(name) if validate::is_definition_name(name) => {}
        Some(_) => {
            reasons.push((name_line, "its name may have only letters, digits, \"_\" and \"-\""));
        }
        None => reasons.push((name_line, "it has no \"name\"")),
    }
    if kind == DefinitionKind::Preset && definition.description.is_none() {
        reasons.push((description_line, "it has no \"description\""));
    }
    if !is_restricted_as_written {
        reasons.push((name_line, "what should restrict the agent cannot be understood"));
    }
    let is_loaded = reasons.is_empty();
    for (line, reason) in reasons {
        fields.warn(line, format!("it is not loaded: {reason}"));
    }
    (is_loaded.then_some(definition), fields.finish())
}

/// Why the definition must not have the key that it has, if it has one.
fn key_problem(definition: &Definition, directories: &DefinitionDirectories) -> Option<String> {
    definition.configuration.api_key.as_ref()?;
    match (definition.kind, definition.scope) {
        (DefinitionKind::Profile, Scope::Global) => None,
        (DefinitionKind::Profile, Scope::Project) => Some(format!(
            "Refusing to load apiKey from project-local profile \"{}\". Move the profile to the \
             global directory ({}/) or use environment variables.",
            definition.name,
            directories.global.display()
        )),
        // The agent keeps its conversation in a file then, in which the key could not be hidden.
        (DefinitionKind::Preset, _) => Some(format!(
            "Refusing to load apiKey from preset \"{}\". Log in to the provider in pi, or use \
             environment variables.",
            definition.name
        )),
    }
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
