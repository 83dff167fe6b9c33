//! The tests with zsh, fish and man: `crates/cli/tests/shells`.

use xtask::Invocation;

use super::{StepResult, system_package};

/// The packages that are needed, each with a command that succeeds where it is installed.
const PROGRAMS: &[(&str, &str)] =
    &[("zsh", "zsh --version"), ("fish", "fish --version"), ("man-db", "man --version")];

/// Builds the tests on every machine, and runs them where the packages are.
pub(super) fn run() -> StepResult {
    super::execute(&Invocation::new("cargo test --package pi-subagents --test shells --no-run"))?;
    for (package, probe) in PROGRAMS {
        if let Err(missing) = system_package::provide(package, probe) {
            return missing.report();
        }
    }
    super::unsteady::execute(&Invocation::new("cargo test --package pi-subagents --test shells"))
}
