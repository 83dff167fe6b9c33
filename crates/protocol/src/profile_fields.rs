//! The fields of a profile or preset that an agent is started with, in no agent's words.
//!
//! A new one is a field of [`Configuration`], and is refused or warned of for every agent until the
//! agent's `start.rs` keeps it.

use std::path::PathBuf;

use crate::start::Origin;
use crate::{ApiKey, Start, StartError};

/// How an agent works. What is absent or empty is left to the agent.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Configuration {
    pub provider: Option<String>,
    /// As the agent spells it.
    pub model: Option<String>,
    /// The models that the agent continues with when the one before has failed for good, in their order.
    pub fallback_models: Vec<String>,
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

/// What a field of a configuration does to an agent that cannot keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// The task is not started without it.
    Restricts,
    /// The task is started without it, and the user is warned.
    Helps,
}

/// What the `start.rs` of every agent keeps, or refuses in words of its own. An agent says in its `start.rs` which
/// others it keeps, so that a new field is never passed over in silence.
const KEPT_BY_ALL: [&str; 17] = [
    "provider",
    "model",
    "fallbackModels",
    "thinkingLevel",
    "systemPrompt",
    "appendSystemPrompt",
    "noTools",
    "tools",
    "excludeTools",
    "noExtensions",
    "extensions",
    "noSkills",
    "suggestedSkills",
    "noContextFiles",
    "extraArgs",
    "apiKey",
    "keyProvider",
];

impl Configuration {
    /// The restrictions that are set, by their names in files.
    pub(crate) fn restrictions(&self) -> impl Iterator<Item = &'static str> {
        let fields = self.set_fields().into_iter();
        fields.filter(|(_, effect)| *effect == Effect::Restricts).map(|(field, _)| field)
    }

    /// The fields that are set, by their names in files, and what they do.
    fn set_fields(&self) -> Vec<(&'static str, Effect)> {
        use Effect::{Helps, Restricts};
        // All of them by name, so that a new one cannot be forgotten.
        let Configuration {
            provider,
            model,
            fallback_models,
            thinking_level,
            system_prompt,
            append_system_prompt,
            no_tools,
            tools,
            exclude_tools,
            no_extensions,
            extensions,
            no_skills,
            skills,
            no_context_files,
            extra_args,
            api_key,
            key_provider,
        } = self;
        let fields = [
            ("provider", provider.is_some(), Helps),
            ("model", model.is_some(), Helps),
            ("fallbackModels", !fallback_models.is_empty(), Helps),
            ("thinkingLevel", thinking_level.is_some(), Helps),
            ("systemPrompt", system_prompt.is_some(), Helps),
            ("appendSystemPrompt", append_system_prompt.is_some(), Helps),
            ("noTools", *no_tools, Restricts),
            ("tools", !tools.is_empty(), Restricts),
            ("excludeTools", !exclude_tools.is_empty(), Restricts),
            ("noExtensions", *no_extensions, Restricts),
            ("extensions", !extensions.is_empty(), Helps),
            ("noSkills", *no_skills, Restricts),
            ("suggestedSkills", !skills.is_empty(), Helps),
            ("noContextFiles", *no_context_files, Restricts),
            ("extraArgs", !extra_args.is_empty(), Helps),
            ("apiKey", api_key.is_some(), Helps),
            ("keyProvider", key_provider.is_some(), Helps),
        ];
        let set = fields.into_iter().filter(|(_, is_set, _)| *is_set);
        set.map(|(field, _, effect)| (field, effect)).collect()
    }
}

/// Refuses a restriction that the agent does not keep, and returns warnings of other fields that it does not know. An agent
/// keeps what [`KEPT_BY_ALL`] names, and what it names here.
pub(crate) fn check_fields(
    start: &Start<'_>,
    agent: &'static str,
    kept: &[&str],
) -> Result<Vec<String>, StartError> {
    check_set_fields(&start.configuration.set_fields(), &start.origin, agent, kept)
}

fn check_set_fields(
    set: &[(&'static str, Effect)],
    origin: &Origin,
    agent: &'static str,
    kept: &[&str],
) -> Result<Vec<String>, StartError> {
    let mut warnings = Vec::new();
    let is_kept = |field: &str| KEPT_BY_ALL.contains(&field) || kept.contains(&field);
    for (field, effect) in set.iter().filter(|(field, _)| !is_kept(field)) {
        let origin = origin.title.clone();
        match effect {
            Effect::Restricts => {
                return Err(StartError::CannotRestrict { origin, field, agent, instead: None });
            }
            Effect::Helps => {
                warnings.push(format!("{origin} sets \"{field}\", which {agent} does not know"));
            }
        }
    }
    Ok(warnings)
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
    fn a_field_that_an_agent_was_never_taught_is_refused_or_warned_of() {
        let origin = Origin { title: "Profile \"fast\"".to_owned(), kind: "profile" };
        let check = |set: &[_], kept: &[&str]| {
            check_set_fields(set, &origin, "Codex", kept).map_err(|error| error.to_string())
        };
        let restricts = [("tools", Effect::Restricts), ("noNetwork", Effect::Restricts)];
        let refused = "Profile \"fast\" sets \"noNetwork\", which Codex cannot keep. The task was not \
                       started without it.";
        assert_eq!(check(&restricts, &[]), Err(refused.to_owned()));
        assert_eq!(check(&restricts, &["noNetwork"]), Ok(vec![]));
        let helps = [("model", Effect::Helps), ("temperature", Effect::Helps)];
        let warned = "Profile \"fast\" sets \"temperature\", which Codex does not know";
        assert_eq!(check(&helps, &[]), Ok(vec![warned.to_owned()]));
        assert_eq!(check(&helps, &["temperature"]), Ok(vec![]));
    }
}
