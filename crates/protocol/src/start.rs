//! How an agent shall be started, in no agent's words.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::{Access, AgentKind, Argument, Mirror, Secrets};

use serde_json::Value;

use crate::{Configuration, Version};

/// An agent that shall be started.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Start<'a> {
    /// The built-in agent takes pi's arguments, but needs less than pi does.
    pub agent: AgentKind,
    /// The program, and the arguments that it has before ours.
    pub program: Vec<String>,
    /// The version of the program, where the protocol depends on it and it is known.
    pub version: Option<Version>,
    pub configuration: &'a Configuration,
    pub origin: Origin,
    /// Whether the agent writes its conversation into a file of the run directory.
    pub keeps_conversation: bool,
    /// The names of all tools that the agent could have, where they are known.
    pub all_tools: Option<&'a [String]>,
    /// Where the user keeps settings and logins.
    pub agent_dir: &'a Path,
    /// The user's home directory, in which agents of other makes keep theirs.
    pub home: Option<&'a Path>,
    /// The variables of the environment, of which some say where an agent keeps its state.
    pub variable: fn(&str) -> Option<String>,
    /// What the agent may change. The system enforces it; the agent is told.
    pub access: Access,
    /// The most that it may spend, in US dollars. The run is stopped there; an agent that can keep it, too, is told.
    pub max_cost_usd: Option<f64>,
    /// Whether the agent asks its user what its own rules do not permit.
    pub ask: bool,
    /// The provider of the model that the agent uses if the configuration names none, where it is
    /// known.
    pub default_provider: Option<&'a str>,
    /// The JSON Schema that the answer must fit. The prompt has it, too.
    pub schema: Option<&'a Value>,
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
    /// Variables whose value is the path of such a file.
    pub file_variables: BTreeMap<String, String>,
    /// Variables that are written nowhere.
    pub secrets: Secrets,
    /// What the agent must be able to change even if it may change nothing else.
    pub state: AgentState,
    /// What stands in front of the prompt, where the agent takes no system prompt besides its own.
    pub preamble: Option<String>,
    /// What the agent cannot do although it was asked for. Nothing of it restricts the agent.
    pub warnings: Vec<String>,
}

/// What an agent writes for itself: sessions and logs, but no settings, and nothing that runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentState {
    /// Names of files in the run directory.
    pub run_files: Vec<String>,
    /// Files, and directories with everything beneath them.
    pub paths: Vec<PathBuf>,
    /// The directory of its settings, if it makes files beside them even to read them.
    pub mirror: Option<Mirror>,
    /// Variables that name directories for what need not outlive the run, such as caches.
    pub private: Vec<String>,
    /// Its settings, which no agent may change that is restricted at all.
    pub settings: Vec<PathBuf>,
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
    #[error(
        "{origin} names the provider \"{provider}\" and no model, which pi {version} refuses. Add the \
         model, such as `model: {provider}/ID`."
    )]
    ProviderWithoutModel { origin: String, provider: String, version: Version },
    #[error("{origin} cannot be used: \"{field}\" contains a null byte")]
    NullByte { origin: String, field: &'static str },
    #[error("{origin} cannot be used: \"{field}\" begins with a hyphen, as an option does")]
    LooksLikeOption { origin: String, field: &'static str },
    #[error(
        "{origin} asks for extensions, which only pi can load, and not {agent}; use pi for it \
         (`--agent pi`, `agent: pi`), or leave the extensions out"
    )]
    NoExtensions { origin: String, agent: &'static str },
    #[error(
        "{origin} sets \"{field}\", which {agent} cannot keep{}. The task was not started without \
         it.",
        instead.map(|instead| format!(": {instead}")).unwrap_or_default()
    )]
    CannotRestrict {
        origin: String,
        field: &'static str,
        agent: &'static str,
        instead: Option<&'static str>,
    },
    #[error(
        "{origin} asks for a model of \"{provider}\", and {agent} uses only those of \
         {own}. Name one of its models, or use another agent (`--agent`, `agent`)."
    )]
    OtherProvider { origin: String, provider: String, agent: &'static str, own: &'static str },
    #[error(
        "{origin} has a key for \"{provider}\", which cannot be handed to {agent}: it takes one for \
         {own} only"
    )]
    OtherKey { origin: String, provider: String, agent: &'static str, own: &'static str },
    #[error("{origin} has a key, and nothing is known of how {agent} takes one")]
    NoKey { origin: String, agent: &'static str },
    #[error(
        "{origin} has a key and names no provider. {agent} has many, so that \"provider\" must say \
         whose key it is"
    )]
    KeyWithoutProvider { origin: String, agent: &'static str },
    #[error("{origin} cannot be used: {variable} in the environment is not JSON")]
    NotJson { origin: String, variable: &'static str },
}

/// The words that tell an agent what it may not change, so that it does not try.
pub(crate) fn bounds(access: Access) -> Option<&'static str> {
    match access {
        Access::Read => Some(
            "You can read everything but change nothing: the system refuses every write outside of \
             $TMPDIR.",
        ),
        Access::Workspace => Some(
            "You can change files in the working directory and in $TMPDIR. The system refuses every \
             other write, also to git's hooks and configuration.",
        ),
        Access::Full => None,
    }
}

/// What is added to the system prompt of an agent that cannot be told of skills in another way.
pub(crate) fn added_prompt(start: &Start<'_>) -> Option<String> {
    let Configuration { append_system_prompt, skills, .. } = start.configuration;
    let skills = (!skills.is_empty()).then(|| {
        let paths = skills.iter().map(|path| format!("\n- {}", path.display()));
        let intro =
            "These files hold instructions for special tasks. Read one when it fits the task:";
        format!("{intro}{}", paths.collect::<String>())
    });
    let bounds = bounds(start.access).map(str::to_owned);
    let parts: Vec<String> =
        [append_system_prompt.clone(), skills, bounds].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// A command that grows, and the files that it refers to.
pub(crate) struct CommandLine<'a> {
    origin: &'a Origin,
    pub(crate) words: Vec<Argument>,
    pub(crate) files: BTreeMap<String, String>,
}

impl<'a> CommandLine<'a> {
    pub(crate) fn of(start: &'a Start<'a>) -> CommandLine<'a> {
        let words = start.program.iter().cloned().map(Argument::from).collect();
        CommandLine { origin: &start.origin, words, files: BTreeMap::new() }
    }

    pub(crate) fn flag(&mut self, flag: &str, is_set: bool) {
        self.words.extend(is_set.then(|| Argument::from(flag)));
    }

    pub(crate) fn option(
        &mut self,
        field: &'static str,
        flag: &str,
        value: Option<&str>,
    ) -> Result<(), StartError> {
        if let Some(value) = value {
            check_value(self.origin, field, value)?;
            self.words.extend([flag, value].map(Argument::from));
        }
        Ok(())
    }

    /// What can be too long for an argument.
    pub(crate) fn file(&mut self, flag: &str, name: &str, text: &str) {
        self.words.extend([Argument::from(flag), Argument::File(name.to_owned())]);
        self.files.insert(name.to_owned(), text.to_owned());
    }
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
