//! Chooses the model.

mod finder;
mod missing;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use model::paths::StateDir;
use serde_json::Map;

use super::addresses;
use super::credentials::{Credentials, read_auth_file};
use super::error::ConfigError;
use super::registry::Registry;
use super::{AgentSettings, Compat, DefaultModel, Model, ProfileKey, Secret};
use crate::provider::{Api, check_script};
use finder::Finder;
use plan::ThinkingLevel;

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
    let finder = Finder { registry: &registry, credentials: &credentials };
    let mut found = match (query.provider, query.model) {
        (_, Some(model)) => finder.asked(query.provider, model, query.thinking)?,
        (Some(provider), None) => finder.of_provider(provider, sources.settings)?,
        (None, None) => finder.unasked(sources.settings)?,
    };
    let Some(provider) = registry.provider(&found.entry.provider) else {
        return Err(finder.unknown_provider(&found.entry.provider));
    };
    // The protocol is checked first: without it, a key would not help.
    found.entry.to_model(BTreeMap::new())?;
    let access = credentials.access(provider, &found.entry)?;
    if provider.known.needs_address && found.entry.base_url.is_empty() {
        return Err(ConfigError::NoAddress {
            provider: provider.name.clone(),
            variables: provider.known.base_url_variables.clone(),
            models_file: finder.models_file(),
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
    let finder = Finder { registry: &registry, credentials: &credentials };
    match finder.asked(provider, model, None) {
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
            let finder = Finder { registry: &registry, credentials: &credentials };
            let found = finder.unasked(settings)?;
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
