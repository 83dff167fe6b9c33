//! How an agent shall be started, in no agent's words.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::{AgentKind, Argument, Secrets};

use crate::ApiKey;

/// How an agent works. What is absent or empty is left to the agent.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Configuration {
    pub provider: Option<String>,
    /// As the agent spells it.
    pub model: Option<String>,
    pub thinking_level: Option<ThinkingLevel>,
    /// Replaces the agent's own system prompt.
    pub system_prompt: Option<String>,
    /// Is added to the agent's system prompt.
    pub append_system_prompt: Option<String>,
    /// Whether the agent has no tools; wins over the two lists.
    pub no_tools: bool,
    /// The only tools that the agent has.
    pub tools: Vec<String>,
    /// The tools that the agent does not have.
    pub exclude_tools: Vec<String>,
    /// Whether the agent loads no extensions but those that are named here.
    pub no_extensions: bool,
    pub extensions: Vec<String>,
    /// Whether the agent looks for no skills.
    pub no_skills: bool,
    /// The files of the skills that the model is told about.
    pub skills: Vec<PathBuf>,
    /// Whether `AGENTS.md` and its like are not read.
    pub no_context_files: bool,
    /// More arguments, handed on as they are.
    pub extra_args: Vec<String>,
    /// The key for a model's provider, instead of the agent's own login.
    pub api_key: Option<ApiKey>,
    /// The provider that the key is for; the model's if absent.
    pub key_provider: Option<String>,
}

/// How much a model thinks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names say it")]
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

/// An agent that shall be started.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Start<'a> {
    /// The built-in agent takes pi's arguments, but needs less than pi does.
    pub agent: AgentKind,
    /// The program, and the arguments that it has before ours.
    pub program: Vec<String>,
    pub configuration: &'a Configuration,
    pub origin: Origin,
    /// Whether the agent writes its conversation into a file of the run directory.
    pub keeps_conversation: bool,
    /// The names of all tools that the agent could have, where they are known.
    pub all_tools: Option<&'a [String]>,
    /// Where the user keeps settings and logins.
    pub agent_dir: &'a Path,
}

/// What a configuration is called in messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Its name at the beginning of a sentence, such as `Profile "fast"`.
    pub title: String,
    /// The word for its kind, such as `profile`.
    pub kind: &'static str,
}

/// How an agent's process is started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Invocation {
    /// The program and all its arguments.
    pub command: Vec<Argument>,
    /// Variables that are set in the environment, or, where there is no value, removed.
    pub environment: BTreeMap<String, Option<String>>,
    /// Files that the command refers to, by their names in the run directory.
    pub files: BTreeMap<String, String>,
    /// Variables that are written nowhere.
    pub secrets: Secrets,
}

/// An agent cannot be started in that way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum StartError {
    #[error(
        "Refusing extraArg \"{argument}\" which would override {kind} tool restrictions. Use the \
         dedicated {kind} fields instead."
    )]
    OverridesTools { argument: String, kind: &'static str },
    #[error(
        "Refusing extraArg \"--api-key\": every user of this machine can see arguments. Use the \
         field apiKey instead."
    )]
    ShowsKey,
    #[error("Invalid extraArg: contains null byte")]
    NullByteInExtraArg,
    #[error("Refusing extraArg: potentially unsafe argument '{0}'")]
    UnsafeExtraArg(String),
    #[error("{origin} cannot be used: \"{field}\" contains a null byte")]
    NullByte { origin: String, field: &'static str },
    #[error("{origin} cannot be used: \"{field}\" begins with a hyphen, as an option does")]
    LooksLikeOption { origin: String, field: &'static str },
    #[error(
        "{origin} asks for extensions, which only pi can load, and not the built-in agent; use pi \
         for it (`--agent pi`, `agent: pi`), or leave the extensions out"
    )]
    NoExtensions { origin: String },
}

/// Refuses an argument of the user's own choice that no process can be given, or that would mean
/// something to a shell. No shell ever sees it; a user who writes it expects one, and would be
/// surprised.
pub(crate) fn check_extra_argument(argument: &str) -> Result<(), StartError> {
    if argument.contains('\0') {
        return Err(StartError::NullByteInExtraArg);
    }
    let is_special = |first: char| {
        first.is_whitespace()
            || matches!(first, '\u{feff}' | '|' | '&' | ';' | '$' | '\\' | '`' | '!')
    };
    let is_unsafe = argument.starts_with(is_special)
        || argument.contains([';', '>', '<'])
        || argument.contains("&&")
        || argument.contains("||");
    if is_unsafe {
        return Err(StartError::UnsafeExtraArg(argument.chars().take(40).collect()));
    }
    Ok(())
}

/// Refuses a value that would be taken for an option, or that no process can be given: the failure
/// to start would not say why.
pub(crate) fn check_value(
    origin: &Origin,
    field: &'static str,
    value: &str,
) -> Result<(), StartError> {
    let origin = || origin.title.clone();
    if value.contains('\0') {
        Err(StartError::NullByte { origin: origin(), field })
    } else if value.starts_with('-') {
        // Whether a program would take it for a value is that program's decision.
        Err(StartError::LooksLikeOption { origin: origin(), field })
    } else {
        Ok(())
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
    }

    #[test]
    fn unsafe_extra_arguments_are_refused() {
        let refusal = |argument: &str| check_extra_argument(argument).err().map(|e| e.to_string());
        for argument in [
            "| ls",
            "& rm",
            "; echo",
            "$HOME",
            "\\x",
            "`whoami`",
            "! x",
            " x",
            "\tx",
            "\nx",
            "\u{a0}x",
            "\u{feff}x",
            "a&&b",
            "a||b",
            "a;b",
            "a>b",
            "a>>b",
            "a<b",
            "a<<b",
            "&& rm",
            "|| exit",
            "> file",
            ">> file",
            "< file",
        ] {
            let expected = format!("Refusing extraArg: potentially unsafe argument '{argument}'");
            assert_eq!(refusal(argument), Some(expected));
        }
        for argument in ["--verbose", "a|b", "a&b", "arg$(whoami)", "a`b`", "a!", "", "a\\b", "=x"]
        {
            assert_eq!(refusal(argument), None, "{argument}");
        }
        let long = format!(";{}", "ż".repeat(60));
        let expected =
            format!("Refusing extraArg: potentially unsafe argument ';{}'", "ż".repeat(39));
        assert_eq!(refusal(&long), Some(expected));
        for argument in ["test\0arg", ";\0"] {
            let expected = "Invalid extraArg: contains null byte".to_owned();
            assert_eq!(refusal(argument), Some(expected));
        }
    }
}
