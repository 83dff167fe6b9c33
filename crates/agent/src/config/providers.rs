//! The providers that are known without configuration.

use serde_json::Value;

use super::definition::{ProviderDefinition, read_providers};

/// The providers and their models, in the format of `models.json`. `cargo xtask catalogue` makes the models anew from those
/// of pi; `date` and `pi` say when and from which version. Without a request for one, the first provider that has a key
/// is chosen.
///
/// `env` names the variables that can hold a key, `tokenEnv` one that can hold a token for the `Authorization` header,
/// `baseUrlEnv` those that can hold another address, `needsAddress` says that there is no usual one, `signIn` says that the
/// token of a sign-in is sent like a key, `default` is the model that is chosen without a request, `modelsOf` another
/// provider with the same models, and `partial` says that the provider has many more models. `credentials` names variables with
/// which pi can ask a provider that the built-in agent cannot ask; they are no keys, and have other uses.
///
/// pi uses another protocol for Mistral; here it is asked through its `/chat/completions`.
const CATALOGUE: &str = include_str!("providers.json");

/// A provider of pi that the built-in agent cannot ask.
pub(super) struct UnsupportedProvider {
    pub(super) name: String,
    pub(super) reason: String,
    /// From which pi takes its key.
    pub(super) variables: Vec<String>,
    /// With which pi can ask it, too, and which have other uses.
    pub(super) credentials: Vec<String>,
}

pub(super) fn unsupported_providers() -> Vec<UnsupportedProvider> {
    let providers = &read_catalogue()["unsupported"];
    let providers = providers.as_object().into_iter().flatten();
    let names = |list: &Value| -> Vec<String> {
        let names = list.as_array().into_iter().flatten();
        names.filter_map(|name| Some(name.as_str()?.to_owned())).collect()
    };
    let read = providers.filter_map(|(name, provider)| {
        Some(UnsupportedProvider {
            name: name.clone(),
            reason: provider["reason"].as_str()?.to_owned(),
            variables: names(&provider["env"]),
            credentials: names(&provider["credentials"]),
        })
    });
    read.collect()
}

pub(super) fn known_providers() -> Vec<(String, ProviderDefinition)> {
    let file = read_catalogue();
    let mut providers = read_providers(&file).unwrap_or_default();
    for index in 0..providers.len() {
        let Some(other) = providers[index].1.known.models_of.clone() else { continue };
        if let Some((_, other)) = providers.iter().find(|(name, _)| *name == other) {
            let (models, compat) = (other.models.clone(), other.compat.clone());
            providers[index].1.models = models;
            providers[index].1.compat = compat;
        }
    }
    providers
}

fn read_catalogue() -> Value {
    // A test reads it, so that it cannot be wrong here.
    serde_json::from_str(CATALOGUE).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::provider::Api;

    #[test]
    fn clients_are_told_every_variable_of_a_provider() {
        let (providers, of_pi) = (known_providers(), unsupported_providers());
        let known = || providers.iter().map(|(_, provider)| &provider.known);
        let keys = known().flat_map(|known| known.variables.iter().chain(&known.token_variable));
        let keys = keys.chain(of_pi.iter().flat_map(|provider| &provider.variables));
        let others = crate::config::addresses::OTHER_VARIABLES.map(str::to_owned);
        let addresses = known().flat_map(|known| &known.base_url_variables).chain(&others);
        let sorted =
            |names: BTreeSet<&String>| -> Vec<String> { names.into_iter().cloned().collect() };
        assert_eq!(sorted(keys.collect()), model::provider_variables::KEYS);
        assert_eq!(sorted(addresses.collect()), model::provider_variables::ADDRESSES);
    }

    #[test]
    fn the_catalogue_is_small_and_whole() {
        assert!(CATALOGUE.len() < 130_000, "{}", CATALOGUE.len());
        let file: Value = serde_json::from_str(CATALOGUE).unwrap();
        assert!(file["date"].as_str().is_some_and(|date| date.len() == 10), "{}", file["date"]);
        assert_eq!(read_providers(&file).err().map(|wrong| wrong.to_string()), None);
        let providers = known_providers();
        assert_eq!(providers.len(), file["providers"].as_object().unwrap().len());
        let unsupported = unsupported_providers();
        assert_eq!(unsupported.len(), file["unsupported"].as_object().unwrap().len());
        for (name, provider) in &providers {
            let ids: BTreeSet<&str> = provider.models.iter().map(|m| m.id.as_str()).collect();
            assert_eq!(ids.len(), provider.models.len(), "{name}");
            let default = provider.known.default_model.as_deref().unwrap();
            assert!(ids.contains(default), "{name}: {default}");
            assert!(!provider.known.variables.is_empty(), "{name}");
            let is_own = provider.base_url.as_deref().is_some_and(|it| it.starts_with("https://"));
            assert!(is_own != provider.known.needs_address, "{name}");
            let api = provider.api.as_deref().unwrap();
            assert!(Api::CONFIGURABLE.iter().any(|known| known.name() == api), "{name}");
            assert!(unsupported.iter().all(|other| other.name != *name), "{name}");
        }
    }
}
