//! The tests with zsh, fish and man: `crates/cli/tests/shells`.

use xtask::Invocation;

use super::{StepResult, system_package};

/// The programs that are needed, by package, with a command that works where they are.
const PROGRAMS: &[(&str, &str)] =
    &[("zsh", "zsh --version"), ("fish", "fish --version"), ("man-db", "man --version")];

/// Builds the tests on every machine, and runs them where the programs are.
pub(super) fn run() -> StepResult {
    super::execute(&Invocation::new("cargo test --package pi-subagents --test shells --no-run"))?;
    for (package, probe) in PROGRAMS {
        if let Err(missing) = system_package::provide(package, probe) {
            return missing.report();
        }
    }
    super::execute(&Invocation::new("cargo test --package pi-subagents --test shells"))
}
