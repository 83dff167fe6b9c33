//! Finds the key of a provider.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use model::paths::StateDir;
use serde_json::Value;

use super::definition::is_loopback;
use super::error::ConfigError;
use super::fields::{Fields, WrongField};
use super::registry::{Entry, Provider};
use super::value::ConfigValue;
use super::{KeySource, ProfileKey, Secret};
use crate::text_file::read_whole;

/// Everything that can have keys, except for `models.json`.
pub(super) struct Credentials<'a> {
    pub(super) agent_dir: &'a Path,
    pub(super) profile_key: Option<&'a ProfileKey>,
    pub(super) environment: &'a dyn Fn(&str) -> Option<String>,
    pub(super) now: SystemTime,
    pub(super) stored: BTreeMap<String, Stored>,
}

/// What `auth.json` has for a provider.
pub(super) enum Stored {
    ApiKey { key: Option<String>, env: BTreeMap<String, String> },
    SignIn { access: Secret, expires: SystemTime },
    // Not understood; an error only if the provider is asked.
    Wrong(String),
}

#[derive(Default)]
pub(super) struct Access {
    pub(super) key: Option<Secret>,
    pub(super) headers: BTreeMap<String, Secret>,
}

const LARGEST: usize = 1024 * 1024;
/// A token must not expire during the request.
const MARGIN: Duration = Duration::from_secs(60);

impl Credentials<'_> {
    pub(super) fn auth_file(&self) -> PathBuf {
        StateDir::of_user(self.agent_dir).logins()
    }

    /// Whether there is probably a key for the provider. Commands are not run. A profile's key
    /// without a provider does not count.
    pub(super) fn has(&self, provider: &Provider) -> bool {
        let variable = |name: &str| self.variable(&provider.name, name);
        let has_profile_key = self
            .profile_key
            .and_then(|key| key.provider.as_deref())
            .is_some_and(|owner| owner.eq_ignore_ascii_case(&provider.name));
        let is_stored = match self.stored.get(&provider.name) {
            Some(Stored::ApiKey { key: Some(key), .. }) => {
                ConfigValue::parse(key).is_configured(variable)
            }
            Some(Stored::SignIn { expires, .. }) => {
                provider.known.takes_sign_in && self.is_valid(*expires)
            }
            Some(Stored::ApiKey { key: None, .. } | Stored::Wrong(_)) | None => false,
        };
        // A key is of no use without an address.
        if provider.known.needs_address && provider.models.iter().all(|it| it.base_url.is_empty()) {
            return false;
        }
        has_profile_key
            || is_stored
            || self.is_configured(provider)
            || self.key_in_environment(provider).is_some()
            || provider.known.token_variable.as_deref().and_then(variable).is_some()
    }

    /// Why the stored sign-in to a provider cannot be used, if it cannot.
    pub(super) fn unusable_sign_in(&self, provider: &Provider) -> Option<&'static str> {
        let Some(Stored::SignIn { expires, .. }) = self.stored.get(&provider.name) else {
            return None;
        };
        if !provider.known.takes_sign_in {
            return Some("only pi can use its sign-in");
        }
        let has_expired = !self.is_valid(*expires);
        has_expired.then_some("its sign-in has expired, and only pi can renew it")
    }

    /// The keys in `auth.json` by provider, with the reason if a key cannot be used.
    pub(super) fn stored(&self) -> impl Iterator<Item = (&str, KeySource, Option<String>)> {
        self.stored.iter().filter_map(|(provider, stored)| {
            let (source, problem) = match stored {
                Stored::ApiKey { key: None, .. } => return None,
                Stored::ApiKey { key: Some(key), .. } => {
                    let variable = |name: &str| self.variable(provider, name);
                    let is_configured = ConfigValue::parse(key).is_configured(variable);
                    let problem = "it is empty, or needs a variable that is not set".to_owned();
                    (KeySource::AuthFile, (!is_configured).then_some(problem))
                }
                // pi renews a sign-in by itself, so that an expired one is no problem.
                Stored::SignIn { .. } => (KeySource::SignIn, None),
                Stored::Wrong(reason) => (KeySource::AuthFile, Some(reason.clone())),
            };
            Some((provider.as_str(), source, problem))
        })
    }

    /// Whether `models.json` has a key for the provider, or the provider needs none.
    pub(super) fn is_configured(&self, provider: &Provider) -> bool {
        let variable = |name: &str| self.variable(&provider.name, name);
        let mut keys = provider.api_key.iter();
        let needs_none = !provider.is_known
            && !provider.models.is_empty()
            && provider.models.iter().all(needs_no_key);
        needs_none || keys.any(|key| ConfigValue::parse(key).is_configured(variable))
    }

    /// The variables that are set and can hold a key of the provider.
    pub(super) fn set_variables<'p>(
        &self,
        provider: &'p Provider,
    ) -> impl Iterator<Item = &'p str> {
        let names = provider.known.variables.iter().chain(&provider.known.token_variable);
        names.map(String::as_str).filter(|name| self.is_set(name))
    }

    /// Whether the environment has something in this variable.
    pub(super) fn is_set(&self, name: &str) -> bool {
        (self.environment)(name).is_some_and(|value| !value.trim().is_empty())
    }

    pub(super) fn access(&self, provider: &Provider, entry: &Entry) -> Result<Access, ConfigError> {
        let mut access = self.find_key(provider, entry)?;
        let headers = provider.headers.iter().chain(&entry.headers);
        for (name, value) in headers {
            let value =
                self.resolve(provider, value, &format!("the header \"{name}\" of the provider"))?;
            access.headers.insert(name.clone(), Secret::new(value));
        }
        if provider.auth_header
            && let Some(key) = &access.key
        {
            access.headers.extend([bearer(key.reveal())]);
        }
        // An error of the HTTP client about an invalid header would quote it.
        let unsendable =
            |what: String| Err(ConfigError::Unsendable { provider: provider.name.clone(), what });
        if access.key.as_ref().is_some_and(|key| !is_sendable(key)) {
            return unsendable("API key".to_owned());
        }
        match access.headers.iter().find(|(_, value)| !is_sendable(value)) {
            Some((name, _)) => unsendable(format!("header \"{name}\"")),
            None => Ok(access),
        }
    }

    /// The order is pi's, with the profile's key where pi has `--api-key`.
    fn find_key(&self, provider: &Provider, entry: &Entry) -> Result<Access, ConfigError> {
        let with_key = |key| Ok(Access { key: Some(key), ..Access::default() });
        let (name, known) = (provider.name.as_str(), &provider.known);
        if let Some(profile_key) = self.profile_key
            && profile_key.provider.as_deref().is_none_or(|owner| owner.eq_ignore_ascii_case(name))
        {
            return with_key(profile_key.key.clone());
        }
        let mut note = String::new();
        match self.stored.get(name) {
            Some(Stored::ApiKey { key: Some(key), .. }) => {
                let value = ConfigValue::parse(key)
                    .resolve(|variable| self.variable(name, variable), self.agent_dir);
                match value {
                    Ok(key) => return with_key(Secret::new(key)),
                    Err(reason) => {
                        note = format!(". The key that is there cannot be used: {reason}");
                    }
                }
            }
            Some(Stored::SignIn { access, expires }) => {
                let (provider, auth_file) = (name.to_owned(), self.auth_file());
                if !known.takes_sign_in {
                    return Err(ConfigError::SignInUnsupported { provider, auth_file });
                }
                if !self.is_valid(*expires) {
                    return Err(ConfigError::SignInExpired { provider, auth_file });
                }
                return with_key(access.clone());
            }
            Some(Stored::Wrong(reason)) => note = format!(". What is there is wrong: {reason}"),
            Some(Stored::ApiKey { key: None, .. }) | None => {}
        }
        if let Some(key) = &provider.api_key {
            let key = self.resolve(provider, key, "\"apiKey\" of the provider")?;
            return with_key(Secret::new(key));
        }
        let token = known.token_variable.as_deref();
        if let Some(token) = token.and_then(|variable| self.variable(name, variable)) {
            return Ok(Access { key: None, headers: BTreeMap::from([bearer(&token)]) });
        }
        if let Some(key) = self.key_in_environment(provider) {
            return with_key(key);
        }
        let is_in_header = provider.headers.keys().chain(entry.headers.keys()).any(|name| {
            ["authorization", "x-api-key", "api-key"].contains(&name.to_lowercase().as_str())
        });
        if is_in_header || needs_no_key(entry) {
            return Ok(Access::default());
        }
        Err(ConfigError::NoKey {
            provider: name.to_owned(),
            variables: known.variables.clone(),
            auth_file: self.auth_file(),
            note,
        })
    }

    fn key_in_environment(&self, provider: &Provider) -> Option<Secret> {
        let mut variables = provider.known.variables.iter();
        variables.find_map(|name| self.variable(&provider.name, name)).map(Secret::new)
    }

    /// A variable from the provider's entry in `auth.json`, else from the environment.
    fn variable(&self, provider: &str, name: &str) -> Option<String> {
        let own = match self.stored.get(provider) {
            Some(Stored::ApiKey { env, .. }) => env.get(name).cloned(),
            _ => None,
        };
        // A value that a shell read from a file often ends with a line feed.
        let tidy = |value: String| Some(value.trim().to_owned()).filter(|value| !value.is_empty());
        own.and_then(tidy).or_else(|| (self.environment)(name).and_then(tidy))
    }

    fn resolve(&self, provider: &Provider, value: &str, what: &str) -> Result<String, ConfigError> {
        ConfigValue::parse(value)
            .resolve(|name| self.variable(&provider.name, name), self.agent_dir)
            .map_err(|reason| ConfigError::Unresolved {
                path: StateDir::of_user(self.agent_dir).models(),
                field: format!("{what} \"{}\"", provider.name),
                reason,
            })
    }

    fn is_valid(&self, expires: SystemTime) -> bool {
        expires > self.now + MARGIN
    }
}

/// What `auth.json` has for each provider.
pub(super) fn read_auth_file(agent_dir: &Path) -> Result<BTreeMap<String, Stored>, ConfigError> {
    let path = StateDir::of_user(agent_dir).logins();
    let broken =
        |line, reason: String| ConfigError::BrokenFile { path: path.clone(), line, reason };
    let text = read_whole(&path, LARGEST)
        .map_err(|error| broken(None, format!("it cannot be read: {error}")))?;
    // pi creates the file before it writes to it.
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        return Ok(BTreeMap::new());
    };
    let json: Value = serde_json::from_str(&text)
        .map_err(|error| broken(Some(error.line()), format!("it is not JSON: {error}")))?;
    let file = Fields::new(&json, "the file").map_err(|wrong| broken(None, wrong.to_string()))?;
    Ok(file.names().filter_map(|name| read_stored(&file, name)).collect())
}

fn bearer(token: &str) -> (String, Secret) {
    ("Authorization".to_owned(), Secret::new(format!("Bearer {token}")))
}

/// Whether a header can have this value.
fn is_sendable(value: &Secret) -> bool {
    value.reveal().bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
}

/// A server on this machine needs no key.
fn needs_no_key(entry: &Entry) -> bool {
    is_loopback(&entry.base_url)
}

fn read_stored(file: &Fields<'_>, name: &str) -> Option<(String, Stored)> {
    let fields = match file.object(name) {
        Ok(fields) => fields?,
        Err(wrong) => return Some((name.to_owned(), Stored::Wrong(wrong.to_string()))),
    };
    let read = || -> Result<Stored, WrongField> {
        match fields.text("type")?.as_deref() {
            Some("api_key") => Ok(Stored::ApiKey {
                key: fields.text("key")?,
                env: fields.text_map("env")?.unwrap_or_default(),
            }),
            Some("oauth") => {
                let Some(access) = fields.text("access")? else {
                    return Err(fields.wrong("access", "is missing"));
                };
                let expires = Duration::from_millis(fields.count("expires")?.unwrap_or_default());
                Ok(Stored::SignIn { access: Secret::new(access), expires: UNIX_EPOCH + expires })
            }
            _ => Err(fields.wrong("type", "must be \"api_key\" or \"oauth\"")),
        }
    };
    Some((name.to_owned(), read().unwrap_or_else(|wrong| Stored::Wrong(wrong.to_string()))))
}
