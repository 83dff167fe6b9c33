//! The tests with agents that speak the Agent Client Protocol: `crates/cli/tests/all_agents`.
//!
//! They are large, so that they have a directory of their own, and this step runs only if it is named.

use xtask::{Invocation, packages, repository_root};

use super::StepResult;
use super::real_pi::{E2E, is_ci, without_packages};

/// Builds the tests on every machine, and runs them where the agents can be installed.
pub(super) fn run() -> StepResult {
    let test = Invocation::new("cargo test --package pi-subagents --test all_agents");
    super::execute(&test.clone().words("--no-run"))?;
    let installed = packages::install().and_then(|()| packages::install_agents());
    if let Err((install, what)) = installed {
        let agents = "Gemini CLI, opencode and GitHub Copilot";
        return without_packages("The tests with agents", agents, &install, &what, is_ci());
    }
    let e2e = repository_root().join("e2e");
    super::unsteady::execute(&test.environment(E2E, &e2e.to_string_lossy()))
}
