//! The soak: two minutes in continuous integration, always with the same seed, so that what it finds comes
//! from the change; and less on a developer's machine, with another seed each time, so that many short runs
//! see as much as a long one.

use xtask::Invocation;

use super::real_pi::is_ci;
use super::{Outcome, StepResult, system_package};

/// Runs it on Linux.
pub(super) fn run() -> StepResult {
    if cfg!(not(target_os = "linux")) {
        return Ok(Outcome::NotRun("its faults, and what it looks for, need Linux".to_owned()));
    }
    // Without it, all the rest is tried.
    if let Err(missing) = system_package::provide("tmux", "tmux -V")
        && is_ci()
    {
        return missing.report();
    }
    let (minutes, seed) = if is_ci() { ("2", 1) } else { ("0.333", std::process::id()) };
    super::execute(&Invocation::new(&format!("cargo xtask soak --minutes {minutes} --seed {seed}")))
}
