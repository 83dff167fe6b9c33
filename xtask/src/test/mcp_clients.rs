//! The tests with the official clients of the Model Context Protocol: `crates/cli/tests/mcp_clients`.
//!
//! The official SDKs are pinned packages, installed once into directories that Git ignores: one from npm,
//! with the Node that it runs in, and one for the Python of this machine.

use xtask::{Invocation, packages, python_packages, repository_root};

use super::real_pi::{E2E, is_ci, without_packages};
use super::{StepResult, system_package};

/// Builds the tests on every machine, and runs them where both SDKs can be installed.
pub(super) fn run() -> StepResult {
    let test = Invocation::new("cargo test --package pi-subagents --test mcp_clients");
    super::execute(&test.clone().words("--no-run"))?;
    // On Debian, what a virtual environment needs is not part of Python, but a package of its own.
    if let Err(missing) = system_package::provide("python3-venv", "python3 -m ensurepip --version")
    {
        return missing.report();
    }
    if let Err((install, what)) = packages::install().and_then(|()| python_packages::install()) {
        return without_packages(
            "The tests with MCP clients",
            "the clients",
            &install,
            &what,
            is_ci(),
        );
    }
    // Some of the tests only wait, for three minutes; the others run meanwhile.
    let e2e = repository_root().join("e2e");
    super::unsteady::execute(
        &test.words("-- --test-threads=8").environment(E2E, &e2e.to_string_lossy()),
    )
}
