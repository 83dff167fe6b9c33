//! The tests with the real pi: `crates/cli/tests/real_pi`.
//!
//! pi and the Node that it needs are pinned npm packages, installed once into a directory that
//! Git ignores. A machine without npm, or without a registry, cannot install them; there, the step is
//! reported as not run, except in continuous integration, where it fails.

use std::env;

use xtask::{Invocation, packages, repository_root};

use super::{Outcome, StepFailure, StepResult};

/// The variable that tells the tests where `e2e` is.
pub(super) const E2E: &str = "PI_SUBAGENTS_TEST_E2E";

/// Builds the tests on every machine, and runs them where there is a pi.
pub(super) fn run() -> StepResult {
    run_target("real_pi")
}

/// The same for the tests of any target that needs pi.
pub(super) fn run_target(target: &str) -> StepResult {
    let test = Invocation::new("cargo test --package pi-subagents --test").word(target);
    super::execute(&test.clone().words("--no-run"))?;
    let e2e = repository_root().join("e2e");
    if let Err((install, what)) = packages::install() {
        return without_packages("The tests with the real pi", "pi", &install, &what, is_ci());
    }
    // Each test mostly waits for a child to start, so more of them run at once than there are processors.
    super::execute(&test.words("-- --test-threads=4").environment(E2E, &e2e.to_string_lossy()))
}

/// Whether this is continuous integration, where every step must be possible.
pub(super) fn is_ci() -> bool {
    env::var("CI").is_ok_and(|value| value == "true")
}

/// The result of a step whose packages, such as pi, could not be installed.
pub(super) fn without_packages(
    steps: &str,
    packages: &str,
    install: &Invocation,
    what: &str,
    is_ci: bool,
) -> StepResult {
    if is_ci {
        return Err(StepFailure::of(install, what));
    }
    let reason = format!("{packages} could not be installed: `{install}` {what}");
    println!("{steps} are NOT RUN:");
    println!("{reason}");
    Ok(Outcome::NotRun(reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_pi_only_continuous_integration_fails() {
        let install = Invocation::new("npm ci").directory("e2e");
        assert_eq!(
            without_packages("Tests", "pi", &install, "ended with exit status: 1", false),
            Ok(Outcome::NotRun(
                "pi could not be installed: `cd e2e && npm ci` ended with exit status: 1"
                    .to_owned()
            ))
        );
        let failure = without_packages("Tests", "pi", &install, "could not be started", true);
        let failure = failure.unwrap_err();
        assert_eq!(failure.repeat, "cd e2e && npm ci");
    }
}
