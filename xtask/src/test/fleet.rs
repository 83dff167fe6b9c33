//! The tests of the fleet with real NATS servers: `crates/cli/tests/fleet`.

use xtask::{Invocation, packages, python_packages, repository_root};

use super::StepResult;
use super::real_pi::{E2E, is_ci, without_packages};

/// Builds the tests on every machine, and runs them where the server can be installed.
pub(super) fn run() -> StepResult {
    let test = Invocation::new("cargo test --package pi-subagents --test fleet");
    super::execute(&test.clone().words("--no-run"))?;
    if let Err((install, what)) = python_packages::install_nats_server() {
        let server = "the NATS server";
        return without_packages("The tests of the fleet", server, &install, &what, is_ci());
    }
    let e2e = repository_root().join("e2e");
    let test = test.environment(E2E, &e2e.to_string_lossy());
    if let Err((install, what)) = packages::install() {
        super::unsteady::execute(&test.words("-- --skip real_pi::"))?;
        return without_packages(
            "The tests of the fleet with the real pi",
            "pi",
            &install,
            &what,
            is_ci(),
        );
    }
    super::unsteady::execute(&test)
}
