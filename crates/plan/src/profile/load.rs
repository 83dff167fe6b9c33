//! Profiles, from their files.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{AgentName, ApiKey, Profile, Scope, ThinkingLevel, validate};
use crate::Surroundings;
use crate::frontmatter::{Document, Fields, FileWarning};

/// Where profiles are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileDirectories {
    /// The user's.
    pub global: PathBuf,
    /// The project's.
    pub project: PathBuf,
}

impl ProfileDirectories {
    /// Those of the caller.
    pub fn of(surroundings: &Surroundings) -> ProfileDirectories {
        ProfileDirectories::within(&surroundings.agent_dir, surroundings.project_root())
    }

    fn within(agent_dir: &Path, project_root: &Path) -> ProfileDirectories {
        ProfileDirectories {
            global: agent_dir.join("agent-profiles"),
            project: project_root.join(".pi").join("agent-profiles"),
        }
    }

    /// The one of a scope.
    pub fn of_scope(&self, scope: Scope) -> &Path {
        match scope {
            Scope::Global => &self.global,
            Scope::Project => &self.project,
        }
    }

    /// Those that there are, in the order in which they are read. An agent directory can be the
    /// project's own `.pi`; its profiles are the user's then.
    pub(super) fn scopes(&self) -> Vec<Scope> {
        let same = match (fs::canonicalize(&self.global), fs::canonicalize(&self.project)) {
            (Ok(global), Ok(project)) => global == project,
            _ => self.global == self.project,
        };
        if same { vec![Scope::Global] } else { vec![Scope::Global, Scope::Project] }
    }
}

/// All profiles of the user and of the project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profiles {
    profiles: BTreeMap<String, Profile>,
    /// What is wrong with the files.
    pub warnings: Vec<FileWarning>,
}

/// There is no profile of that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Unknown profile: \"{name}\". Available profiles: {}",
    if available.is_empty() { "(none)".to_owned() } else { available.join(", ") }
)]
pub struct UnknownProfile {
    /// The name that was asked for.
    pub name: String,
    /// The names that there are.
    pub available: Vec<String>,
}

impl Profiles {
    /// The profile of that name.
    pub fn get(&self, name: &str) -> Result<&Profile, UnknownProfile> {
        self.profiles.get(name).ok_or_else(|| UnknownProfile {
            name: name.to_owned(),
            available: self.profiles.keys().cloned().collect(),
        })
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Profile> {
        self.profiles.values()
    }
}

/// Reads all profiles. The project's win over the user's; what is wrong with a file is a warning.
///
/// There is no cache: the files are small and few, and what was just changed must count.
pub fn load_profiles(directories: &ProfileDirectories) -> Profiles {
    let mut all = Profiles::default();
    for scope in directories.scopes() {
        let mut of_scope = BTreeMap::<String, Profile>::new();
        for file in read_directory(directories, scope, &mut all.warnings) {
            all.warnings.extend(file.warnings);
            let Some(profile) = file.profile else {
                continue;
            };
            if let Some(other) = of_scope.get(&profile.name) {
                all.warnings.push(FileWarning {
                    path: profile.path.clone(),
                    line: None,
                    problem: format!(
                        "it defines profile \"{}\" again and is used instead of {}",
                        profile.name,
                        other.path.display()
                    ),
                });
            }
            of_scope.insert(profile.name.clone(), profile);
        }
        all.profiles.extend(of_scope);
    }
    all
}

/// A file that should hold a profile.
pub(super) struct ProfileFile {
    pub(super) path: PathBuf,
    /// What it holds, if it can be loaded; if not, a warning says why.
    pub(super) profile: Option<Profile>,
    pub(super) warnings: Vec<FileWarning>,
}

/// The files of a scope, by name.
pub(super) fn read_directory(
    directories: &ProfileDirectories,
    scope: Scope,
    warnings: &mut Vec<FileWarning>,
) -> Vec<ProfileFile> {
    let directory = directories.of_scope(scope);
    let mut paths = match list(directory) {
        Ok(paths) => paths,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            let problem = format!("its profiles cannot be read: {error}");
            warnings.push(FileWarning { path: directory.to_owned(), line: None, problem });
            return Vec::new();
        }
    };
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let (profile, warnings) = match Document::read(&path) {
                Ok(document) => from_document(document, &path, scope, &directories.global),
                Err(error) => (None, vec![error.into_warning(&path)]),
            };
            ProfileFile { path, profile, warnings }
        })
        .collect()
}

/// The profile that a document describes. `global` is told to whoever must move a key.
pub(super) fn from_document(
    mut document: Document,
    path: &Path,
    scope: Scope,
    global: &Path,
) -> (Option<Profile>, Vec<FileWarning>) {
    let mut fields = Fields::of(&mut document, path);
    let name_line = fields.line("name");
    // Agents of other programs have one; it says nothing that is needed here.
    let _ = fields.text("description");
    let name = fields.text("name");
    let mut profile = Profile::at(name.as_deref().unwrap_or_default(), scope, path.to_owned());
    profile.provider = fields.text("provider");
    profile.model = fields.text("model");
    profile.thinking_level = fields.word("thinkingLevel", &ThinkingLevel::WORDS);
    profile.append_system_prompt = fields.text("appendSystemPrompt");
    let problems = fields.problems();
    profile.no_tools = fields.flag("noTools");
    profile.tools = fields.list("tools");
    profile.exclude_tools = fields.list("excludeTools");
    profile.no_extensions = fields.flag("noExtensions");
    profile.no_skills = fields.flag("noSkills");
    profile.no_context_files = fields.flag("noContextFiles");
    // Without what was meant to restrict it, the agent would get more than its user wanted.
    let is_restricted_as_written = fields.problems() == problems;
    profile.extensions = fields.list("extensions");
    profile.suggested_skills = fields.list("suggestedSkills");
    profile.load_skills = fields.list("loadSkills");
    profile.extra_args = fields.list("extraArgs");
    profile.agent = fields.word("agent", &AgentName::WORDS);
    let key_line = fields.line("apiKey");
    profile.api_key = fields.text("apiKey").map(ApiKey::new);
    if scope == Scope::Project && profile.api_key.take().is_some() {
        let problem = format!(
            "Refusing to load apiKey from project-local profile \"{}\". Move the profile to the \
             global directory ({}/) or use environment variables.",
            profile.name,
            global.display()
        );
        fields.warn(key_line, problem);
    }
    profile.system_prompt = Some(document.body).filter(|body| !body.is_empty());
    let is_valid = match &name {
        Some(name) => validate::is_profile_name(name),
        None => false,
    };
    if !is_valid {
        let problem = match name {
            Some(_) => "it is not loaded: its name may have only letters, digits, \"_\" and \"-\"",
            None => "it is not loaded: it has no \"name\"",
        };
        fields.warn(name_line, problem.to_owned());
    }
    if !is_restricted_as_written {
        let problem = "it is not loaded: what should restrict the agent cannot be understood";
        fields.warn(name_line, problem.to_owned());
    }
    ((is_valid && is_restricted_as_written).then_some(profile), fields.finish())
}

fn list(directory: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.path())).collect()
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
