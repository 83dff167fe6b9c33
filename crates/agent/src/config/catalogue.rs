//! The providers that are known without any configuration.

use serde_json::Value;

use super::definition::{ProviderDefinition, read_providers};

/// What is known of providers and their models, in the form of `models.json`. The figures are
/// those of pi 0.87. The order is the one in which a provider is chosen for those who ask for
/// none.
///
/// pi asks OpenAI, xAI and Mistral in other ways. Here they are asked through their
/// `/chat/completions`. OpenAI's models from GPT-5.2 on refuse tools there unless they are told
/// not to think, hence their only level of thinking; those that cannot be told so are listed
/// with the only protocol that they speak, to be refused with a reason.
const CATALOGUE: &str = include_str!("catalogue.json");

/// pi's providers that cannot be asked from here, and why.
pub(super) const UNSUPPORTED: &[(&str, &str)] = &[
    ("amazon-bedrock", "it speaks bedrock-converse-stream"),
    ("azure-openai-responses", "it speaks azure-openai-responses"),
    ("cloudflare-ai-gateway", "its addresses and keys are of a special kind"),
    ("cloudflare-workers-ai", "its addresses and keys are of a special kind"),
    ("github-copilot", "it needs a sign-in that is renewed all the time"),
    ("google", "it speaks google-generative-ai; openrouter has the same models"),
    ("google-vertex", "it speaks google-vertex"),
    ("meta", "it speaks openai-responses"),
    ("openai-codex", "it speaks openai-codex-responses"),
    ("radius", "it speaks pi-messages"),
];

/// The known providers.
pub(super) fn known_providers() -> Vec<(String, ProviderDefinition)> {
    // A test reads it, so that it cannot be wrong here.
    let file: Value = serde_json::from_str(CATALOGUE).unwrap_or_default();
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_catalogue_is_small_and_whole() {
        assert!(CATALOGUE.len() < 60_000, "{}", CATALOGUE.len());
        let file: Value = serde_json::from_str(CATALOGUE).unwrap();
        assert_eq!(read_providers(&file).err().map(|wrong| wrong.to_string()), None);
        let providers = known_providers();
        assert_eq!(providers.len(), file["providers"].as_object().unwrap().len());
        for (name, provider) in &providers {
            let ids: BTreeSet<&str> = provider.models.iter().map(|m| m.id.as_str()).collect();
            assert_eq!(ids.len(), provider.models.len(), "{name}");
            let default = provider.known.default_model.as_deref().unwrap();
            assert!(ids.contains(default), "{name}: {default}");
            assert!(!provider.known.variables.is_empty(), "{name}");
            assert!(provider.base_url.as_deref().unwrap().starts_with("https://"), "{name}");
            let api = provider.api.as_deref().unwrap();
            assert!(["openai-completions", "anthropic-messages"].contains(&api), "{name}");
            assert!(UNSUPPORTED.iter().all(|(other, _)| other != name), "{name}");
        }
    }
}
