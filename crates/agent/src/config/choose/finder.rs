//! Finds the model that is meant, as pi does.

use plan::ThinkingLevel;

use super::missing::similar_models;
use crate::config::AgentSettings;
use crate::config::credentials::Credentials;
use crate::config::error::ConfigError;
use crate::config::pattern::{self, Match};
use crate::config::registry::{Entry, Provider, Registry};
use crate::config::survey::unsupported_keys;

/// A model whose key was not looked for yet.
pub(super) struct Found {
    pub(super) entry: Entry,
    pub(super) thinking: Option<ThinkingLevel>,
    pub(super) warnings: Vec<String>,
}

impl Found {
    fn plain(entry: &Entry) -> Found {
        Found { entry: entry.clone(), thinking: None, warnings: Vec::new() }
    }
}

pub(super) struct Finder<'a> {
    pub(super) registry: &'a Registry,
    pub(super) credentials: &'a Credentials<'a>,
}

impl<'a> Finder<'a> {
    pub(super) fn asked(
        &self,
        provider: Option<&str>,
        text: &str,
        thinking: Option<ThinkingLevel>,
    ) -> Result<Found, ConfigError> {
        let text = text.trim();
        if let Some(name) = provider {
            let provider = self.provider(name)?;
            // `--provider p --model p/m` means the same as `--model p/m`.
            let text = after_provider(text, &provider.name).unwrap_or(text);
            return match self.in_provider(provider, text) {
                Some(found) => Ok(self.explained(found, text)),
                None => self.custom(provider, text, thinking),
            };
        }
        let prefix = text.split_once('/').map(|(prefix, rest)| (prefix.trim(), rest.trim()));
        let inferred = prefix.and_then(|(name, rest)| Some((self.registry.provider(name)?, rest)));
        let Some((provider, rest)) = inferred else { return self.anywhere(text, prefix) };
        if let Some(found) = self.in_provider(provider, rest) {
            // The id of another provider's model can begin with the name of this provider.
            if !self.credentials.has(provider)
                && let Some(other) = self.only_usable(text, &found.entry.full_name())
            {
                return Ok(Found::plain(other));
            }
            return Ok(self.explained(found, rest));
        }
        match self.by_id(text)? {
            Some(found) => Ok(self.explained(found, text)),
            None => self.custom(provider, rest, thinking),
        }
    }

    /// The model for a text without a known provider. A provider that only pi can ask is meant by its
    /// name, unless there is a key for another one that has such a model.
    fn anywhere(&self, text: &str, prefix: Option<(&str, &str)>) -> Result<Found, ConfigError> {
        let unsupported = prefix.and_then(|(name, _)| self.unsupported(name));
        match self.by_id(text) {
            Ok(Some(found)) if unsupported.is_none() || self.is_usable(found.entry) => {
                return Ok(self.explained(found, text));
            }
            Err(error @ ConfigError::AmbiguousModel { any_has_key: true, .. }) => {
                return Err(error);
            }
            Err(error) if unsupported.is_none() => return Err(error),
            Ok(_) | Err(_) => {}
        }
        let all: Vec<&Entry> = self.registry.models().collect();
        let usable: Vec<&Entry> =
            all.iter().copied().filter(|entry| self.is_usable(entry)).collect();
        if let Some(found) = pattern::find(text, &usable) {
            return Ok(self.explained(found, text));
        }
        if let Some(reason) = unsupported {
            return Err(reason);
        }
        match (pattern::find(text, &all), prefix) {
            (Some(_), _) => Err(self.no_key_for(text, &all)),
            (None, Some((name, _))) if similar_models(text, &all).is_empty() => {
                Err(self.unknown_provider(name))
            }
            (None, _) => Err(self.unknown_model(None, text)),
        }
    }

    /// The model with exactly this id, with or without a level of thinking after it. Of several
    /// providers that have it, the only one with a key.
    fn by_id(&self, text: &str) -> Result<Option<Match<'a>>, ConfigError> {
        let without_level = pattern::split_thinking(text).map(|(id, level)| (id, Some(level)));
        for (id, thinking) in [Some((text, None)), without_level].into_iter().flatten() {
            let is_match = |entry: &&Entry| entry.id.eq_ignore_ascii_case(id);
            let matches: Vec<&Entry> = self.registry.models().filter(is_match).collect();
            let only = match matches[..] {
                [] => continue,
                [only] => Some(only),
                _ => self.only_usable(id, ""),
            };
            if let Some(entry) = only {
                return Ok(Some(Match { entry, thinking, is_guess: false }));
            }
            let any_has_key = matches.iter().any(|entry| self.is_usable(entry));
            let mut matches: Vec<String> = matches.iter().map(|entry| entry.full_name()).collect();
            matches.sort();
            let name = id.to_owned();
            return Err(ConfigError::AmbiguousModel { name, matches, any_has_key });
        }
        Ok(None)
    }

    pub(super) fn of_provider(
        &self,
        name: &str,
        settings: &AgentSettings,
    ) -> Result<Found, ConfigError> {
        let provider = self.provider(name)?;
        if settings.default_provider.as_deref() == Some(provider.name.as_str())
            && let Some(model) = &settings.default_model
        {
            return self.named(provider, model);
        }
        match provider.default_model() {
            Some(entry) => Ok(Found::plain(entry)),
            None => Err(self.unknown_model(Some(provider), "")),
        }
    }

    pub(super) fn unasked(&self, settings: &AgentSettings) -> Result<Found, ConfigError> {
        let mut warnings = Vec::new();
        let profile_key = self.credentials.profile_key;
        let is_for_any = profile_key.is_some_and(|key| key.provider.is_none());
        if let (Some(name), Some(model)) = (&settings.default_provider, &settings.default_model) {
            let provider = self.provider(name)?;
            if self.credentials.has(provider) || is_for_any {
                return self.named(provider, model);
            }
            warnings.push(format!(
                "there is no API key for the default model {name}/{model} of the settings"
            ));
        }
        let owner = profile_key.and_then(|key| key.provider.as_deref());
        let owner = owner.and_then(|name| self.registry.provider(name));
        let usable = owner.into_iter().chain(&self.registry.providers);
        let mut usable = usable.filter(|provider| self.credentials.has(provider));
        match usable.find_map(Provider::default_model) {
            Some(entry) => Ok(Found { warnings, ..Found::plain(entry) }),
            None => Err(ConfigError::NoModel {
                unsupported: unsupported_keys(self.registry, self.credentials),
                auth_file: self.credentials.auth_file(),
                models_file: self.models_file(),
            }),
        }
    }

    fn named(&self, provider: &Provider, id: &str) -> Result<Found, ConfigError> {
        match provider.models.iter().find(|entry| entry.id == *id) {
            Some(entry) => Ok(Found::plain(entry)),
            None => self.custom(provider, id, None),
        }
    }

    fn in_provider(&self, provider: &'a Provider, text: &str) -> Option<Match<'a>> {
        let candidates: Vec<&Entry> = provider.models.iter().collect();
        // If only few models of a provider are listed, it probably has one with exactly this id,
        // and a listed model whose id contains the text is not meant.
        let must_be_exact = provider.known.is_partial && text.contains('/');
        pattern::find(text, &candidates).filter(|found| !(found.is_guess && must_be_exact))
    }

    /// A model that is not listed. A known provider may well have it; the models of a provider that
    /// the user has configured are complete.
    fn custom(
        &self,
        provider: &Provider,
        text: &str,
        thinking: Option<ThinkingLevel>,
    ) -> Result<Found, ConfigError> {
        let base = provider.default_model().filter(|_| provider.is_known && !text.is_empty());
        let Some(base) = base else { return Err(self.unknown_model(Some(provider), text)) };
        let (id, level) = match pattern::split_thinking(text) {
            Some((id, level)) if thinking.is_none() => (id, Some(level)),
            _ => (text, None),
        };
        let mut entry = Entry { id: id.to_owned(), name: id.to_owned(), ..base.clone() };
        entry.rates = None;
        entry.reasoning |= thinking.or(level).is_some_and(|level| level != ThinkingLevel::Off);
        let warning = format!(
            "the model \"{id}\" of the provider \"{}\" is not known here; it is asked for as it \
             is, with the limits of \"{}\" and its cost is unknown",
            provider.name, base.id
        );
        Ok(Found { entry, thinking: level, warnings: vec![warning] })
    }

    /// The only model with exactly this id, except for one, whose provider has a key.
    fn only_usable(&self, id: &str, except: &str) -> Option<&'a Entry> {
        let mut usable = self.registry.models().filter(|entry| {
            entry.id.eq_ignore_ascii_case(id)
                && entry.full_name() != except
                && self.is_usable(entry)
        });
        usable.next().filter(|_| usable.next().is_none())
    }

    pub(super) fn is_usable(&self, entry: &Entry) -> bool {
        let provider = self.registry.provider(&entry.provider);
        provider.is_some_and(|provider| self.credentials.has(provider))
    }

    fn explained(&self, found: Match<'_>, text: &str) -> Found {
        let warning = format!("the model \"{text}\" is taken to be {}", found.entry.full_name());
        Found {
            entry: found.entry.clone(),
            thinking: found.thinking,
            warnings: if found.is_guess { vec![warning] } else { Vec::new() },
        }
    }

    fn provider(&self, name: &str) -> Result<&'a Provider, ConfigError> {
        let found = self.registry.provider(name);
        match found.filter(|provider| !provider.models.is_empty()) {
            Some(provider) => Ok(provider),
            None => Err(self.unsupported(name).unwrap_or_else(|| match found {
                Some(provider) => self.unknown_model(Some(provider), ""),
                None => self.unknown_provider(name),
            })),
        }
    }
}

fn after_provider<'t>(text: &'t str, provider: &str) -> Option<&'t str> {
    let (prefix, rest) = text.split_at_checked(provider.len())?;
    rest.strip_prefix('/').filter(|_| prefix.eq_ignore_ascii_case(provider))
}
