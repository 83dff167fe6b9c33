//! Chooses the model.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use model::paths::StateDir;
use serde_json::Map;

use super::addresses;
use super::credentials::{Credentials, read_auth_file};
use super::error::ConfigError;
use super::pattern::{self, Match};
use super::providers::unsupported_providers;
use super::registry::{Entry, Provider, Registry};
use super::survey::unsupported_keys;
use super::{AgentSettings, Compat, DefaultModel, Model, ProfileKey, Secret};
use crate::provider::{Api, check_script};
use plan::{ThinkingLevel, similar_names};

/// Which model the caller asks for, with the options of the same names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ModelQuery<'a> {
    pub(crate) provider: Option<&'a str>,
    pub(crate) model: Option<&'a str>,
    pub(crate) thinking: Option<ThinkingLevel>,
}

#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    /// Of the user; it has `models.json` and `auth.json`.
    pub(crate) agent_dir: &'a Path,
    pub(crate) settings: &'a AgentSettings,
    /// Comes before all other keys.
    pub(crate) profile_key: Option<&'a ProfileKey>,
    pub(crate) environment: &'a dyn Fn(&str) -> Option<String>,
    /// The time at which a sign-in must still be valid.
    pub(crate) now: SystemTime,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    pub(crate) model: Model,
    /// Some providers need none, or have it in their headers.
    pub(crate) key: Option<Secret>,
    /// A level that the model has.
    pub(crate) thinking: ThinkingLevel,
    pub(crate) warnings: Vec<String>,
}

/// A variable of this process, if it is set, not empty, and text.
pub fn process_variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Chooses as pi does: the model of the query, else that of the settings, else the default model of
/// the first provider that has a key.
pub(crate) fn choose_model(
    query: &ModelQuery<'_>,
    sources: &Sources<'_>,
) -> Result<Choice, ConfigError> {
    let by_default = ModelQuery {
        provider: sources.settings.default_provider.as_deref(),
        model: sources.settings.default_model.as_deref(),
        thinking: query.thinking,
    };
    let is_asked = query.provider.is_some() || query.model.is_some();
    if let Some(script) = script(if is_asked { query } else { &by_default })? {
        let thinking = query.thinking.unwrap_or_default();
        return Ok(Choice { model: script, key: None, thinking, warnings: Vec::new() });
    }
    let &Sources { agent_dir, profile_key, environment, now, .. } = sources;
    let registry = Registry::load(&StateDir::of_user(agent_dir).models(), environment)?;
    let stored = read_auth_file(agent_dir)?;
    let credentials = Credentials { agent_dir, profile_key, environment, now, stored };
    let chooser = Chooser { registry: &registry, credentials: &credentials };
    let mut found = match (query.provider, query.model) {
        (_, Some(model)) => chooser.asked(query.provider, model, query.thinking)?,
        (Some(provider), None) => chooser.of_provider(provider, sources.settings)?,
        (None, None) => chooser.unasked(sources.settings)?,
    };
    let Some(provider) = registry.provider(&found.entry.provider) else {
        return Err(chooser.unknown_provider(&found.entry.provider));
    };
    // The protocol is checked first: without it, a key would not help.
    found.entry.to_model(BTreeMap::new())?;
    let access = credentials.access(provider, &found.entry)?;
    if provider.known.needs_address && found.entry.base_url.is_empty() {
        return Err(ConfigError::NoAddress {
            provider: provider.name.clone(),
            variables: provider.known.base_url_variables.clone(),
            models_file: chooser.models_file(),
        });
    }
    let model = addresses::at_azure(found.entry.to_model(access.headers)?, environment);
    let asked = query.thinking.or(found.thinking);
    let level = asked
        .or_else(|| sources.settings.model_thinking.get(&found.entry.full_name()).copied())
        .unwrap_or(sources.settings.default_thinking);
    let thinking = model.clamp_thinking(level);
    if asked.is_some_and(|asked| asked != thinking) {
        found.warnings.push(format!(
            "the model {} cannot think at the level \"{}\"; \"{}\" is used",
            found.entry.full_name(),
            level.word(),
            thinking.word()
        ));
    }
    Ok(Choice { model, key: access.key, thinking, warnings: found.warnings })
}

/// Whether the built-in agent can know this model, before it is started in `cwd`. Keys and protocols
/// are not looked at: only a name that is wrong in any case is an error.
pub fn check_model(
    provider: Option<&str>,
    model: &str,
    agent_dir: &Path,
    cwd: &Path,
) -> Result<(), ConfigError> {
    let query = ModelQuery { provider, model: Some(model), thinking: None };
    if let Some(script) = script(&query)? {
        return check_script(&script.id, cwd)
            .map_err(|reason| ConfigError::NotPlayable { path: cwd.join(script.id), reason });
    }
    let (environment, now) = (&process_variable, SystemTime::now());
    let models = StateDir::of_user(agent_dir).models();
    let (Ok(registry), Ok(stored)) =
        (Registry::load(&models, environment), read_auth_file(agent_dir))
    else {
        // The agent itself says what is wrong with a file.
        return Ok(());
    };
    let credentials = Credentials { agent_dir, profile_key: None, environment, now, stored };
    let chooser = Chooser { registry: &registry, credentials: &credentials };
    match chooser.asked(provider, model, None) {
        Err(error @ (ConfigError::UnknownModel { .. } | ConfigError::UnknownProvider { .. })) => {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// The model that is chosen without a request for one. Its key is not looked at.
pub(super) fn default_model(sources: &Sources<'_>) -> Result<DefaultModel, ConfigError> {
    let &Sources { agent_dir, settings, profile_key, environment, now } = sources;
    let in_settings = settings.default_model();
    let query = ModelQuery {
        provider: settings.default_provider.as_deref(),
        model: settings.default_model.as_deref(),
        thinking: None,
    };
    let (model, warnings) = match script(&query)? {
        Some(model) => (format!("{}/{}", model.provider, model.id), Vec::new()),
        None => {
            let registry = Registry::load(&StateDir::of_user(agent_dir).models(), environment)?;
            let stored = read_auth_file(agent_dir)?;
            let credentials = Credentials { agent_dir, profile_key, environment, now, stored };
            let chooser = Chooser { registry: &registry, credentials: &credentials };
            let found = chooser.unasked(settings)?;
            (found.entry.full_name(), found.warnings)
        }
    };
    Ok(DefaultModel { is_in_settings: in_settings.as_ref() == Some(&model), model, warnings })
}

/// A model of the provider `script`, which plays files of turns.
fn script(query: &ModelQuery<'_>) -> Result<Option<Model>, ConfigError> {
    const SCRIPT: &str = "script";
    let of_model = query.model.and_then(|model| model.strip_prefix("script/"));
    let path = match (query.provider, of_model) {
        (Some(SCRIPT), None) => query.model,
        (None | Some(SCRIPT), path @ Some(_)) => path,
        _ => return Ok(None),
    };
    let path = path.filter(|path| !path.is_empty()).ok_or(ConfigError::NoScript)?;
    let all_levels = ThinkingLevel::all().map(|level| level.word().to_owned());
    let all_levels = all_levels.map(|word| (word.clone(), Some(word)));
    Ok(Some(Model {
        provider: SCRIPT.to_owned(),
        id: path.to_owned(),
        api: Api::Script,
        base_url: String::new(),
        headers: BTreeMap::new(),
        reasoning: true,
        thinking_levels: all_levels.collect(),
        images: true,
        context_window: 200_000,
        max_tokens: 32_000,
        // What a script says about its tokens has no price.
        rates: None,
        sampling: Map::new(),
        compat: Compat::default(),
        azure: None,
    }))
}

/// A model whose key was not looked for yet.
struct Found {
    entry: Entry,
    thinking: Option<ThinkingLevel>,
    warnings: Vec<String>,
}

impl Found {
    fn plain(entry: &Entry) -> Found {
        Found { entry: entry.clone(), thinking: None, warnings: Vec::new() }
    }
}

struct Chooser<'a> {
    registry: &'a Registry,
    credentials: &'a Credentials<'a>,
}

impl<'a> Chooser<'a> {
    fn asked(
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

    fn of_provider(&self, name: &str, settings: &AgentSettings) -> Result<Found, ConfigError> {
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

    fn unasked(&self, settings: &AgentSettings) -> Result<Found, ConfigError> {
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

    fn is_usable(&self, entry: &Entry) -> bool {
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

    fn unknown_provider(&self, name: &str) -> ConfigError {
        let names = || self.registry.providers.iter().map(|provider| provider.name.as_str());
        ConfigError::UnknownProvider {
            name: name.to_owned(),
            suggestions: similar_names(name, names()),
            models_file: self.models_file(),
        }
    }

    /// The error for a provider of pi that the built-in agent cannot ask.
    fn unsupported(&self, name: &str) -> Option<ConfigError> {
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
    fn no_key_for(&self, text: &str, all: &[&Entry]) -> ConfigError {
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

    fn unknown_model(&self, provider: Option<&Provider>, text: &str) -> ConfigError {
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

    fn models_file(&self) -> PathBuf {
        StateDir::of_user(self.credentials.agent_dir).models()
    }
}

/// The models whose ids are written almost like the text, with their providers.
fn similar_models(text: &str, models: &[&Entry]) -> Vec<String> {
    let ids = similar_names(text, models.iter().map(|entry| entry.id.as_str()));
    let named = ids.iter().filter_map(|id| models.iter().find(|entry| entry.id == *id));
    named.map(|entry| entry.full_name()).collect()
}

fn after_provider<'t>(text: &'t str, provider: &str) -> Option<&'t str> {
    let (prefix, rest) = text.split_at_checked(provider.len())?;
    rest.strip_prefix('/').filter(|_| prefix.eq_ignore_ascii_case(provider))
}
