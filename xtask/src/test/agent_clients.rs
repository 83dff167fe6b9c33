//! The tests with coding agents as clients: `crates/cli/tests/agent_clients`.
//!
//! They are large, so that they have a directory of their own, and no other step installs them.

use xtask::{Invocation, packages, repository_root};

use super::StepResult;
use super::real_pi::{E2E, is_ci, without_packages};

/// Builds the tests on every machine, and runs them where the clients can be installed.
pub(super) fn run() -> StepResult {
    let test = Invocation::new("cargo test --package pi-subagents --test agent_clients");
    super::execute(&test.clone().words("--no-run"))?;
    if let Err((install, what)) = packages::install_clients() {
        let clients = "Claude Code, Codex and opencode";
        return without_packages("The tests with clients", clients, &install, &what, is_ci());
    }
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        println!("opencode is not tested here: it is pinned for Linux on x86-64 only.");
    }
    let e2e = repository_root().join("e2e");
    super::unsteady::execute(&test.environment(E2E, &e2e.to_string_lossy()))
}
