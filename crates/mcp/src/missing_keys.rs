//! What to say where no key has reached this server: some clients keep their environment to themselves.

use std::env;
use std::path::Path;

use model::paths::StateDir;
use model::{AgentKind, Outcome, provider_variables};
use tools::{CallTask, RunningCall};

/// Words about missing keys, if no task of the call has completed and that may be the reason.
pub(crate) fn explanation(call: &RunningCall, agent_dir: &Path) -> Option<String> {
    if !call.is_failure() || !call.tasks().iter().any(may_lack_a_key) {
        return None;
    }
    let is_set = |name: &&str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let files = StateDir::of_user(agent_dir);
    let logins = files.logins();
    // What is in the files is for the agent to judge, which has told what is wrong with them.
    if provider_variables::KEYS.iter().any(is_set) || logins.exists() || files.models().exists() {
        return None;
    }
    Some(format!(
        "no key has reached this server: no variable such as ANTHROPIC_API_KEY is set, and there is no {}. \
         The client may have withheld its environment: name the variable in the client's entry for this server \
         (`env_vars` in Codex, which `pi-subagents setup codex` writes), or put a key into that file",
        logins.display()
    ))
}

/// Whether the agent takes its key from the environment or the user's files, and has failed by itself.
fn may_lack_a_key(task: &CallTask) -> bool {
    let has_failed = |outcome| {
        matches!(
            outcome,
            Outcome::ProviderError | Outcome::NonZeroExit | Outcome::NoAssistantMessage
        )
    };
    matches!(task.shown.meta.agent, Some(AgentKind::Pi | AgentKind::Builtin))
        && task.report.as_ref().is_some_and(|report| has_failed(report.result.outcome))
}
