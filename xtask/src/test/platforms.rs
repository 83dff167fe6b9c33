//! Compiling for the platforms that this machine is not.

use super::real_pi::{is_ci, without_packages};
use super::{Outcome, StepFailure, StepResult};
use crate::check_platforms::{Problem, check};

/// Compiles for those whose standard library is installed.
pub(super) fn run() -> StepResult {
    match check() {
        Ok(checked) if checked.compiled.is_empty() => Ok(Outcome::NotRun(checked.to_string())),
        Ok(checked) => {
            println!("{checked}");
            Ok(Outcome::Passed)
        }
        Err(Problem::NoCompiler(install, what)) => {
            let step = "Compiling for other platforms";
            without_packages(step, "a C compiler for them", &install, &what, is_ci())
        }
        Err(Problem::Failed(command, what)) => Err(StepFailure::of(&command, &what)),
    }
}
