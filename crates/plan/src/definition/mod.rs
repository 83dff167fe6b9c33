//! Definitions: named, reusable descriptions of how a sub-agent runs.
//!
//! There are two kinds. Profiles are for delegated tasks, presets for the tool `subagent`. They are
//! kept in different directories, and differ in what their body means and in which fields they must
//! have. Everything else is the same for both.

mod claude;
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

use model::{Access, Budget, Isolation};
use protocol::Configuration;

pub(crate) use claude::{Target, adapt};
pub use directories::DefinitionDirectories;
pub use display::{definition_detail, definition_summary};
pub use file::{
    DefinitionFileError, create_definition, delete_definition, import_definition, update_definition,
};
pub use load::{Definitions, UnknownDefinition, definition_of_text, load_definitions};
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
    pub origin: DefinitionOrigin,
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
    /// The name of an agent. Whether there is such an agent is decided for each task.
    pub agent: Option<String>,
    /// The most that the agent may change.
    pub access: Option<Access>,
    /// How the agent is kept apart from other work on the same files.
    pub isolation: Option<Isolation>,
    /// The most that a run may spend.
    pub budget: Option<Budget>,
    /// Seconds until a run is stopped. Only presets have it; delegated tasks have their own.
    pub timeout: Option<f64>,
    /// A command that is run in a new worktree before the agent.
    pub prepare: Option<String>,
    /// Seconds until it is stopped.
    pub prepare_timeout: Option<f64>,
    /// A command that judges the work when the agent has finished.
    pub check: Option<String>,
    /// Seconds until the check is stopped.
    pub check_timeout: Option<f64>,
    /// Where the agent works, if not on this machine.
    pub on: Option<String>,
}

impl Definition {
    /// A definition that leaves everything to the agent.
    pub fn new(name: &str, scope: Scope, directories: &DefinitionDirectories) -> Definition {
        let path = directories.of_scope(scope).join(format!("{name}.md"));
        Definition::at(directories.kind, name, scope, path)
    }

    /// Whether it is a file of ours, and not one of another program, which is only read.
    pub fn is_own(&self) -> bool {
        self.origin == DefinitionOrigin::Own
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
            origin: DefinitionOrigin::Own,
            path,
            description: None,
            configuration: Configuration::default(),
            suggested_skills: Vec::new(),
            load_skills: Vec::new(),
            agent: None,
            access: None,
            isolation: None,
            budget: None,
            timeout: None,
            prepare: None,
            prepare_timeout: None,
            check: None,
            check_timeout: None,
            on: None,
        }
    }
}

/// The program that a definition was written for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefinitionOrigin {
    /// This one.
    Own,
    /// Claude Code, for its own sub-agents.
    ClaudeCode {
        /// The fields that mean something there and are not taken over.
        left_out: Vec<&'static str>,
    },
}

impl DefinitionOrigin {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            DefinitionOrigin::Own => "own",
            DefinitionOrigin::ClaudeCode { .. } => "claude",
        }
    }

    /// The fields that are not taken over.
    pub fn left_out(&self) -> &[&'static str] {
        match self {
            DefinitionOrigin::Own => &[],
            DefinitionOrigin::ClaudeCode { left_out } => left_out,
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
