//! The models that continue when the one before has failed for good.

use model::{Meta, PlannedFallback};
use protocol::{Configuration, Invocation};

use super::Refusal;
use crate::Agent;

/// How an agent is started with each of its fallback models. The built-in agent is started once, and changes its model by
/// itself.
pub(super) fn plan_fallbacks(
    agent: &Agent,
    configuration: &Configuration,
    invocation: &mut Invocation,
    start: impl Fn(&Configuration) -> Result<Invocation, Refusal>,
) -> Result<Vec<PlannedFallback>, Refusal> {
    let models = &configuration.fallback_models;
    if models.len() > Meta::FALLBACK_MODELS {
        let (count, limit) = (models.len(), Meta::FALLBACK_MODELS);
        let warning = format!("of {count} fallback models, only the first {limit} are used");
        invocation.warnings.push(warning);
    }
    if *agent == Agent::Builtin || models.is_empty() {
        return Ok(Vec::new());
    }
    let Configuration { api_key, key_provider, model, .. } = configuration;
    let of_model = || Some(model.as_deref()?.split_once('/')?.0.to_owned());
    // A key belongs to the provider of the first model, and must not reach another one.
    let key_provider = key_provider.clone().or_else(of_model);
    if api_key.is_some() && key_provider.is_none() {
        let reason =
            "the fallback models are left out: \"provider\" must say whose key \"apiKey\" is";
        invocation.warnings.push(reason.to_owned());
        return Ok(Vec::new());
    }
    let key_provider = key_provider.filter(|_| api_key.is_some());
    let planned = models.iter().take(Meta::FALLBACK_MODELS).map(|model| {
        let (model, key_provider) = (model.clone(), key_provider.clone());
        let configuration = Configuration {
            model: Some(model.clone()),
            // The name of a fallback model says which provider it has.
            provider: None,
            key_provider,
            ..configuration.clone()
        };
        let Invocation { command, environment, files, .. } = start(&configuration)?;
        for (name, text) in files {
            invocation.files.entry(name).or_insert(text);
        }
        Ok(PlannedFallback { model, command, environment })
    });
    planned.collect()
}
