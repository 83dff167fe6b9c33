//! Agents of other makes: they ask their provider by themselves, so its limits decide when they start. The built-in agent asks
//! before each request instead.

use std::time::Duration;

use model::{AgentKind, Meta, WaitReason};

use super::Provider;
use crate::now_ms;
use crate::shared_dir::SharedDir;
use crate::slot::running;

/// Agents that tell of a limit within so many milliseconds have met the same one, which narrows what may run once.
const SAME_LIMIT: u64 = 5_000;

/// What keeps an agent from starting because of its provider: it asks to wait, or bears no more agents at a time.
pub(crate) fn asked_to_wait(meta: &Meta, shared: &SharedDir, now: u64) -> Option<WaitReason> {
    let (account, provider) = of_agent(meta)?;
    let state = account.state();
    if state.not_before > now {
        return Some(WaitReason::Provider { provider, until: state.not_before });
    }
    // Most providers have refused nothing, and then the agents need not be counted.
    let most = Some(state.places(now)).filter(|_| state.is_limited())?;
    let running = account.agents(shared);
    (running >= most).then_some(WaitReason::ProviderWidth { provider, running, most })
}

/// The agent of this run was refused by its provider, and tries again after this time.
pub fn agent_was_refused(meta: &Meta, error: &str, after: Duration) {
    const LIMITS: [&str; 8] = [
        "429",
        "529",
        "503",
        "rate limit",
        "rate_limit",
        "too many requests",
        "overloaded",
        "high demand",
    ];
    let error = error.to_lowercase();
    if !LIMITS.iter().any(|limit| error.contains(limit)) {
        return;
    }
    let Some((account, _)) = of_agent(meta) else { return };
    let shared = meta.admission.as_ref().and_then(|it| SharedDir::open(&it.directories));
    let under_way = shared.map_or(1, |shared| account.agents(&shared));
    let now = now_ms();
    let sent_at = now.saturating_sub(SAME_LIMIT);
    account.change_state(now, |state| state.narrow(now, sent_at, after, under_way));
}

/// The name under which it is known what the provider bears of such agents.
pub(crate) fn account_name(meta: &Meta) -> Option<String> {
    of_agent(meta).map(|(account, _)| account.name)
}

/// The provider that an agent of another make asks, and its name, as far as that is known. The built-in agent tells by itself.
fn of_agent(meta: &Meta) -> Option<(Provider, String)> {
    if meta.agent == Some(AgentKind::Builtin) {
        return None;
    }
    let of_model = || Some(meta.model.as_deref()?.split_once('/')?.0);
    let of_protocol = match meta.protocol.as_deref() {
        Some("claude") => Some("anthropic"),
        Some("codex") => Some("openai"),
        _ => None,
    };
    let name = meta.provider.as_deref().or_else(of_model).or(of_protocol)?;
    let directory = &meta.ledger.as_ref()?.directory;
    Some((Provider::new(directory, name, None), name.to_owned()))
}

impl Provider {
    /// How many agents of other makes run with this account.
    fn agents(&self, shared: &SharedDir) -> usize {
        let agents = running(shared, false);
        agents.iter().filter(|agent| agent.account.as_ref() == Some(&self.name)).count()
    }
}
