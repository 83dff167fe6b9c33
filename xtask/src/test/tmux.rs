//! The tests with a real tmux: `crates/cli/tests/tmux`.
//!
//! tmux is a package of the system. Where this is Debian or one of its like and we are root, it is
//! installed; elsewhere it has to be there. Without it, the step is reported as not run, except in
//! continuous integration, where it has to be possible.

use std::env;

use super::{Outcome, StepFailure, StepResult};
use crate::invocation::Invocation;

/// Builds the tests on every machine, and runs them where there is a tmux.
pub(super) fn run() -> StepResult {
    super::execute(&Invocation::new("cargo test --package pi-subagents --test tmux --no-run"))?;
    if let Some(result) = find_missing() {
        return result;
    }
    super::execute(&Invocation::new("cargo test --package pi-subagents --test tmux"))
}

/// What a step that needs tmux comes to where there is none and none can be installed.
pub(super) fn find_missing() -> Option<StepResult> {
    let (install, what) = provide().err()?;
    let is_ci = env::var("CI").is_ok_and(|value| value == "true");
    Some(without_tmux(&install, &what, is_ci))
}

/// Installs tmux unless it is there. What could not be done is told together with its command.
fn provide() -> Result<(), (Invocation, String)> {
    if Invocation::new("tmux -V").probe().is_ok() {
        return Ok(());
    }
    let install = Invocation::new("apt-get install --yes --no-install-recommends tmux")
        .environment("DEBIAN_FRONTEND", "noninteractive");
    println!("$ {install}");
    // The lists of packages are often missing from an image, or old.
    install
        .run()
        .or_else(|_| {
            let update = Invocation::new("apt-get update");
            println!("$ {update}");
            update.run().and_then(|()| install.run())
        })
        .map_err(|what| (install, what))
}

fn without_tmux(install: &Invocation, what: &str, is_ci: bool) -> StepResult {
    if is_ci {
        return Err(StepFailure::of(install, what));
    }
    let reason = format!("tmux is not installed, and could not be: `{install}` {what}");
    println!("The tests with tmux are NOT RUN:");
    println!("{reason}");
    Ok(Outcome::NotRun(reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_tmux_only_continuous_integration_fails() {
        let install = Invocation::new("apt-get install tmux");
        assert_eq!(
            without_tmux(&install, "ended with exit status: 100", false),
            Ok(Outcome::NotRun(
                "tmux is not installed, and could not be: `apt-get install tmux` ended with exit \
                 status: 100"
                    .to_owned()
            ))
        );
        let failure = without_tmux(&install, "could not be started", true).unwrap_err();
        assert_eq!(failure.repeat, "apt-get install tmux");
    }
}
