//! What the machines of a fleet tell each other of the limits of providers.

use model::Ledger;
use serde::{Deserialize, Serialize};

use super::Provider;
use super::rate::RateState;
use crate::ledger::load;
use crate::now_ms;
use crate::shared_dir::names;

/// What one machine has learned of the limits of a provider, as it travels to others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedLimit {
    /// The name of the provider and the hash of the key, which are letters, digits and hyphens.
    pub account: String,
    state: RateState,
}

/// Everything that this machine knows of providers that have refused something.
pub fn shared_limits(ledger: &Ledger) -> Vec<SharedLimit> {
    let directory = ledger.directory.join("providers");
    let limits = names(&directory).into_iter().filter_map(|name| {
        let account = name.strip_suffix(".json")?.to_owned();
        let state: RateState = load(&directory.join(&name));
        state.is_limited().then_some(SharedLimit { account, state })
    });
    limits.collect()
}

/// Takes in what another machine has learned, unless this one has met a limit later.
pub fn merge_shared_limit(ledger: &Ledger, theirs: &SharedLimit) {
    let SharedLimit { account, state: theirs } = theirs;
    let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'-';
    if account.is_empty() || account.len() > 80 || !account.bytes().all(is_plain) {
        return;
    }
    let account = Provider { directory: ledger.directory.join("providers"), name: account.clone() };
    let now = now_ms();
    // Nothing is written as long as nothing is new.
    if account.state().merged_with(theirs, now) != account.state() {
        account.change_state(now, |state| *state = state.merged_with(theirs, now));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{Request, provider_limits};
    use super::*;
    use crate::ledger::change;

    #[test]
    fn shared_limits_go_from_one_directory_to_another_under_plain_names_only() {
        let [here, there] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let ledger = |top: &tempfile::TempDir| Ledger {
            directory: top.path().to_owned(),
            daily_cost_usd: None,
        };
        let provider = Provider::new(here.path(), "anthropic", Some("sk-secret"));
        let requests: Vec<Request> = (0..3).map(|_| provider.begin()).collect();
        provider.refused(&requests[0], Some(Duration::from_secs(9)));
        let limit = shared_limits(&ledger(&here)).pop().unwrap();
        let text = serde_json::to_string(&limit).unwrap();
        assert!(!text.contains("secret"), "{text}");
        let limit: SharedLimit = serde_json::from_str(&text).unwrap();
        merge_shared_limit(&ledger(&there), &limit);
        let known = provider_limits(&ledger(&there)).pop().unwrap();
        assert_eq!((known.provider.as_str(), known.at_a_time), ("anthropic", 2));
        assert!(known.until.is_some());
        merge_shared_limit(
            &ledger(&there),
            &SharedLimit { account: "../money".to_owned(), ..limit },
        );
        assert_eq!(names(there.path()), ["providers"]);
    }

    #[test]
    fn a_time_that_a_wrong_clock_has_left_hides_none_that_another_machine_tells() {
        let top = tempfile::tempdir().unwrap();
        let ledger = Ledger { directory: top.path().to_owned(), daily_cost_usd: None };
        let provider = Provider::new(top.path(), "anthropic", None);
        drop(provider.begin());
        let now = now_ms();
        let tomorrow = now + 24 * 60 * 60 * 1000;
        assert!(change(&provider.file(), |state: &mut RateState| state.not_before = tomorrow));
        assert_eq!(provider.wait(), Duration::ZERO);
        let mut told = RateState::default();
        told.narrow(now, now, Duration::from_secs(40), 4);
        merge_shared_limit(&ledger, &SharedLimit { account: provider.name.clone(), state: told });
        assert!(provider.wait() > Duration::from_secs(1), "{:?}", provider.state());
    }
}
