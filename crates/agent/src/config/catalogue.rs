//! The providers that are known without configuration.

use serde_json::Value;

use super::definition::{ProviderDefinition, read_providers};

/// The providers and their models, in the format of `models.json`, with the figures of pi 0.87.
/// Without a request for one, the first provider that has a key is chosen.
///
/// `env` names the variables that can hold a key, `tokenEnv` one that can hold a token for the
/// `Authorization` header, `signIn` says that the token of a sign-in is sent like a key, `default` is
/// the model that is chosen without a request, `modelsOf` another provider with the same models, and
/// `partial` says that the provider has many more models.
///
/// pi uses other protocols for OpenAI, xAI and Mistral; here they are asked through their
/// `/chat/completions`. There, OpenAI's models from GPT-5.2 on refuse tools unless thinking is off,
/// hence their only level of thinking. Models whose thinking cannot be turned off are listed with
/// their own protocol, so that the error can name it.
const CATALOGUE: &str = include_str!("catalogue.json");

/// The providers of pi that the built-in agent cannot ask, with the reasons.
pub(super) fn unsupported_providers() -> Vec<(String, String)> {
    let reasons = &read_catalogue()["unsupported"];
    let reasons = reasons.as_object().into_iter().flatten();
    reasons.filter_map(|(name, reason)| Some((name.clone(), reason.as_str()?.to_owned()))).collect()
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
    fn the_catalogue_is_small_and_whole() {
        assert!(CATALOGUE.len() < 61_000, "{}", CATALOGUE.len());
        let file: Value = serde_json::from_str(CATALOGUE).unwrap();
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
            assert!(provider.base_url.as_deref().unwrap().starts_with("https://"), "{name}");
            let api = provider.api.as_deref().unwrap();
            assert!(Api::CONFIGURABLE.iter().any(|known| known.name() == api), "{name}");
            assert!(unsupported_providers().iter().all(|(other, _)| other != name), "{name}");
        }
    }
}
