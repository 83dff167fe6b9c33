//! The tests with a real tmux: `crates/cli/tests/tmux`.

use xtask::Invocation;

use super::{StepResult, system_package};

/// Builds the tests on every machine, and runs them where there is a tmux.
pub(super) fn run() -> StepResult {
    super::execute(&Invocation::new("cargo test --package pi-subagents --test tmux --no-run"))?;
    if let Err(missing) = system_package::provide("tmux", "tmux -V") {
        return missing.report();
    }
    super::execute(&Invocation::new("cargo test --package pi-subagents --test tmux"))
}
