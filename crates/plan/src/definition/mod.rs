//! Definitions: named, reusable descriptions of how a sub-agent runs.
//!
//! There are two kinds. Profiles are for delegated tasks, presets for the tool `subagent`; they are
//! kept in different places, and differ in what their text means and in what they must say. Behind
//! that they are one thing, and everything that is done with them is done once.

mod api_key;
mod directories;
mod display;
mod file;
mod invocation;
mod load;
mod markdown;
#[cfg(test)]
mod preset_tests;
#[cfg(test)]
mod testing;
mod validate;

use std::path::PathBuf;

pub use api_key::ApiKey;
pub use directories::DefinitionDirectories;
pub use display::{definition_detail, definition_summary};
pub use file::{DefinitionFileError, create_definition, delete_definition, update_definition};
pub use invocation::{Invocation, InvocationContext, InvocationError, invocation};
pub use load::{Definitions, UnknownDefinition, load_definitions};
pub use markdown::to_markdown;
pub use validate::{Contradiction, InvalidDefinitionName, check_definition, check_definition_name};

/// How a sub-agent runs. Lists that are empty, and what is absent, leave the agent its defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Whether it is a profile or a preset.
    pub kind: DefinitionKind,
    /// What it is called: letters, digits, `_` and `-`.
    pub name: String,
    /// Whose it is.
    pub scope: Scope,
    /// The file that it was read from, or will be written to.
    pub path: PathBuf,
    /// What it is good for. Every preset has one.
    pub description: Option<String>,
    /// The model's provider.
    pub provider: Option<String>,
    /// The model, in the agent's words.
    pub model: Option<String>,
    /// How much the model thinks.
    pub thinking_level: Option<ThinkingLevel>,
    /// Replaces the agent's own system prompt: the body of a profile, trimmed and not empty.
    pub system_prompt: Option<String>,
    /// Is added to the agent's system prompt. In a preset this is the body.
    pub append_system_prompt: Option<String>,
    /// The key for the model's provider. Only the user's own profiles have one.
    pub api_key: Option<ApiKey>,
    /// Whether there are no tools; wins over the two lists.
    pub no_tools: bool,
    /// The only tools that there are.
    pub tools: Vec<String>,
    /// The tools that there are not.
    pub exclude_tools: Vec<String>,
    /// Whether no extensions are found by themselves.
    pub no_extensions: bool,
    /// Extensions to load.
    pub extensions: Vec<String>,
    /// Whether there are no skills.
    pub no_skills: bool,
    /// Names of skills that the model is told about.
    pub suggested_skills: Vec<String>,
    /// Names of skills whose text becomes part of the system prompt.
    pub load_skills: Vec<String>,
    /// Whether `AGENTS.md` and its like are not read.
    pub no_context_files: bool,
    /// More arguments, handed on as they are.
    pub extra_args: Vec<String>,
    /// The child agent.
    pub agent: Option<AgentName>,
    /// Seconds until a run is stopped. Only presets say so; delegated tasks say it themselves.
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
            provider: None,
            model: None,
            thinking_level: None,
            system_prompt: None,
            append_system_prompt: None,
            api_key: None,
            no_tools: false,
            tools: Vec::new(),
            exclude_tools: Vec::new(),
            no_extensions: false,
            extensions: Vec::new(),
            no_skills: false,
            suggested_skills: Vec::new(),
            load_skills: Vec::new(),
            no_context_files: false,
            extra_args: Vec::new(),
            agent: None,
            timeout: None,
        }
    }
}

/// Which of the two kinds a definition is of.
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

/// Whose a definition or skill is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The user's, for all projects.
    Global,
    /// The project's.
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

/// How much a model thinks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are pi's own words")]
pub enum ThinkingLevel {
    #[default]
    Off,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

impl ThinkingLevel {
    /// All of them, with their words, from the least to the most.
    pub const WORDS: [(&'static str, ThinkingLevel); 7] = [
        ("off", ThinkingLevel::Off),
        ("minimal", ThinkingLevel::Minimal),
        ("low", ThinkingLevel::Low),
        ("medium", ThinkingLevel::Medium),
        ("high", ThinkingLevel::High),
        ("xhigh", ThinkingLevel::Xhigh),
        ("max", ThinkingLevel::Max),
    ];

    /// All of them, from the least to the most.
    pub fn all() -> impl DoubleEndedIterator<Item = ThinkingLevel> {
        ThinkingLevel::WORDS.into_iter().map(|(_, level)| level)
    }

    /// The level that this is the word for.
    pub fn parse(word: &str) -> Option<ThinkingLevel> {
        ThinkingLevel::all().find(|level| level.word() == word)
    }

    /// The word for the level, the same in files, in arguments and on the screen.
    pub fn word(self) -> &'static str {
        ThinkingLevel::WORDS[self as usize].0
    }
}

/// The child agents that any file may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentName {
    /// The real pi.
    Pi,
    /// Our own agent.
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
        for (word, level) in ThinkingLevel::WORDS {
            assert_eq!(level.word(), word);
        }
        for (word, agent) in AgentName::WORDS {
            assert_eq!(agent.word(), word);
        }
    }
}
