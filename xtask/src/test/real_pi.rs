//! The tests with the real pi: `crates/cli/tests/real_pi`, with the pinned one and with the newest.
//!
//! pi and the Node that it needs are pinned npm packages, installed once into a directory that
//! Git ignores. A machine without npm, or without a registry, cannot install them; there, the step is
//! reported as not run, except in continuous integration, where it fails.

use std::env;

use xtask::{Invocation, packages, repository_root};

use super::{Outcome, StepFailure, StepResult};

/// The variable that tells the tests where `e2e` is.
pub(super) const E2E: &str = "PI_SUBAGENTS_TEST_E2E";

/// The variable that makes the tests use the newest pi.
const NEWEST: &str = "PI_SUBAGENTS_TEST_NEWEST_PI";

/// Builds the tests on every machine, and runs them where there is a pi.
pub(super) fn run() -> StepResult {
    // The built-in agent is compared with the pinned pi, whose stream it prints.
    // Each test mostly waits for a child to start, so more of them run at once than there are processors.
    run_target("real_pi", 4, "--skip builtin::")
}

/// The same for the tests of any target that needs pi, with the pinned one and with the newest, for which some may
/// have to be left out.
pub(super) fn run_target(target: &str, at_once: u32, without: &str) -> StepResult {
    let build = Invocation::new("cargo test --package pi-subagents --test").word(target);
    super::execute(&build.words("--no-run"))?;
    if let Err((install, what)) = packages::install() {
        return without_packages("The tests with the real pi", "pi", &install, &what, is_ci());
    }
    let e2e = repository_root().join("e2e");
    let test = Invocation::new("cargo test --package pi-subagents --test").word(target);
    let threads = format!("--test-threads={at_once}");
    let test = test.words("--").word(threads).environment(E2E, &e2e.to_string_lossy());
    let pinned = super::unsteady::execute(&test)?;
    if let Err((install, what)) = packages::install_newest_pi() {
        return without_packages("The tests with the newest pi", "it", &install, &what, is_ci());
    }
    let newest = super::unsteady::execute(&test.words(without).environment(NEWEST, "1"))?;
    Ok(pinned.and(newest))
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
