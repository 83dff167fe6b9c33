//! What is known of the limits of providers, as people are shown it.

use model::Ledger;
use serde::Serialize;

use super::hash;
use super::rate::{PLACES, Pace, RateState};
use crate::ledger::load;
use crate::now_ms;
use crate::shared_dir::names;

/// What is known of the limits of a provider, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderLimits {
    /// The name of the provider.
    pub provider: String,
    /// The hash of the key; absent where the key is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Nothing is asked before this time, in milliseconds since 1970; absent if it has passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// How many requests of built-in agents, and how many agents of other makes, it bears at a time.
    pub at_a_time: usize,
    /// How many requests it takes in which time, once that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
}

/// What is known of the limits of all providers that have refused something, by name.
pub fn provider_limits(ledger: &Ledger) -> Vec<ProviderLimits> {
    let directory = ledger.directory.join("providers");
    let now = now_ms();
    let limits = names(&directory).into_iter().filter_map(|name| {
        let state: RateState = load(&directory.join(&name));
        let (provider, account) = name.strip_suffix(".json")?.rsplit_once('-')?;
        let at_a_time = Some(state.places(now)).filter(|places| *places < PLACES)?;
        Some(ProviderLimits {
            provider: provider.to_owned(),
            account: Some(account.to_owned()).filter(|account| *account != hash("")),
            until: Some(state.not_before).filter(|until| *until > now),
            at_a_time,
            pace: state.pace,
        })
    });
    let mut limits: Vec<ProviderLimits> = limits.collect();
    limits.sort_by(|one, other| {
        (&one.provider, &one.account).cmp(&(&other.provider, &other.account))
    });
    limits
}
