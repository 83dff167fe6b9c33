//! All providers and models: those of the catalogue, with the changes and additions of
//! `models.json`.

use std::collections::BTreeMap;
use std::path::Path;

use jsonc_parser::errors::ParseError;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Value};

use super::addresses;
use super::definition::{Known, ModelDefinition, ProviderDefinition, is_loopback, read_providers};
use super::error::ConfigError;
use super::providers::known_providers;
use super::{Compat, Model, Rates, Secret};
use crate::provider::Api;
use crate::text_file::read_whole;

pub(super) struct Registry {
    pub(super) providers: Vec<Provider>,
}

pub(super) struct Provider {
    pub(super) name: String,
    /// Whether it is in the catalogue.
    pub(super) is_known: bool,
    /// Whether `models.json` adds or changes it.
    pub(super) is_configured: bool,
    pub(super) known: Known,
    pub(super) api_key: Option<String>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) auth_header: bool,
    pub(super) models: Vec<Entry>,
}

/// A model whose headers may still have references to variables and commands.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) provider: String,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) api: String,
    pub(super) base_url: String,
    pub(super) reasoning: bool,
    pub(super) thinking_levels: BTreeMap<String, Option<String>>,
    pub(super) images: bool,
    /// `None` if it is not known.
    pub(super) rates: Option<Rates>,
    pub(super) context_window: u64,
    pub(super) max_tokens: u64,
    pub(super) sampling: Map<String, Value>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) compat: Map<String, Value>,
}

const LARGEST: usize = 4 * 1024 * 1024;
/// pi's values for models without their own.
const CONTEXT_WINDOW: u64 = 128_000;
const MAX_TOKENS: u64 = 16_384;

impl Registry {
    /// The providers of the catalogue, with addresses of the environment, and of the `models.json` at
    /// this path, which has the last word. That of a project is never read: it could send the user's
    /// keys anywhere.
    pub(super) fn load(
        path: &Path,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Registry, ConfigError> {
        let broken =
            |line, reason: String| ConfigError::BrokenFile { path: path.to_owned(), line, reason };
        let text = read_whole(path, LARGEST)
            .map_err(|error| broken(None, format!("it cannot be read: {error}")))?;
        let configured = match text {
            None => Vec::new(),
            Some(text) => {
                let json = parse_jsonc(&text).map_err(|error| {
                    broken(Some(error.line_display()), format!("it is not JSON: {error}"))
                })?;
                read_providers(&json).map_err(|wrong| broken(None, wrong.to_string()))?
            }
        };
        let mut known = known_providers();
        for (_, provider) in &mut known {
            if let Some(url) = addresses::from_environment(&provider.known, environment)? {
                provider.base_url = Some(url);
                provider.known.needs_address = false;
            }
        }
        Registry::compose(known, configured).map_err(|reason| broken(None, reason))
    }

    pub(super) fn known() -> Registry {
        // A test composes them, so that they cannot be wrong here.
        let known = Registry::compose(known_providers(), Vec::new());
        known.unwrap_or_else(|_| Registry { providers: Vec::new() })
    }

    fn compose(
        known: Vec<(String, ProviderDefinition)>,
        mut configured: Vec<(String, ProviderDefinition)>,
    ) -> Result<Registry, String> {
        let mut providers = Vec::new();
        for (name, definition) in known {
            let mut provider = Provider::compose(&name, None, definition)?;
            if let Some(index) = configured.iter().position(|(other, _)| *other == name) {
                let (_, changes) = configured.remove(index);
                provider = Provider::compose(&name, Some(provider), changes)?;
                provider.is_configured = true;
            }
            providers.push(Provider { is_known: true, ..provider });
        }
        for (name, definition) in configured {
            let added = Provider::compose(&name, None, definition)?;
            providers.push(Provider { is_configured: true, ..added });
        }
        Ok(Registry { providers })
    }

    /// The provider with this name, in any case.
    pub(super) fn provider(&self, name: &str) -> Option<&Provider> {
        let exact = self.providers.iter().find(|provider| provider.name == name);
        exact.or_else(|| {
            self.providers.iter().find(|provider| provider.name.eq_ignore_ascii_case(name))
        })
    }

    pub(super) fn models(&self) -> impl Iterator<Item = &Entry> {
        self.providers.iter().flat_map(|provider| &provider.models)
    }
}

impl Provider {
    fn compose(
        name: &str,
        base: Option<Provider>,
        definition: ProviderDefinition,
    ) -> Result<Provider, String> {
        let mut provider = base.unwrap_or_else(|| Provider {
            name: name.to_owned(),
            is_known: false,
            is_configured: false,
            known: definition.known.clone(),
            api_key: None,
            headers: BTreeMap::new(),
            auth_header: false,
            models: Vec::new(),
        });
        provider.known.needs_address &= definition.base_url.is_none();
        for model in &mut provider.models {
            if let Some(base_url) = &definition.base_url {
                model.base_url.clone_from(base_url);
            }
            merge(&mut model.compat, &definition.compat);
        }
        for model in &definition.models {
            let entry = Entry::new(name, model, &definition, &provider.models)?;
            match provider.models.iter_mut().find(|other| other.id == entry.id) {
                Some(other) => *other = entry,
                None => provider.models.push(entry),
            }
        }
        for changes in &definition.overrides {
            // Changes to unknown models are ignored, as in pi.
            for model in provider.models.iter_mut().filter(|model| model.id == changes.id) {
                model.apply(changes);
            }
        }
        provider.headers.extend(definition.headers);
        provider.api_key = definition.api_key.or(provider.api_key);
        provider.auth_header |= definition.auth_header;
        Ok(provider)
    }

    pub(super) fn default_model(&self) -> Option<&Entry> {
        let named = self.known.default_model.as_deref();
        self.models.iter().find(|model| Some(model.id.as_str()) == named).or(self.models.first())
    }
}

impl Entry {
    fn new(
        provider: &str,
        model: &ModelDefinition,
        definition: &ProviderDefinition,
        others: &[Entry],
    ) -> Result<Entry, String> {
        let wanted_api = model.api.as_ref().or(definition.api.as_ref());
        let like = others
            .iter()
            .find(|other| other.id == model.id)
            .or_else(|| others.iter().find(|other| Some(&other.api) == wanted_api))
            .or_else(|| others.iter().find(|other| other.api == Api::OpenAiCompletions.name()))
            .or_else(|| others.first());
        let field = |own: Option<&String>, other: fn(&Entry) -> &String, name: &str| {
            own.or(like.map(other)).cloned().ok_or_else(|| {
                let id = &model.id;
                format!("the model \"{id}\" of the provider \"{provider}\" has no \"{name}\"")
            })
        };
        let mut entry = Entry {
            provider: provider.to_owned(),
            id: model.id.clone(),
            name: model.id.clone(),
            api: field(wanted_api, |other| &other.api, "api")?,
            base_url: match definition.known.needs_address {
                true => String::new(),
                false => field(
                    model.base_url.as_ref().or(definition.base_url.as_ref()),
                    |other| &other.base_url,
                    "baseUrl",
                )?,
            },
            reasoning: false,
            thinking_levels: BTreeMap::new(),
            images: false,
            rates: None,
            context_window: CONTEXT_WINDOW,
            max_tokens: MAX_TOKENS,
            sampling: Map::new(),
            headers: BTreeMap::new(),
            compat: definition.compat.clone(),
        };
        // A server on this machine costs nothing, unless it is configured.
        entry.rates = is_loopback(&entry.base_url).then(Rates::default);
        entry.apply(model);
        Ok(entry)
    }

    fn apply(&mut self, changes: &ModelDefinition) {
        if let Some(name) = &changes.name {
            self.name.clone_from(name);
        }
        self.reasoning = changes.reasoning.unwrap_or(self.reasoning);
        self.thinking_levels.extend(changes.thinking_levels.clone());
        self.images = changes.images.unwrap_or(self.images);
        if let Some(changed) = changes.cost {
            let old = self.rates.unwrap_or_default();
            let [input, output, cache_read, cache_write] = changed.rates;
            self.rates = Some(Rates {
                input: input.unwrap_or(old.input),
                output: output.unwrap_or(old.output),
                cache_read: cache_read.unwrap_or(old.cache_read),
                cache_write: cache_write.unwrap_or(old.cache_write),
                above: changed.above.or(old.above),
            });
        }
        self.context_window = changes.context_window.unwrap_or(self.context_window);
        self.max_tokens = changes.max_tokens.unwrap_or(self.max_tokens);
        self.sampling.extend(changes.sampling.clone());
        self.headers.extend(changes.headers.clone());
        merge(&mut self.compat, &changes.compat);
    }

    /// `provider/id`.
    pub(super) fn full_name(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }

    /// Whether its protocol is spoken here.
    pub(super) fn is_supported(&self) -> bool {
        Api::CONFIGURABLE.iter().any(|api| api.name() == self.api)
    }

    /// The model with its final headers, if its protocol is supported.
    pub(super) fn to_model(&self, headers: BTreeMap<String, Secret>) -> Result<Model, ConfigError> {
        let mut apis = Api::CONFIGURABLE.into_iter();
        let api = apis.find(|api| api.name() == self.api).ok_or_else(|| {
            ConfigError::UnsupportedApi { model: self.full_name(), api: self.api.clone() }
        })?;
        // Every field was checked when it was read.
        let compat: Compat =
            serde_json::from_value(Value::Object(self.compat.clone())).unwrap_or_default();
        Ok(Model {
            provider: self.provider.clone(),
            id: self.id.clone(),
            api,
            base_url: self.base_url.clone(),
            headers,
            reasoning: self.reasoning,
            thinking_levels: self.thinking_levels.clone(),
            images: self.images,
            context_window: self.context_window,
            max_tokens: self.max_tokens.min(self.context_window),
            rates: self.rates,
            sampling: self.sampling.clone(),
            compat,
            azure: None,
        })
    }
}

/// Reads JSON with comments and trailing commas, which pi allows in `models.json`, and no wider
/// language.
fn parse_jsonc(text: &str) -> Result<Value, ParseError> {
    const OPTIONS: ParseOptions = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS)?;
    Ok(parsed.value.map_or(Value::Null, Value::from))
}

/// Copies the fields of `changes` into `base`; those of an object within an object one by one.
fn merge(base: &mut Map<String, Value>, changes: &Map<String, Value>) {
    for (name, value) in changes {
        match (base.get_mut(name), value) {
            (Some(Value::Object(base)), Value::Object(value)) => base.extend(value.clone()),
            _ => {
                base.insert(name.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_passed_over() {
        for (text, expected) in [
            ("{}", json!({})),
            ("// a\n{\"a\": 1, // b\n}", json!({"a": 1})),
            ("[1, 2, ]", json!([1, 2])),
            ("[1, // é, \"\n ]", json!([1])),
            (
                r#"{"url": "http://x//y,}", "b": "\"//,]",}"#,
                json!({"url": "http://x//y,}", "b": "\"//,]"}),
            ),
            ("[\"a,\", -0.5, 1e5, 18446744073709551615]", json!(["a,", -0.5, 1e5, u64::MAX])),
            ("{\"a\": 1, \"a\": 2}", json!({"a": 2})),
        ] {
            assert_eq!(parse_jsonc(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn errors_name_their_line() {
        for (text, line) in [
            ("[,]\n", 1),
            ("{\n\"a\": \"//", 2),
            ("{\n  // b\n  nonsense\n}", 3),
            ("{'a': 1}", 1),
            ("{\n\"a\": 1\n\"b\": 2}", 2),
            ("{}\n{}", 2),
        ] {
            assert_eq!(parse_jsonc(text).unwrap_err().line_display(), line, "{text}");
        }
        assert!(parse_jsonc(&"[".repeat(100_000)).is_err());
    }
}
