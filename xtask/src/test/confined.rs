//! The tests that need mounts of their own: `crates/cli/tests/confined.rs`.
//!
//! They run as root of a new user namespace, in a new mount namespace, so that no other process sees what
//! they mount. Containers and hardened kernels often forbid that; there, the step is reported as not run.

use xtask::{Invocation, namespace};

use super::{Outcome, StepFailure, StepResult};
use crate::executable;

/// The name of the test target.
const TARGET: &str = "confined";

/// Builds the tests on every machine, and runs them where that is possible.
pub(super) fn run() -> StepResult {
    let build = Invocation::new("cargo test --package pi-subagents --test confined --no-run");
    let executable =
        executable::build(&build, TARGET).map_err(|what| StepFailure::of(&build, &what))?;
    let wrapper = match namespace::find_wrapper() {
        Ok(wrapper) => wrapper,
        Err(reason) => {
            println!("The confined tests are NOT RUN, because this machine permits no mounts:");
            println!("{reason}");
            return Ok(Outcome::NotRun(reason));
        }
    };
    // In the directory of the package, as Cargo does. One test at a time: they share the mounts.
    super::execute(
        &Invocation::new(wrapper)
            .word(executable)
            .words("--test-threads=1")
            .directory("crates/cli"),
    )
}
