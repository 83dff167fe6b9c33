//! Finding a model by its name in the list of available models.

use protocol::ThinkingLevel;

use crate::{did_you_mean, name_distance};

/// The name means none of the available models, or several of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Unknown model: \"{name}\". {}", advice(suggestions, available))]
pub struct UnknownModel {
    /// As it was written, but for its length.
    pub name: String,
    /// Names that are much like it, or all that it could mean, best first.
    pub suggestions: Vec<String>,
    /// All models that there are.
    pub available: Vec<String>,
}

/// The model that a name means, in the spelling of the list: the name itself, else one that differs
/// in case only, else the only one with that name behind its provider. A thinking level may follow,
/// as in `sonnet:high`.
pub fn resolve_model(name: &str, available: &[String]) -> Result<String, UnknownModel> {
    if let Some(model) = find(name, available) {
        return Ok(model.clone());
    }
    if let Some((base, level)) = name.rsplit_once(':')
        && ThinkingLevel::parse(level).is_some()
        && let Some(model) = find(base, available)
    {
        return Ok(format!("{model}:{level}"));
    }
    // No model has a longer name, and comparing it would take long.
    let name: String = name.chars().take(LONGEST_NAME).collect();
    Err(UnknownModel {
        suggestions: suggestions(&name, available),
        name,
        available: available.to_vec(),
    })
}

fn find<'a>(name: &str, available: &'a [String]) -> Option<&'a String> {
    let only = |mut models: Vec<&'a String>| {
        models.dedup();
        (models.len() == 1).then(|| models.remove(0))
    };
    let all = |is_meant: &dyn Fn(&str) -> bool| -> Vec<&'a String> {
        available.iter().filter(|model| is_meant(model)).collect()
    };
    let is_same = |model: &str| model.to_lowercase() == name.to_lowercase();
    available
        .iter()
        .find(|model| *model == name)
        .or_else(|| only(all(&is_same)))
        .or_else(|| only(all(&|model| bare(model) == name)))
        .or_else(|| only(all(&|model| bare(model).to_lowercase() == name.to_lowercase())))
}

/// The name without the provider.
fn bare(model: &str) -> &str {
    model.split_once('/').map_or(model, |(_, bare)| bare)
}

/// The most characters of a name that count.
const LONGEST_NAME: usize = 200;

/// How many names are shown at most.
const SHOWN: usize = 5;

/// What could have been meant: the same name at several providers, or names with a few wrong
/// letters.
fn suggestions(name: &str, available: &[String]) -> Vec<String> {
    let provider = name.split_once('/').map(|(provider, _)| provider);
    let is_of = |model: &str, provider: &str| {
        model.split_once('/').is_some_and(|(other, _)| other.eq_ignore_ascii_case(provider))
    };
    // The same model of another provider is asked with another key.
    let named = provider.filter(|name| available.iter().any(|model| is_of(model, name)));
    let distance = |model: &String| {
        if named.is_some_and(|provider| !is_of(model, provider)) {
            return None;
        }
        // A name without its provider need not mean another model.
        let without_provider = name_distance(bare(name), bare(model));
        [name_distance(name, model), without_provider].into_iter().flatten().min()
    };
    let mut candidates: Vec<(usize, &String)> =
        available.iter().filter_map(|model| Some((distance(model)?, model))).collect();
    candidates.sort_by_key(|(distance, _)| *distance);
    if candidates.first().is_some_and(|(distance, _)| *distance == 0) {
        candidates.retain(|(distance, _)| *distance == 0);
    }
    candidates.into_iter().take(SHOWN).map(|(_, model)| model.clone()).collect()
}

fn advice(suggestions: &[String], available: &[String]) -> String {
    match (suggestions, available) {
        ([], []) => "No models are available.".to_owned(),
        ([], available) if available.len() <= SHOWN => {
            format!("Available models: {}", available.join(", "))
        }
        ([], available) => format!(
            "Available models: {} and {} more",
            available[..SHOWN].join(", "),
            available.len() - SHOWN
        ),
        (suggestions, _) => did_you_mean(suggestions).trim_start().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODELS: [&str; 6] = [
        "anthropic/claude-sonnet-4-5",
        "github-copilot/gpt-4o",
        "openai/gpt-4o",
        "openai/GPT-5",
        "router/openai/o9",
        "router/x:high",
    ];

    fn resolve(name: &str) -> Result<String, String> {
        resolve_model(name, &MODELS.map(str::to_owned)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_name_is_spelled_as_in_the_list() {
        for (name, expected) in [
            ("openai/gpt-4o", "openai/gpt-4o"),
            ("OpenAI/GPT-4o", "openai/gpt-4o"),
            ("openai/gpt-5", "openai/GPT-5"),
            ("gpt-5", "openai/GPT-5"),
            ("claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
            ("openai/o9", "router/openai/o9"),
            ("claude-sonnet-4-5:high", "anthropic/claude-sonnet-4-5:high"),
            ("router/x:high", "router/x:high"),
            ("router/X:high", "router/x:high"),
        ] {
            assert_eq!(resolve(name).as_deref(), Ok(expected), "{name}");
        }
    }

    #[test]
    fn what_is_unknown_is_told_with_what_could_be_meant() {
        for (name, expected) in [
            (
                "gpt-4o",
                "Unknown model: \"gpt-4o\". Did you mean github-copilot/gpt-4o or openai/gpt-4o?",
            ),
            (
                "claude-sonet-4-5",
                "Unknown model: \"claude-sonet-4-5\". Did you mean anthropic/claude-sonnet-4-5?",
            ),
            (
                "openai/gpt-4p",
                "Unknown model: \"openai/gpt-4p\". Did you mean openai/gpt-4o or openai/GPT-5?",
            ),
            (
                "opnai/gpt-4o",
                "Unknown model: \"opnai/gpt-4o\". Did you mean github-copilot/gpt-4o or \
                 openai/gpt-4o?",
            ),
            (
                "gpt-5:huge",
                "Unknown model: \"gpt-5:huge\". Available models: anthropic/claude-sonnet-4-5, \
                 github-copilot/gpt-4o, openai/gpt-4o, openai/GPT-5, router/openai/o9 and 1 more",
            ),
        ] {
            assert_eq!(resolve(name).unwrap_err(), expected);
        }
        let few = ["a/b".to_owned()];
        let error = |available| resolve_model("xyz", available).unwrap_err().to_string();
        assert_eq!(error(&few), "Unknown model: \"xyz\". Available models: a/b");
        assert_eq!(error(&[]), "Unknown model: \"xyz\". No models are available.");
    }
}
