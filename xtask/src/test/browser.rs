//! The tests of reports in a real browser: `crates/cli/tests/browser`.
//!
//! Chromium is a package of the system, and Playwright, which drives it, a pinned package from npm.

use xtask::{Invocation, packages, repository_root};

use super::real_pi::{E2E, is_ci, without_packages};
use super::{StepResult, system_package};

/// Builds the tests on every machine, and runs them where there is a browser.
pub(super) fn run() -> StepResult {
    let test = Invocation::new("cargo test --package pi-subagents --test browser");
    super::execute(&test.clone().words("--no-run"))?;
    if let Err(missing) = system_package::provide("chromium", "/usr/bin/chromium --version") {
        return missing.report();
    }
    if let Err((install, what)) = packages::install_browser() {
        let tests = "The tests in a browser";
        return without_packages(tests, "Playwright", &install, &what, is_ci());
    }
    let e2e = repository_root().join("e2e");
    super::unsteady::execute(&test.environment(E2E, &e2e.to_string_lossy()))
}
