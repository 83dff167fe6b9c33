//! What is different if a model of OpenAI is reached through Azure. Other models pass through unchanged.

use super::protocol::Header;
use crate::config::Model;

/// The address for requests of this kind.
///
/// Azure has two forms: the one that OpenAI also has, below `/openai/v1`, and an older one for versions with a date,
/// with the name of the deployment in the path.
pub(super) fn url(model: &Model, path: &str) -> String {
    let base = model.base_url.trim_end_matches('/');
    let Some(azure) = &model.azure else { return format!("{base}/{path}") };
    let version = &azure.api_version;
    let has_date = version.starts_with(|first: char| first.is_ascii_digit());
    match base.strip_suffix("/openai/v1") {
        Some(root) if has_date && path == "chat/completions" => {
            let deployment = &azure.deployment;
            format!("{root}/openai/deployments/{deployment}/{path}?api-version={version}")
        }
        _ => format!("{base}/{path}?api-version={version}"),
    }
}

pub(super) fn key_header(model: &Model, key: &str) -> Header {
    match &model.azure {
        Some(_) => ("api-key".to_owned(), key.to_owned()),
        None => ("authorization".to_owned(), format!("Bearer {key}")),
    }
}

/// The name of the model in requests.
pub(super) fn model_name(model: &Model) -> &str {
    model.azure.as_ref().map_or(&model.id, |azure| &azure.deployment)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Azure;
    use crate::provider::testing::model;

    #[test]
    fn the_address_depends_on_the_version() {
        let at = |base_url: &str, version: &str| {
            let azure = Azure { api_version: version.into(), deployment: "mine".into() };
            Model { base_url: base_url.into(), azure: Some(azure), ..model() }
        };
        let base = "https://r.openai.azure.com/openai/v1";
        let of_resource = "https://r.openai.azure.com/openai";
        for (model, path, expected) in [
            (at(base, "v1"), "responses", format!("{base}/responses?api-version=v1")),
            (at(base, "v1"), "chat/completions", format!("{base}/chat/completions?api-version=v1")),
            (
                at(base, "2024-10-21"),
                "chat/completions",
                format!("{of_resource}/deployments/mine/chat/completions?api-version=2024-10-21"),
            ),
            (
                at(base, "2025-04-01-preview"),
                "responses",
                format!("{base}/responses?api-version=2025-04-01-preview"),
            ),
            (
                at("http://127.0.0.1:1/v1", "v1"),
                "responses",
                "http://127.0.0.1:1/v1/responses?api-version=v1".into(),
            ),
        ] {
            assert_eq!(url(&model, path), expected);
            assert_eq!(key_header(&model, "k"), ("api-key".to_owned(), "k".to_owned()));
            assert_eq!(model_name(&model), "mine");
        }
        assert_eq!(url(&model(), "responses"), "http://127.0.0.1:1/v1/responses");
        assert_eq!(key_header(&model(), "k").1, "Bearer k");
        assert_eq!(model_name(&model()), "fake-1");
    }
}
