//! The tests with coding agents as children: `crates/cli/tests/agent_children`.
//!
//! They need the agents that are tested as clients, and pi, which is a child beside them.

use xtask::{Invocation, packages, repository_root};

use super::StepResult;
use super::real_pi::{E2E, is_ci, without_packages};

/// Builds the tests on every machine, and runs them where the agents can be installed.
pub(super) fn run() -> StepResult {
    let test = Invocation::new("cargo test --package pi-subagents --test agent_children");
    super::execute(&test.clone().words("--no-run"))?;
    if let Err((install, what)) = packages::install().and_then(|()| packages::install_clients()) {
        let agents = "Claude Code, Codex and pi";
        return without_packages("The tests with children", agents, &install, &what, is_ci());
    }
    let e2e = repository_root().join("e2e");
    // Each test mostly waits for a child, so more of them run at once than there are processors.
    super::unsteady::execute(
        &test.words("-- --test-threads=4").environment(E2E, &e2e.to_string_lossy()),
    )
}
