//! Addresses of providers that come from the environment.

use super::Model;
use super::definition::{Known, check_base_url};
use super::error::ConfigError;
use super::model::Azure;
use crate::provider::Api;

/// The version of Azure's API that needs no date.
const AZURE_VERSION: &str = "v1";
const AZURE_VERSION_VARIABLE: &str = "AZURE_OPENAI_API_VERSION";
/// The user's own names for models, as `MODEL=NAME,MODEL=NAME`.
const AZURE_NAMES_VARIABLE: &str = "AZURE_OPENAI_DEPLOYMENT_NAME_MAP";
/// It has only a name, which is a part of the address.
const AZURE_RESOURCE_VARIABLE: &str = "AZURE_OPENAI_RESOURCE_NAME";

/// All variables that say how a provider is reached, beside those in the catalogue.
#[cfg(test)]
pub(super) const OTHER_VARIABLES: [&str; 2] = [AZURE_VERSION_VARIABLE, AZURE_NAMES_VARIABLE];

/// The address that the first of the provider's variables has.
pub(super) fn from_environment(
    known: &Known,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<String>, ConfigError> {
    for name in &known.base_url_variables {
        let Some(value) = environment(name).filter(|value| !value.trim().is_empty()) else {
            continue;
        };
        let wrong =
            |reason: &str| ConfigError::WrongVariable { name: name.clone(), reason: reason.into() };
        let value = value.trim();
        if name != AZURE_RESOURCE_VARIABLE {
            let url = check_base_url(value).map_err(wrong)?;
            return Ok(Some(with_path(&url, name)));
        }
        if !value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Err(wrong("must be the name of a resource: letters, digits and hyphens"));
        }
        return Ok(Some(format!("https://{value}.openai.azure.com/openai/v1")));
    }
    Ok(None)
}

/// The address with the path that belongs to it. Google's own programs expect an address without one.
fn with_path(url: &str, variable: &str) -> String {
    let has_path = url.splitn(4, '/').nth(3).is_some_and(|path| !path.is_empty());
    match variable {
        "GOOGLE_GEMINI_BASE_URL" if !has_path => format!("{url}/v1beta"),
        _ => url.to_owned(),
    }
}

/// The model with what Azure wants to know, if it is one of Azure: by its protocol, or by its address.
pub(super) fn at_azure(model: Model, environment: &dyn Fn(&str) -> Option<String>) -> Model {
    let is_azure_host = is_azure_host(&model.base_url);
    let is_meant = match model.api {
        Api::AzureOpenAiResponses => true,
        Api::OpenAiResponses | Api::OpenAiCompletions => is_azure_host,
        Api::AnthropicMessages | Api::GoogleGenerativeAi | Api::Script => false,
    };
    if !is_meant {
        return model;
    }
    let set = |name: &str| environment(name).filter(|value| !value.trim().is_empty());
    let api_version = set(AZURE_VERSION_VARIABLE).map(|version| version.trim().to_owned());
    let names = set(AZURE_NAMES_VARIABLE).unwrap_or_default();
    let mut names = names.split(',').filter_map(|entry| entry.split_once('='));
    let own = names.find(|(id, name)| id.trim() == model.id && !name.trim().is_empty());
    let deployment = own.map_or_else(|| model.id.clone(), |(_, name)| name.trim().to_owned());
    let base_url = if is_azure_host { azure_base(&model.base_url) } else { model.base_url.clone() };
    let api_version = api_version.unwrap_or_else(|| AZURE_VERSION.to_owned());
    Model { base_url, azure: Some(Azure { api_version, deployment }), ..model }
}

fn is_azure_host(url: &str) -> bool {
    let host = url.split('/').nth(2).unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default().to_ascii_lowercase();
    [".openai.azure.com", ".cognitiveservices.azure.com", ".ai.azure.com"]
        .iter()
        .any(|end| host.ends_with(end))
}

/// The base of all paths, from what the user has copied from anywhere.
fn azure_base(url: &str) -> String {
    let (root, path) = match url.match_indices('/').nth(2) {
        Some((position, _)) => url.split_at(position),
        None => (url, ""),
    };
    match path.trim_end_matches('/') {
        "" | "/openai" | "/openai/v1/responses" | "/openai/v1/chat/completions" => {
            format!("{root}/openai/v1")
        }
        path => format!("{root}{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::model;
    use super::*;

    fn known(variables: &[&str]) -> Known {
        let base_url_variables = variables.iter().map(|&name| name.to_owned()).collect();
        Known { base_url_variables, ..Known::default() }
    }

    #[test]
    fn the_first_variable_with_a_value_counts() {
        let azure =
            ["AZURE_OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_RESOURCE_NAME"];
        type Set = &'static [(&'static str, &'static str)];
        for (variables, set, expected) in [
            (&azure[..], &[] as Set, Ok(None)),
            (
                &azure,
                &[("AZURE_OPENAI_RESOURCE_NAME", " mine ")],
                Ok(Some("https://mine.openai.azure.com/openai/v1")),
            ),
            (&azure, &[("AZURE_OPENAI_RESOURCE_NAME", "evil.com/")], Err("must be the name")),
            (
                &azure,
                &[
                    ("AZURE_OPENAI_ENDPOINT", "https://a.example/"),
                    ("AZURE_OPENAI_RESOURCE_NAME", "mine"),
                ],
                Ok(Some("https://a.example")),
            ),
            (
                &["GOOGLE_GEMINI_BASE_URL"],
                &[("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1/")],
                Ok(Some("http://127.0.0.1:1/v1beta")),
            ),
            (
                &["GOOGLE_GEMINI_BASE_URL"],
                &[("GOOGLE_GEMINI_BASE_URL", "http://h/v1")],
                Ok(Some("http://h/v1")),
            ),
            (
                &["OPENAI_BASE_URL"],
                &[("OPENAI_BASE_URL", "https://k:secret@h/v1")],
                Err("must not have a password"),
            ),
        ] {
            let environment = |name: &str| {
                let mut set = set.iter();
                set.find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
            };
            let found = from_environment(&known(variables), &environment);
            match (found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found.as_deref(), expected),
                (Err(error), Err(expected)) => {
                    let error = error.to_string();
                    assert!(error.contains(expected) && !error.contains("secret"), "{error}");
                }
                (found, expected) => panic!("{found:?}, not {expected:?}"),
            }
        }
    }

    #[test]
    fn azure_is_known_by_its_protocol_or_its_address() {
        let environment = |name: &str| match name {
            "AZURE_OPENAI_DEPLOYMENT_NAME_MAP" => Some("other=x, m = mine ,m=later".to_owned()),
            "AZURE_OPENAI_API_VERSION" => Some("2024-10-21".to_owned()),
            _ => None,
        };
        let of = |api, base_url: &str| {
            let model = Model { api, base_url: base_url.to_owned(), ..model("p", "m") };
            let model = at_azure(model, &environment);
            (model.base_url, model.azure.map(|azure| (azure.api_version, azure.deployment)))
        };
        let azure = Some(("2024-10-21".to_owned(), "mine".to_owned()));
        let base = "https://r.openai.azure.com/openai/v1";
        for url in ["", "/", "/openai", "/openai/v1", "/openai/v1/responses"] {
            let url = format!("https://r.openai.azure.com{url}");
            assert_eq!(
                of(Api::AzureOpenAiResponses, &url),
                (base.to_owned(), azure.clone()),
                "{url}"
            );
            assert_eq!(of(Api::OpenAiCompletions, &url).1, azure);
        }
        let local = "http://127.0.0.1:1/v1";
        assert_eq!(of(Api::AzureOpenAiResponses, local), (local.to_owned(), azure));
        assert_eq!(of(Api::OpenAiResponses, local), (local.to_owned(), None));
        assert_eq!(of(Api::OpenAiCompletions, "https://openai.azure.com.evil.com").1, None);
    }
}
