//! Chooses the model, its address and its key, from pi's own files.
//!
//! Begin at `choose_model`. `providers.json` has the known providers; the user's `models.json`
//! changes them and adds others; keys come from `auth.json`, `models.json` and the environment. Only
//! files of the agent directory decide where a key is sent.

mod addresses;
mod choose;
mod credentials;
mod definition;
mod error;
mod fields;
mod listing;
mod local_servers;
mod model;
mod pattern;
mod profile_key;
mod providers;
mod registry;
mod secret;
mod settings;
mod survey;
mod thinking;
mod value;

pub(crate) use choose::{Choice, ModelQuery, Sources, choose_model};
pub use choose::{check_model, process_variable};
pub use error::ConfigError;
pub use listing::{DefaultModel, ListedModel, ModelList, list_models};
pub use local_servers::{FoundServer, find_local_servers};
pub use model::{Azure, Compat, Model, Rates};
pub use profile_key::{ProfileKey, take_profile_key};
pub use secret::Secret;
pub use settings::{AgentSettings, load_agent_settings};
pub(crate) use settings::{Compaction, Retry};
pub use survey::{FoundKey, KeySource, KeySurvey, UnsupportedKey, survey_keys};
pub use value::Unresolved;

#[cfg(test)]
mod choose_tests;
#[cfg(test)]
pub(crate) mod testing;
