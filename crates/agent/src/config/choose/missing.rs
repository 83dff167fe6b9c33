//! What is said of models and providers that were not found.

use std::path::PathBuf;

use model::paths::StateDir;
use plan::similar_names;

use super::finder::Finder;
use crate::config::error::ConfigError;
use crate::config::pattern;
use crate::config::providers::unsupported_providers;
use crate::config::registry::{Entry, Provider};
use crate::config::survey::unsupported_keys;

impl Finder<'_> {
    pub(super) fn unknown_provider(&self, name: &str) -> ConfigError {
        let names = || self.registry.providers.iter().map(|provider| provider.name.as_str());
        ConfigError::UnknownProvider {
            name: name.to_owned(),
            suggestions: similar_names(name, names()),
            models_file: self.models_file(),
        }
    }

    /// The error for a provider of pi that the built-in agent cannot ask.
    pub(super) fn unsupported(&self, name: &str) -> Option<ConfigError> {
        let mut all = unsupported_providers().into_iter();
        let provider = all.find(|provider| provider.name.eq_ignore_ascii_case(name))?;
        Some(ConfigError::UnsupportedProvider {
            variable: (provider.variables.into_iter().chain(provider.credentials))
                .find(|name| self.credentials.is_set(name)),
            provider: provider.name,
            reason: provider.reason,
        })
    }

    /// The error for a part of a name that only models without a key have.
    pub(super) fn no_key_for(&self, text: &str, all: &[&Entry]) -> ConfigError {
        const MOST: usize = 3;
        let text_in_lower_case = text.to_lowercase();
        let is_meant = |entry: &&&Entry| entry.id.to_lowercase().contains(&text_in_lower_case);
        let best = pattern::find(text, all).map(|found| found.entry.full_name());
        let mut matches: Vec<String> = best.into_iter().collect();
        for entry in all.iter().filter(is_meant) {
            if matches.len() < MOST && !matches.contains(&entry.full_name()) {
                matches.push(entry.full_name());
            }
        }
        let unsupported = unsupported_keys(self.registry, self.credentials);
        ConfigError::NoKeyForModel { name: text.to_owned(), unsupported, matches }
    }

    pub(super) fn unknown_model(&self, provider: Option<&Provider>, text: &str) -> ConfigError {
        let hint = match provider {
            Some(provider) if provider.models.is_empty() => format!(
                " The provider \"{}\" has no \"models\" in {}",
                provider.name,
                self.models_file().display()
            ),
            Some(provider) if !provider.is_known => {
                let ids: Vec<&str> =
                    provider.models.iter().take(20).map(|entry| entry.id.as_str()).collect();
                let file = self.models_file();
                format!(" {} has for \"{}\": {}", file.display(), provider.name, ids.join(", "))
            }
            None if text.ends_with(".json") => {
                format!(" A script is played as the model script/{text}")
            }
            _ => " Write --model PROVIDER/MODEL for a model that is not listed".to_owned(),
        };
        let (name, suggestions) = match provider {
            Some(provider) => {
                let models: Vec<&Entry> = provider.models.iter().collect();
                (format!("{}/{text}", provider.name), similar_models(text, &models))
            }
            None => {
                // A model of a provider without a key would only lead to the next error.
                let all: Vec<&Entry> = self.registry.models().collect();
                let usable: Vec<&Entry> =
                    all.iter().copied().filter(|entry| self.is_usable(entry)).collect();
                let similar = similar_models(text, &usable);
                let similar = if similar.is_empty() { similar_models(text, &all) } else { similar };
                (text.to_owned(), similar)
            }
        };
        ConfigError::UnknownModel { name, suggestions, hint }
    }

    pub(super) fn models_file(&self) -> PathBuf {
        StateDir::of_user(self.credentials.agent_dir).models()
    }
}

/// The models whose ids are written almost like the text, with their providers.
pub(super) fn similar_models(text: &str, models: &[&Entry]) -> Vec<String> {
    let ids = similar_names(text, models.iter().map(|entry| entry.id.as_str()));
    let named = ids.iter().filter_map(|id| models.iter().find(|entry| entry.id == *id));
    named.map(|entry| entry.full_name()).collect()
}
