//! Skills: instructions for a kind of work, which a definition can name.

mod discover;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub use discover::{discover_skills, with_skill_paths};

use crate::frontmatter::{Document, DocumentError, FileWarning};
use crate::similar::then_did_you_mean;
use crate::{Definition, Scope, similar_names};

/// A skill that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Skill {
    pub name: String,
    pub description: String,
    /// Usually ends with `SKILL.md`.
    pub path: PathBuf,
    pub scope: Scope,
    /// Whether the model may decide for itself to use it.
    pub is_offered: bool,
}

/// All skills that pi would find.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skills {
    skills: BTreeMap<String, Skill>,
    /// The directories in which the files of skills may be.
    allowed: Vec<PathBuf>,
    /// What is wrong with the files.
    pub warnings: Vec<FileWarning>,
}

/// The skills that a definition names cannot be used, so its task must not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum SkillError {
    #[error(
        "Unknown skills: {}. Available skills: {}{}",
        unknown.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", "),
        if available.is_empty() { "(none)".to_owned() } else { available.join(", ") },
        meant(unknown, available)
    )]
    Unknown { unknown: Vec<String>, available: Vec<String> },
    #[error("Refusing skill path outside allowed directories: {}", .0.display())]
    Outside(PathBuf),
    #[error("Skill \"{name}\" cannot be loaded: {}: {reason}", path.display())]
    Unreadable { name: String, path: PathBuf, reason: String },
}

/// Suggestions for the unknown names, to follow the names that exist.
fn meant(unknown: &[String], available: &[String]) -> String {
    let similar = |name: &String| similar_names(name, available.iter().map(String::as_str));
    let best = unknown.iter().filter_map(|name| similar(name).into_iter().next());
    then_did_you_mean(&best.collect::<Vec<_>>())
}

impl Skills {
    /// All of them, by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Skill> {
        self.skills.values()
    }

    /// Puts the skills that a definition names into its configuration: the files of those that are
    /// suggested, and the text of those that are loaded, behind its appended system prompt.
    pub fn add_to(&self, definition: &mut Definition, task_cwd: &Path) -> Result<(), SkillError> {
        let suggested = without_repetitions(&definition.suggested_skills);
        let loaded = without_repetitions(&definition.load_skills);
        let mut named = suggested.clone();
        named.extend(&loaded);
        let unknown: Vec<String> = without_repetitions(named)
            .into_iter()
            .filter(|name| !self.skills.contains_key(*name))
            .cloned()
            .collect();
        if !unknown.is_empty() {
            let available = self.skills.keys().cloned().collect();
            return Err(SkillError::Unknown { unknown, available });
        }
        let find = |names: Vec<&String>| -> Result<Vec<&Skill>, SkillError> {
            let skills = names.into_iter().filter_map(|name| self.skills.get(name));
            skills.map(|skill| self.check_path(skill, task_cwd).map(|()| skill)).collect()
        };
        let configuration = &mut definition.configuration;
        configuration.skills = find(suggested)?.iter().map(|skill| skill.path.clone()).collect();
        for skill in find(loaded)? {
            let document =
                Document::read(&skill.path).map_err(|error| unreadable(skill, &error))?;
            if !document.body.is_empty() {
                // An empty line stands before it even if there is no other text.
                let prompt = configuration.append_system_prompt.get_or_insert_default();
                prompt.push_str("\n\n");
                prompt.push_str(&block(&skill.name, &document.body));
            }
        }
        Ok(())
    }

    /// A project's skill can be a symbolic link to anywhere, and its text goes to the provider of
    /// a model. The user's own skills may be links to anywhere.
    fn check_path(&self, skill: &Skill, task_cwd: &Path) -> Result<(), SkillError> {
        let is_project = skill.scope == Scope::Project;
        let real = |path: &Path| match fs::canonicalize(path) {
            Ok(real) if is_project => real,
            _ => path.to_owned(),
        };
        let path = real(&skill.path);
        let mut allowed = self.allowed.iter().map(PathBuf::as_path).chain([task_cwd]);
        if allowed.any(|directory| path.starts_with(real(directory))) {
            Ok(())
        } else {
            Err(SkillError::Outside(path))
        }
    }
}

/// A skill's instructions as part of a system prompt.
fn block(name: &str, text: &str) -> String {
    let name = name.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    format!("<loaded_skill name=\"{name}\">\n{text}\n</loaded_skill>")
}

fn unreadable(skill: &Skill, error: &DocumentError) -> SkillError {
    SkillError::Unreadable {
        name: skill.name.clone(),
        path: skill.path.clone(),
        reason: error.to_string(),
    }
}

fn without_repetitions<'a>(names: impl IntoIterator<Item = &'a String>) -> Vec<&'a String> {
    let mut kept: Vec<&String> = Vec::new();
    for name in names {
        if !kept.contains(&name) {
            kept.push(name);
        }
    }
    kept
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
