//! Definitions, from their files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::directories::list;
use super::{Definition, DefinitionDirectories, DefinitionKind, Scope, claude, validate};
use crate::frontmatter::{Document, Fields, FileWarning};
use crate::plain_file::is_absent;
use crate::similar::{similar_names, then_did_you_mean};

/// All definitions of a kind, the user's and the project's.
#[derive(Clone, Debug)]
pub struct Definitions {
    kind: DefinitionKind,
    own: BTreeMap<String, Definition>,
    /// What is wrong with the files.
    pub warnings: Vec<FileWarning>,
    /// The directories of Claude Code's. Users have hundreds of such files, and most tasks use none of
    /// them, so that they are read when one is asked for.
    claude: Vec<(Scope, PathBuf)>,
    foreign: OnceLock<Foreign>,
}

/// What files of other programs define.
#[derive(Clone, Debug)]
struct Foreign {
    /// Together with ours, which win.
    all: BTreeMap<String, Definition>,
    warnings: Vec<FileWarning>,
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
        let found = self.own.get(name).or_else(|| self.all().get(name));
        found.ok_or_else(|| UnknownDefinition {
            kind: self.kind,
            name: name.to_owned(),
            available: self.all().keys().cloned().collect(),
        })
    }

    /// Takes a definition in, in the place of one of the same name.
    pub fn insert(&mut self, definition: Definition) {
        self.foreign = OnceLock::new();
        self.own.insert(definition.name.clone(), definition);
    }

    /// Whether one of ours has that name.
    pub(crate) fn has_own(&self, name: &str) -> bool {
        self.own.contains_key(name)
    }

    /// What is wrong with files of other programs. A task that uses none of them does not depend on it.
    pub fn foreign_warnings(&self) -> &[FileWarning] {
        if self.claude.is_empty() { &[] } else { &self.foreign().warnings }
    }

    /// What is wrong with any file.
    pub fn all_warnings(&self) -> impl Iterator<Item = &FileWarning> {
        self.warnings.iter().chain(self.foreign_warnings())
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Definition> {
        self.all().values()
    }

    fn all(&self) -> &BTreeMap<String, Definition> {
        if self.claude.is_empty() { &self.own } else { &self.foreign().all }
    }

    fn foreign(&self) -> &Foreign {
        self.foreign.get_or_init(|| {
            let (mut all, mut warnings) = (BTreeMap::new(), Vec::new());
            for (scope, directory) in &self.claude {
                let read = |path| claude::read(path, *scope);
                let files = read_files(directory, self.kind, &mut warnings, read);
                all.extend(by_name(files, &mut warnings));
            }
            all.extend(self.own.clone());
            Foreign { all, warnings }
        })
    }
}

/// Reads all definitions of a kind. The project's win over the user's, and ours over those of other
/// programs; what is wrong with a file is a warning.
///
/// There is no cache: the files are small and few, and a change must count at once.
pub fn load_definitions(directories: &DefinitionDirectories) -> Definitions {
    let kind = directories.kind;
    let (mut own, mut warnings) = (BTreeMap::new(), Vec::new());
    for scope in directories.scopes() {
        let files = read_directory(directories, scope, &mut warnings);
        let mut of_scope = by_name(files, &mut warnings);
        // The project's take the place of the user's, but do not take back what restricts those.
        for (name, definition) in &mut of_scope {
            let restricted = own.get(name).and_then(|known: &Definition| known.access);
            definition.access = definition.access.into_iter().chain(restricted).min();
        }
        own.extend(of_scope);
    }
    let claude = directories.claude.clone();
    Definitions { kind, own, warnings, claude, foreign: OnceLock::new() }
}

/// The definition in the text of a file, as a caller on another machine has sent it.
pub fn definition_of_text(kind: DefinitionKind, text: &str) -> Result<Definition, String> {
    let directory = PathBuf::from("/");
    let directories = DefinitionDirectories {
        kind,
        global: directory.clone(),
        project: directory,
        claude: Vec::new(),
    };
    let path = Path::new("/definition.md");
    let document = Document::parse(text.as_bytes()).map_err(|error| error.to_string())?;
    let (definition, warnings) = from_document(document, path, Scope::Global, &directories);
    match (definition, warnings.first()) {
        (Some(definition), None) => Ok(definition),
        (_, Some(warning)) => Err(warning.problem.clone()),
        (None, None) => Err("it is not loaded".to_owned()),
    }
}

/// The definitions of one directory. If two files define the same name, the last one counts.
fn by_name(
    files: Vec<DefinitionFile>,
    warnings: &mut Vec<FileWarning>,
) -> BTreeMap<String, Definition> {
    let mut definitions = BTreeMap::<String, Definition>::new();
    for file in files {
        warnings.extend(file.warnings);
        let Some(definition) = file.definition else {
            continue;
        };
        if let Some(other) = definitions.get(&definition.name) {
            warnings.push(FileWarning {
                path: definition.path.clone(),
                line: None,
                problem: format!(
                    "it defines {} \"{}\" again and is used instead of {}",
                    definition.kind.word(),
                    definition.name,
                    other.path.display()
                ),
            });
        }
        definitions.insert(definition.name.clone(), definition);
    }
    definitions
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
    read_files(directories.of_scope(scope), directories.kind, warnings, |path| {
        let (definition, warnings) = match Document::read(&path) {
            Ok(document) => from_document(document, &path, scope, directories),
            Err(error) => (None, vec![error.into_warning(&path)]),
        };
        Some(DefinitionFile { path, definition, warnings })
    })
}

/// The files of a directory that should hold definitions, by name.
fn read_files(
    directory: &Path,
    kind: DefinitionKind,
    warnings: &mut Vec<FileWarning>,
    read: impl Fn(PathBuf) -> Option<DefinitionFile>,
) -> Vec<DefinitionFile> {
    let paths = match list(directory) {
        Ok(paths) => paths,
        // Also where `.pi` is a plain file; one in place of the directory itself is a mistake.
        Err(error) if is_absent(&error) && !directory.exists() => return Vec::new(),
        Err(error) => {
            let problem = format!("its {}s cannot be read: {error}", kind.word());
            warnings.push(FileWarning { path: directory.to_owned(), line: None, problem });
            return Vec::new();
        }
    };
    paths.into_iter().filter_map(read).collect()
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
        Some(_) => reasons.push((name_line, validate::NAME_RULE)),
        None => reasons.push((name_line, "it has no \"name\"")),
    }
    if kind == DefinitionKind::Preset && definition.description.is_none() {
        reasons.push((description_line, "it has no \"description\""));
    }
    if !is_restricted_as_written {
        reasons.push((name_line, validate::NOT_RESTRICTED));
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
