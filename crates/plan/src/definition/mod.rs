//! Definitions: named, reusable descriptions of how a sub-agent runs.
//!
//! There are two kinds. Profiles are for delegated tasks, presets for the tool `subagent`. They are
//! kept in different directories, and differ in what their body means and in which fields they must
//! have. Everything else is the same for both.

mod directories;
mod display;
mod fields;
mod file;
mod load;
mod markdown;
#[cfg(test)]
mod preset_tests;
#[cfg(test)]
mod testing;
mod validate;

use std::path::PathBuf;

use protocol::Configuration;

pub use directories::DefinitionDirectories;
pub use display::{definition_detail, definition_summary};
pub use file::{DefinitionFileError, create_definition, delete_definition, update_definition};
pub use load::{Definitions, UnknownDefinition, load_definitions};
pub use markdown::to_markdown;
pub(crate) use validate::check_trust;
pub use validate::{Contradiction, InvalidDefinitionName, check_definition, check_definition_name};

/// How a sub-agent runs. Lists that are empty, and what is absent, leave the agent its defaults.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Definition {
    pub kind: DefinitionKind,
    /// Letters, digits, `_` and `-`.
    pub name: String,
    pub scope: Scope,
    /// The file that it was read from, or will be written to.
    pub path: PathBuf,
    /// Every preset has one.
    pub description: Option<String>,
    /// How the agent works. Only the user's own profiles have a key. Skills are named here and
    /// looked up for each task.
    pub configuration: Configuration,
    /// Names of skills that the model is told about.
    pub suggested_skills: Vec<String>,
    /// Names of skills whose text becomes part of the system prompt.
    pub load_skills: Vec<String>,
    pub agent: Option<AgentName>,
    /// Seconds until a run is stopped. Only presets have it; delegated tasks have their own.
    pub timeout: Option<f64>,
}

impl Definition {
    /// A definition that leaves everything to the agent.
    pub fn new(name: &str, scope: Scope, directories: &DefinitionDirectories) -> Definition {
        let path = directories.of_scope(scope).join(format!("{name}.md"));
        Definition::at(directories.kind, name, scope, path)
    }

    /// What it is called in messages, such as `Profile "fast"`.
    pub fn label(&self) -> String {
        self.kind.label(&self.name)
    }

    fn at(kind: DefinitionKind, name: &str, scope: Scope, path: PathBuf) -> Definition {
        Definition {
            kind,
            name: name.to_owned(),
            scope,
            path,
            description: None,
            configuration: Configuration::default(),
            suggested_skills: Vec::new(),
            load_skills: Vec::new(),
            agent: None,
            timeout: None,
        }
    }
}

/// The two kinds of definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefinitionKind {
    /// For delegated tasks. Its body replaces the system prompt.
    Profile,
    /// For the tool `subagent`. Its body is added to the system prompt.
    Preset,
}

impl DefinitionKind {
    /// The word for the kind.
    pub fn word(self) -> &'static str {
        match self {
            DefinitionKind::Profile => "profile",
            DefinitionKind::Preset => "preset",
        }
    }

    /// The word at the beginning of a sentence.
    pub fn title(self) -> &'static str {
        match self {
            DefinitionKind::Profile => "Profile",
            DefinitionKind::Preset => "Preset",
        }
    }

    fn label(self, name: &str) -> String {
        format!("{} \"{name}\"", self.title())
    }
}

/// Who has written a definition or skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The user, for all projects.
    Global,
    /// The project.
    Project,
}

impl Scope {
    /// The word for the scope.
    pub fn word(self) -> &'static str {
        match self {
            Scope::Global => "global",
            Scope::Project => "project",
        }
    }
}

/// The agents that any file may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum AgentName {
    Pi,
    Builtin,
}

impl AgentName {
    const WORDS: [(&'static str, AgentName); 2] =
        [("pi", AgentName::Pi), ("builtin", AgentName::Builtin)];

    /// The word for the agent.
    pub fn word(self) -> &'static str {
        AgentName::WORDS[self as usize].0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_says_what_it_means() {
        for (word, agent) in AgentName::WORDS {
            assert_eq!(agent.word(), word);
        }
    }
}
