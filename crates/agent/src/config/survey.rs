//! Tells which providers have keys, and where, without showing a key.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::SystemTime;

use model::paths::StateDir;

use super::credentials::{Credentials, read_auth_file};
use super::providers::{UnsupportedProvider, unsupported_providers};
use super::registry::Registry;

const AUTH_FILE: &str = "auth.json";

/// Which keys exist. The keys themselves are not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySurvey {
    /// First those in `auth.json`, then the others in the order in which providers are chosen.
    pub keys: Vec<FoundKey>,
    /// Keys of providers that only pi can ask.
    pub unsupported: Vec<UnsupportedKey>,
    /// The providers that `models.json` adds or changes.
    pub configured: Vec<String>,
    /// Files that could not be read, with the reasons.
    pub problems: Vec<String>,
}

/// A key that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct FoundKey {
    pub provider: String,
    pub source: KeySource,
    /// Why it cannot be used, if it cannot.
    pub problem: Option<String>,
}

/// A key or a sign-in with which pi can ask a provider, and the built-in agent cannot.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct UnsupportedKey {
    pub provider: String,
    /// A variable, or `auth.json`.
    pub place: String,
    /// Why the built-in agent cannot ask the provider.
    pub reason: String,
}

impl fmt::Display for UnsupportedKey {
    /// One line that says what is set, and what to do.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnsupportedKey { provider, place, reason } = self;
        let verb = if place == AUTH_FILE { "has an entry" } else { "is set" };
        write!(
            formatter,
            "{place} {verb} for {provider}, which the built-in agent cannot ask: {reason}. Use --agent pi for it"
        )
    }
}

/// Where a key was found: in the environment variable of this name; in `auth.json`, as a key or as a
/// sign-in; or in `models.json`, which can also have a server on this machine that needs no key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum KeySource {
    Variable(String),
    AuthFile,
    SignIn,
    ModelsFile,
}

/// Looks for keys wherever the built-in agent would. Nothing is run: a key that a command would print
/// counts as found.
pub fn survey_keys(
    agent_dir: &Path,
    environment: &dyn Fn(&str) -> Option<String>,
    now: SystemTime,
) -> KeySurvey {
    let mut survey = KeySurvey::default();
    // A broken file does not hide the keys of the others.
    let models = StateDir::of_user(agent_dir).models();
    let registry = Registry::load(&models, environment).unwrap_or_else(|error| {
        survey.problems.push(error.to_string());
        Registry::known()
    });
    let stored = read_auth_file(agent_dir).unwrap_or_else(|error| {
        survey.problems.push(error.to_string());
        BTreeMap::new()
    });
    let credentials = Credentials { agent_dir, profile_key: None, environment, now, stored };
    survey.unsupported = unsupported_keys(&registry, &credentials);
    for (provider, source, problem) in credentials.stored() {
        if survey.unsupported.iter().all(|key| key.provider != provider) {
            survey.keys.push(FoundKey { provider: provider.to_owned(), source, problem });
        }
    }
    for provider in &registry.providers {
        let mut add = |source| {
            let provider = provider.name.clone();
            survey.keys.push(FoundKey { provider, source, problem: None });
        };
        if credentials.is_configured(provider) {
            add(KeySource::ModelsFile);
        }
        for name in credentials.set_variables(provider) {
            add(KeySource::Variable(name.to_owned()));
        }
        if provider.is_configured {
            survey.configured.push(provider.name.clone());
        }
    }
    survey
}

/// The keys and sign-ins that only pi can use. A provider that `models.json` gives an address is not among those that only pi can
/// ask.
pub(super) fn unsupported_keys(
    registry: &Registry,
    credentials: &Credentials<'_>,
) -> Vec<UnsupportedKey> {
    let mut found: Vec<UnsupportedKey> = Vec::new();
    let mut providers = unsupported_providers();
    providers.retain(|provider| registry.provider(&provider.name).is_none());
    let can_ask = registry.providers.iter().any(|provider| credentials.has(provider));
    for UnsupportedProvider { name, reason, variables, credentials: others } in providers {
        let is_stored = credentials.stored().any(|(provider, ..)| provider == name);
        let stored = is_stored.then(|| AUTH_FILE.to_owned());
        // They can be there for something else, and are not worth a word where another provider can be asked.
        let others = others.into_iter().filter(|_| !can_ask);
        let set = variables.into_iter().chain(others).filter(|name| credentials.is_set(name));
        // Some providers share a variable.
        if let Some(place) = stored.into_iter().chain(set).next()
            && (place == AUTH_FILE || found.iter().all(|other| other.place != place))
        {
            found.push(UnsupportedKey { provider: name, place, reason });
        }
    }
    let sign_ins = registry.providers.iter().filter_map(|provider| {
        let reason = credentials.unusable_sign_in(provider)?.to_owned();
        let (provider, place) = (provider.name.clone(), AUTH_FILE.to_owned());
        Some(UnsupportedKey { provider, place, reason })
    });
    found.extend(sign_ins);
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_source_is_told_and_no_value() {
        let top = tempfile::tempdir().unwrap();
        let secret = "planted";
        let auth = format!(
            r#"{{"groq": {{"type": "api_key", "key": "{secret}"}},
                "github-copilot": {{"type": "oauth", "access": "{secret}", "expires": 1}},
                "anthropic": {{"type": "oauth", "access": "{secret}", "refresh": "{secret}", "expires": 1}},
                "mistral": {{"type": "oauth", "access": "{secret}", "refresh": "{secret}", "expires": 1}},
                "xai": {{"type": "api_key", "key": "$NOT_SET"}},
                "openai": "{secret}"}}"#
        );
        fs::write(top.path().join("auth.json"), auth).unwrap();
        let models = format!(
            r#"{{"providers": {{"mine": {{"baseUrl": "https://a.example/v1", "api": "openai-completions",
                "apiKey": "{secret}", "models": [{{"id": "m"}}]}}}}}}"#
        );
        fs::write(top.path().join("models.json"), models).unwrap();
        let set = ["ANTHROPIC_API_KEY", "CLOUDFLARE_API_KEY"];
        let environment = |name: &str| set.contains(&name).then(|| secret.to_owned());
        let survey = survey_keys(top.path(), &environment, SystemTime::now());
        let told: Vec<(&str, &KeySource, bool)> = survey
            .keys
            .iter()
            .map(|key| (key.provider.as_str(), &key.source, key.problem.is_some()))
            .collect();
        let variable = KeySource::Variable("ANTHROPIC_API_KEY".to_owned());
        assert_eq!(
            told,
            [
                ("groq", &KeySource::AuthFile, false),
                ("openai", &KeySource::AuthFile, true),
                ("xai", &KeySource::AuthFile, true),
                ("anthropic", &variable, false),
                ("mine", &KeySource::ModelsFile, false),
            ]
        );
        assert_eq!(survey.configured, ["mine"]);
        let unsupported: Vec<(&str, &str)> = survey
            .unsupported
            .iter()
            .map(|key| (key.provider.as_str(), key.place.as_str()))
            .collect();
        let expected = [
            ("cloudflare-ai-gateway", "CLOUDFLARE_API_KEY"),
            ("github-copilot", "auth.json"),
            ("anthropic", "auth.json"),
            ("mistral", "auth.json"),
        ];
        assert_eq!(unsupported, expected);
        assert!(!format!("{survey:?}").contains(secret), "{survey:?}");
    }

    #[test]
    fn credentials_with_other_uses_are_told_only_where_nothing_can_be_asked() {
        let top = tempfile::tempdir().unwrap();
        let unsupported = |set: &[&str]| -> Vec<String> {
            let environment = |name: &str| set.contains(&name).then(|| "x".to_owned());
            let survey = survey_keys(top.path(), &environment, SystemTime::now());
            survey.unsupported.into_iter().map(|key| key.place).collect()
        };
        for name in ["AWS_PROFILE", "AWS_ACCESS_KEY_ID", "GOOGLE_APPLICATION_CREDENTIALS"] {
            assert_eq!(unsupported(&[name]), [name]);
            assert_eq!(unsupported(&[name, "GROQ_API_KEY"]), [""; 0]);
        }
        let both = ["AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "GROQ_API_KEY"];
        assert_eq!(unsupported(&both), ["AWS_BEARER_TOKEN_BEDROCK"], "a key is one");
    }

    #[test]
    fn a_broken_file_does_not_hide_the_other_sources() {
        let top = tempfile::tempdir().unwrap();
        for name in ["auth.json", "models.json"] {
            fs::write(top.path().join(name), "{").unwrap();
        }
        let environment = |name: &str| (name == "GROQ_API_KEY").then(|| "x".to_owned());
        let survey = survey_keys(top.path(), &environment, SystemTime::now());
        assert_eq!(survey.problems.len(), 2, "{survey:?}");
        assert_eq!(survey.keys[0].provider, "groq");
    }
}
