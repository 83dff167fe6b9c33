//! The tests that need mounts of their own: `crates/cli/tests/confined.rs`.
//!
//! They run as root of a fresh user namespace, in a fresh mount namespace, so that what they mount
//! is seen by nobody else and is gone with them. Not every machine permits that (containers and
//! hardened kernels often do not); there, the step is reported as not run.

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
    let entrance = match namespace::find_entrance() {
        Ok(entrance) => entrance,
        Err(reason) => {
            println!("The confined tests are NOT RUN, because this machine permits no mounts:");
            println!("{reason}");
            return Ok(Outcome::NotRun(reason));
        }
    };
    // As Cargo does, in the directory of the package. One test at a time: they share the mounts.
    super::execute(
        &Invocation::new(entrance)
            .word(executable)
            .words("--test-threads=1")
            .directory("crates/cli"),
    )
}
