//! A model, and everything that requests to it depend on.

use std::collections::BTreeMap;

use model::Cost;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Secret;
use crate::message::Usage;
use crate::provider::Api;

/// A model of a provider.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Model {
    pub provider: String,
    /// The provider's name for it.
    pub id: String,
    pub api: Api,
    /// The address without the path of the protocol.
    pub base_url: String,
    /// Of every request. They may hold keys.
    pub headers: BTreeMap<String, Secret>,
    pub reasoning: bool,
    /// The provider's words for the levels of thinking; `None` for a level that it lacks.
    pub thinking_levels: BTreeMap<String, Option<String>>,
    pub images: bool,
    /// In tokens.
    pub context_window: u64,
    /// Of one answer.
    pub max_tokens: u64,
    /// `None` if they are not known.
    pub rates: Option<Rates>,
    /// Added to the body of every request.
    pub sampling: Map<String, Value>,
    /// How it differs from other models with the same protocol.
    pub compat: Compat,
    /// How it is reached, if it is a model at Azure.
    pub azure: Option<Azure>,
}

impl Model {
    /// `provider/id`.
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }
}

/// What Azure wants to know beside the address.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Azure {
    pub api_version: String,
    /// The user's own name for the model.
    pub deployment: String,
}

/// Dollars for a million tokens of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Rates {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
    /// The rates of a request with more tokens of input than this.
    pub above: Option<(u64, [f64; 4])>,
}

impl Rates {
    fn of(&self, input: u64) -> [f64; 4] {
        match self.above {
            Some((limit, rates)) if input > limit => rates,
            _ => [self.input, self.output, self.cache_read, self.cache_write],
        }
    }

    fn cost(&self, usage: &Usage) -> Cost {
        let all = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
        let tokens = [usage.input, usage.output, usage.cache_read, usage.cache_write];
        let mut prices = tokens.into_iter().zip(self.of(all));
        #[expect(clippy::cast_precision_loss, reason = "no answer has 2^53 tokens")]
        let mut price = || prices.next().map_or(0.0, |(tokens, rate)| tokens as f64 * rate / 1e6);
        let (input, output, cache_read, cache_write) = (price(), price(), price(), price());
        let total = input + output + cache_read + cache_write;
        Cost { input, output, cache_read, cache_write, total }
    }
}

impl Usage {
    /// The same with its cost, as far as the rates are known.
    pub(crate) fn priced(self, rates: Option<Rates>) -> Usage {
        Usage { cost: rates.map(|rates| rates.cost(&self)), ..self }
    }
}

/// The fields of `compat` in pi's `models.json` that matter here. The default of a missing field
/// depends on the provider's address.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "pi's documentation of models.json says it")]
pub struct Compat {
    pub supports_developer_role: Option<bool>,
    pub supports_reasoning_effort: Option<bool>,
    pub supports_usage_in_streaming: Option<bool>,
    pub supports_finish_reason: Option<bool>,
    pub max_tokens_field: Option<String>,
    pub requires_tool_result_name: Option<bool>,
    pub requires_assistant_after_tool_result: Option<bool>,
    pub requires_thinking_as_text: Option<bool>,
    pub thinking_format: Option<String>,
    pub cache_control_format: Option<String>,
    pub open_router_routing: Option<Value>,
    pub force_adaptive_thinking: Option<bool>,
    pub supports_store: Option<bool>,
    pub requires_reasoning_content_on_assistant_messages: Option<bool>,
    pub supports_thinking_token_budget: Option<bool>,
    pub thinking_token_budget_field: Option<String>,
    pub chat_template_kwargs: Option<Map<String, Value>>,
    pub chat_template_args: Option<Map<String, Value>>,
    pub vercel_gateway_routing: Option<Value>,
    pub vllm_priority: Option<i64>,
    pub zai_tool_stream: Option<bool>,
    pub send_session_affinity_headers: Option<bool>,
    pub session_affinity_format: Option<String>,
    pub supports_eager_tool_input_streaming: Option<bool>,
    pub supports_cache_control_on_tools: Option<bool>,
    pub allow_empty_signature: Option<bool>,
    pub supports_strict_mode: Option<bool>,
    pub supports_max_output_tokens: Option<bool>,
}
