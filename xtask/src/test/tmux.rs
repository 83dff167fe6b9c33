//! The tests with a real tmux and a real GNU screen: `crates/cli/tests/tmux`.

use xtask::Invocation;

use super::{StepResult, system_package};

/// Builds the tests on every machine, and runs them where there are both.
pub(super) fn run() -> StepResult {
    super::execute(&Invocation::new("cargo test --package pi-subagents --test tmux --no-run"))?;
    for (package, probe) in [("tmux", "tmux -V"), ("screen", "screen --version")] {
        if let Err(missing) = system_package::provide(package, probe) {
            return missing.report();
        }
    }
    super::unsteady::execute(&Invocation::new("cargo test --package pi-subagents --test tmux"))
}
