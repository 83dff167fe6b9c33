//! The soak: two minutes in continuous integration, always with the same seed, so that what it finds was
//! brought by the change; and less on a developer's machine, with another seed each time, so that many
//! runs see more than one. A failure says which it was.

use super::{Outcome, StepResult};

/// Soaks.
#[cfg(target_os = "linux")]
pub(super) fn run() -> StepResult {
    use crate::soak;

    let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    let (minutes, seed) = if is_ci { ("2", 1) } else { ("0.333", soak::any_seed()) };
    let seed = seed.to_string();
    let arguments = ["--minutes", minutes, "--seed", &seed].map(str::to_owned);
    let repeat = format!("cargo xtask soak {}", arguments.join(" "));
    println!("$ {repeat}");
    soak::run(&arguments).map_err(|reason| super::StepFailure { reason, repeat })?;
    Ok(Outcome::Passed)
}

/// Says why not.
#[cfg(not(target_os = "linux"))]
pub(super) fn run() -> StepResult {
    Ok(Outcome::NotRun("its faults, and what it looks for, need Linux".to_owned()))
}
