//! Values for tests.

use std::collections::BTreeMap;

use serde_json::Map;

use super::{Compat, Model, Rates};
use crate::provider::Api;

pub(crate) fn model(provider: &str, id: &str) -> Model {
    Model {
        provider: provider.to_owned(),
        id: id.to_owned(),
        api: Api::OpenAiCompletions,
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        headers: BTreeMap::new(),
        reasoning: true,
        thinking_levels: BTreeMap::new(),
        images: false,
        context_window: 128_000,
        max_tokens: 16_384,
        rates: Some(Rates::default()),
        sampling: Map::new(),
        compat: Compat::default(),
        azure: None,
    }
}
