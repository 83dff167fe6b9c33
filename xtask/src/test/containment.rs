//! The tests that need a feature of the kernel: `crates/process/tests/landlock.rs` and `cgroup.rs`.

use xtask::Invocation;

use super::{Outcome, StepFailure, StepResult};
use crate::executable;

/// Builds the tests on every machine, and runs them where the kernel has Landlock.
pub(super) fn landlock() -> StepResult {
    let executable = build("landlock")?;
    run_with(&[Invocation::new("")], "Landlock", &executable)
}

/// Builds the tests on every machine, and runs them for root where there is a cgroup hierarchy of
/// version 2, or where one can be mounted for these tests alone.
pub(super) fn cgroups() -> StepResult {
    let executable = build("cgroup")?;
    let mounted = Invocation::new("unshare --mount --propagation private sh -c")
        .word(r#"mount -t cgroup2 none /mnt && exec "$0" "$@""#);
    run_with(&[Invocation::new(""), mounted], "cgroup", &executable)
}

fn build(target: &str) -> Result<String, StepFailure> {
    let build = Invocation::new("cargo test --package pi-subagents-process --no-run --test");
    let build = build.word(target);
    executable::build(&build, target).map_err(|what| StepFailure::of(&build, &what))
}

/// Runs the tests with the first wrapper with which their probe succeeds.
fn run_with(wrappers: &[Invocation], name: &str, executable: &str) -> StepResult {
    let mut reasons = Vec::new();
    for wrapper in wrappers {
        let tests = wrapper.clone().word(executable);
        let probe = tests.clone().words("--exact probe --nocapture");
        match probe.environment("RUST_BACKTRACE", "0").probe() {
            // In the directory of the package, as Cargo does.
            Ok(()) => return super::execute(&tests.directory("crates/process")),
            Err(reason) => reasons.push(reason),
        }
    }
    let reason = reasons.join("; ");
    println!("The {name} tests are NOT RUN, because this machine does not permit it:");
    println!("{reason}");
    Ok(Outcome::NotRun(reason))
}
