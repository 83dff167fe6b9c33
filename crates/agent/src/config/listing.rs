//! Lists the models that can be asked here, and says which one is asked without a request for one.

use std::path::Path;
use std::time::SystemTime;

use model::paths::StateDir;

use super::choose::{Sources, default_model};
use super::credentials::{Credentials, read_auth_file};
use super::error::ConfigError;
use super::registry::{Entry, Registry};
use super::survey::unsupported_keys;
use super::{AgentSettings, Rates, UnsupportedKey};

/// What the built-in agent can use.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelList {
    /// The models of providers that have a key, in the order in which providers are chosen.
    pub models: Vec<ListedModel>,
    /// Keys of providers that only pi can ask.
    pub unsupported: Vec<UnsupportedKey>,
    /// The model that is asked without a request for one, or why there is none.
    pub default: Result<DefaultModel, ConfigError>,
}

/// A model that can be asked.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct ListedModel {
    pub provider: String,
    pub id: String,
    /// For people.
    pub name: String,
    /// In tokens.
    pub context_window: u64,
    /// Of one answer.
    pub max_tokens: u64,
    pub thinking: bool,
    pub images: bool,
    /// `None` if they are not known.
    pub rates: Option<Rates>,
}

/// The model that is asked without a request for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultModel {
    /// As `provider/id`.
    pub model: String,
    /// Whether the settings name it. If they do not, its provider is the first one that has a key.
    pub is_in_settings: bool,
    /// What is odd about it.
    pub warnings: Vec<String>,
}

/// Lists the models that the built-in agent can ask. Nothing is run or asked: a key that a command would
/// print counts as found.
pub fn list_models(
    agent_dir: &Path,
    settings: &AgentSettings,
    environment: &dyn Fn(&str) -> Option<String>,
    now: SystemTime,
) -> Result<ModelList, ConfigError> {
    let registry = Registry::load(&StateDir::of_user(agent_dir).models(), environment)?;
    let stored = read_auth_file(agent_dir)?;
    let credentials = Credentials { agent_dir, profile_key: None, environment, now, stored };
    let usable = registry.providers.iter().filter(|provider| credentials.has(provider));
    let models = usable.flat_map(|provider| &provider.models).filter(|entry| entry.is_supported());
    let sources = Sources { agent_dir, settings, profile_key: None, environment, now };
    Ok(ModelList {
        models: models.map(listed).collect(),
        unsupported: unsupported_keys(&registry, &credentials),
        default: default_model(&sources),
    })
}

fn listed(entry: &Entry) -> ListedModel {
    ListedModel {
        provider: entry.provider.clone(),
        id: entry.id.clone(),
        name: entry.name.clone(),
        context_window: entry.context_window,
        max_tokens: entry.max_tokens.min(entry.context_window),
        thinking: entry.reasoning,
        images: entry.images,
        rates: entry.rates,
    }
}
