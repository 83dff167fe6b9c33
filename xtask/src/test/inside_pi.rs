//! The tests of our extension inside the real pi: `crates/cli/tests/inside_pi`.
//!
//! They need what the tests with the real pi need; those that look at a screen also need tmux.

use xtask::Invocation;

use super::{StepResult, real_pi, system_package};

/// Builds the tests on every machine, and runs them where there are a pi and a tmux.
pub(super) fn run() -> StepResult {
    super::execute(&Invocation::new(
        "cargo test --package pi-subagents --test inside_pi --no-run",
    ))?;
    if let Err(missing) = system_package::provide("tmux", "tmux -V") {
        return missing.report();
    }
    // A pi that draws keeps a processor busy: two at once take longer than one after the other.
    real_pi::run_target("inside_pi", 1, "")
}
