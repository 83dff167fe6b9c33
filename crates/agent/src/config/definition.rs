//! Providers and models as `models.json` and our own catalogue define them. None of this can be
//! printed: it may have keys.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::fields::{Fields, WrongField};
use super::model::Compat;

#[derive(Clone, Default)]
pub(super) struct ProviderDefinition {
    pub(super) base_url: Option<String>,
    pub(super) api: Option<String>,
    pub(super) api_key: Option<String>,
    pub(super) headers: BTreeMap<String, String>,
    /// Whether the key is sent in an `Authorization` header, whatever the protocol.
    pub(super) auth_header: bool,
    pub(super) compat: Map<String, Value>,
    pub(super) models: Vec<ModelDefinition>,
    pub(super) overrides: Vec<ModelDefinition>,
    pub(super) known: Known,
}

/// The fields that only our own catalogue has; `providers.rs` describes them.
#[derive(Clone, Default)]
pub(super) struct Known {
    pub(super) variables: Vec<String>,
    pub(super) token_variable: Option<String>,
    pub(super) base_url_variables: Vec<String>,
    pub(super) takes_sign_in: bool,
    pub(super) default_model: Option<String>,
    pub(super) models_of: Option<String>,
    pub(super) is_partial: bool,
    /// Whether its address is known only to the user.
    pub(super) needs_address: bool,
}

/// A model, or the changes of `modelOverrides` to one.
#[derive(Clone, Default)]
pub(super) struct ModelDefinition {
    pub(super) id: String,
    pub(super) name: Option<String>,
    pub(super) api: Option<String>,
    pub(super) base_url: Option<String>,
    pub(super) reasoning: Option<bool>,
    pub(super) thinking_levels: BTreeMap<String, Option<String>>,
    pub(super) images: Option<bool>,
    pub(super) cost: Option<CostDefinition>,
    pub(super) context_window: Option<u64>,
    pub(super) max_tokens: Option<u64>,
    pub(super) sampling: Map<String, Value>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) compat: Map<String, Value>,
}

/// Dollars for a million tokens of input, output, and of both in the cache.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct CostDefinition {
    pub(super) rates: [Option<f64>; 4],
    /// The rates of a request with more tokens of input than this.
    pub(super) above: Option<(u64, [f64; 4])>,
}

/// The providers of a file, in its order.
pub(super) fn read_providers(
    file: &Value,
) -> Result<Vec<(String, ProviderDefinition)>, WrongField> {
    let file = Fields::new(file, "the file")?;
    let Some(value) = file.value("providers") else {
        return Err(file.wrong("providers", "is missing"));
    };
    let providers = Fields::new(value, "providers")?;
    let mut read = Vec::new();
    for name in providers.names() {
        if let Some(fields) = providers.object(name)? {
            read.push((name.to_owned(), read_provider(&fields)?));
        }
    }
    Ok(read)
}

fn read_provider(fields: &Fields<'_>) -> Result<ProviderDefinition, WrongField> {
    let mut models = Vec::new();
    for (index, value) in fields.list("models")?.unwrap_or_default().iter().enumerate() {
        let model = Fields::new(value, &fields.path(&format!("models[{index}]")))?;
        let Some(id) = model.text("id")? else { return Err(model.wrong("id", "is missing")) };
        models.push(read_model(&model, id)?);
    }
    let mut overrides = Vec::new();
    if let Some(entries) = fields.object("modelOverrides")? {
        for id in entries.names() {
            if let Some(model) = entries.object(id)? {
                overrides.push(read_model(&model, id.to_owned())?);
            }
        }
    }
    Ok(ProviderDefinition {
        base_url: read_base_url(fields)?,
        api: fields.text("api")?,
        api_key: fields.text("apiKey")?,
        headers: fields.text_map("headers")?.unwrap_or_default(),
        auth_header: fields.flag("authHeader")?.unwrap_or_default(),
        compat: read_compat(fields)?,
        models,
        overrides,
        known: Known {
            variables: fields.texts("env")?.unwrap_or_default(),
            token_variable: fields.text("tokenEnv")?,
            base_url_variables: fields.texts("baseUrlEnv")?.unwrap_or_default(),
            takes_sign_in: fields.flag("signIn")?.unwrap_or_default(),
            default_model: fields.text("default")?,
            models_of: fields.text("modelsOf")?,
            is_partial: fields.flag("partial")?.unwrap_or_default(),
            needs_address: fields.flag("needsAddress")?.unwrap_or_default(),
        },
    })
}

fn read_model(fields: &Fields<'_>, id: String) -> Result<ModelDefinition, WrongField> {
    let images = match fields.texts("input")? {
        Some(kinds) if kinds.iter().all(|kind| kind == "text" || kind == "image") => {
            Some(kinds.iter().any(|kind| kind == "image"))
        }
        Some(_) => return Err(fields.wrong("input", "may have only \"text\" and \"image\"")),
        None => None,
    };
    let cost = fields.object("cost")?.map(|cost| read_cost(&cost)).transpose()?;
    Ok(ModelDefinition {
        id,
        name: fields.text("name")?,
        api: fields.text("api")?,
        base_url: read_base_url(fields)?,
        reasoning: fields.flag("reasoning")?,
        thinking_levels: fields.optional_texts("thinkingLevelMap")?.unwrap_or_default(),
        images,
        cost,
        context_window: fields.positive("contextWindow")?,
        max_tokens: fields.positive("maxTokens")?,
        sampling: fields.map("samplingParams")?.unwrap_or_default(),
        headers: fields.text_map("headers")?.unwrap_or_default(),
        compat: read_compat(fields)?,
    })
}

fn read_cost(fields: &Fields<'_>) -> Result<CostDefinition, WrongField> {
    let rates = |fields: &Fields<'_>| -> Result<[Option<f64>; 4], WrongField> {
        let rate = |name| fields.rate(name);
        Ok([rate("input")?, rate("output")?, rate("cacheRead")?, rate("cacheWrite")?])
    };
    // No provider has more than one.
    let above = match fields.list("tiers")?.unwrap_or_default().first() {
        Some(tier) => {
            let tier = Fields::new(tier, &fields.path("tiers[0]"))?;
            let limit = tier.count("inputTokensAbove")?.unwrap_or_default();
            Some((limit, rates(&tier)?.map(Option::unwrap_or_default)))
        }
        None => None,
    };
    Ok(CostDefinition { rates: rates(fields)?, above })
}

fn read_base_url(fields: &Fields<'_>) -> Result<Option<String>, WrongField> {
    let Some(url) = fields.text("baseUrl")? else { return Ok(None) };
    check_base_url(&url).map(Some).map_err(|reason| fields.wrong("baseUrl", reason))
}

/// The address of a provider in one form. Errors show it, so that it must not have a password.
pub(super) fn check_base_url(url: &str) -> Result<String, &'static str> {
    let Some(authority) = authority(url) else {
        return Err("must begin with http:// or https:// and name a host");
    };
    if authority.contains('@') {
        return Err("must not have a password in it; use \"apiKey\" or \"headers\"");
    }
    if url.contains(['?', '#']) || url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err("must be an address without a query, a fragment and white space");
    }
    Ok(url.trim_end_matches('/').to_owned())
}

/// Host and port of an HTTP address.
fn authority(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    rest.split(['/', '?', '#']).next().filter(|authority| !authority.is_empty())
}

pub(super) fn is_loopback(url: &str) -> bool {
    let Some(authority) = authority(url) else { return false };
    let host = match authority.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => authority.rsplit_once(':').map_or(authority, |(host, _)| host),
    };
    let is_loopback_address =
        host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    host.eq_ignore_ascii_case("localhost") || is_loopback_address
}

fn read_compat(fields: &Fields<'_>) -> Result<Map<String, Value>, WrongField> {
    let compat = fields.map("compat")?.unwrap_or_default();
    for (name, value) in &compat {
        let alone = Value::Object(Map::from_iter([(name.clone(), value.clone())]));
        if serde_json::from_value::<Compat>(alone).is_err() {
            return Err(fields.wrong(&format!("compat.{name}"), "is of the wrong kind"));
        }
    }
    Ok(compat)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_wrong_is_named_and_never_shown() {
        let provider = |provider: Value| json!({"providers": {"p": provider}});
        for (file, field) in [
            (json!([]), "\"the file\" must be an object"),
            (json!({}), "providers\" is missing"),
            (json!({"providers": "sk-secret"}), "\"providers\" must be an object"),
            (provider(json!("sk-secret")), "\"providers.p\" must be an object"),
            (provider(json!({"apiKey": ["sk-secret"]})), "\"providers.p.apiKey\" must be a text"),
            (provider(json!({"apiKey": ""})), "\"providers.p.apiKey\" must be a text"),
            (
                provider(json!({"headers": "sk-secret"})),
                "\"providers.p.headers\" must be an object",
            ),
            (provider(json!({"headers": {"a": 1}})), "\"providers.p.headers.a\" must be a text"),
            (provider(json!({"baseUrl": "ftp://x"})), "\"providers.p.baseUrl\" must begin"),
            (provider(json!({"baseUrl": "https:///v1"})), "\"providers.p.baseUrl\" must begin"),
            (provider(json!({"baseUrl": "https://a:sk-secret@x/"})), "must not have a password"),
            (provider(json!({"baseUrl": "https://x/?key=sk-secret"})), "without a query"),
            (
                provider(json!({"compat": {"supportsDeveloperRole": "sk-secret"}})),
                "\"providers.p.compat.supportsDeveloperRole\" is of the wrong kind",
            ),
            (provider(json!({"models": {}})), "\"providers.p.models\" must be an array"),
            (
                provider(json!({"models": [{"id": "a"}, {}]})),
                "\"providers.p.models[1].id\" is missing",
            ),
            (
                provider(json!({"models": [{"id": "a", "contextWindow": 0}]})),
                "\"providers.p.models[0].contextWindow\" must be a number above zero",
            ),
            (provider(json!({"models": [{"id": "a", "input": ["sk-secret"]}]})), "models[0].input"),
            (
                provider(json!({"modelOverrides": {"a": {"cost": {"input": -1}}}})),
                "\"providers.p.modelOverrides.a.cost.input\" must be a number",
            ),
        ] {
            let error = read_providers(&file).err().unwrap().to_string();
            assert!(error.contains(field) && !error.contains("secret"), "{file}: {error}");
        }
    }

    #[test]
    fn unknown_fields_and_null_are_no_errors() {
        let file = json!({"providers": {"p": {"name": "P", "oauth": null, "baseUrl": "http://h/v1/",
            "compat": {"somethingNew": 1}, "models": [{"id": "a", "contextWindow": 1e5,
            "thinkingLevelMap": {"off": null, "high": "max"}, "input": ["text", "image"]}]}}});
        let providers = read_providers(&file).unwrap_or_default();
        let (name, provider) = &providers[0];
        assert_eq!((name.as_str(), provider.base_url.as_deref()), ("p", Some("http://h/v1")));
        let model = &provider.models[0];
        assert_eq!((model.context_window, model.images), (Some(100_000), Some(true)));
        assert_eq!(model.thinking_levels["off"], None);
    }

    #[test]
    fn this_machine_is_recognised() {
        for url in [
            "http://localhost:11434/v1",
            "http://127.0.0.1",
            "https://[::1]:8080/x",
            "http://LOCALHOST/",
            "http://127.9.9.9:1",
        ] {
            assert!(is_loopback(url), "{url}");
        }
        for url in [
            "http://localhost.evil.com",
            "http://10.0.0.1",
            "https://127.0.0.1.evil.com/",
            "http://[fe80::1]/",
            "localhost",
            "http://",
        ] {
            assert!(!is_loopback(url), "{url}");
        }
    }
}
