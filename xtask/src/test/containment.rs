//! The tests that need a feature of the kernel, or root: `landlock.rs` and `cgroup.rs` in
//! `crates/process/tests`, and `access`, `contained`, `limits.rs` and `memory.rs` in `crates/cli/tests`.

use xtask::Invocation;

use super::{Outcome, StepFailure, StepResult};
use crate::executable;

/// Builds the tests on every machine, and runs them where the kernel has Landlock.
pub(super) fn landlock() -> StepResult {
    let executable = build(PROCESS, "landlock")?;
    run_with(&[Invocation::new("")], "Landlock", &executable, "crates/process")
}

/// The same for agents whose access is restricted.
pub(super) fn access() -> StepResult {
    let executable = build(PROGRAM, "access")?;
    run_with(&[Invocation::new("")], "access", &executable, "crates/cli")
}

/// Builds the tests on every machine, and runs them for root where there is a cgroup hierarchy of
/// version 2, or where one can be mounted for these tests alone. There, the tests of what happens when
/// programs are killed are also run without the hierarchy: everywhere else they use it.
pub(super) fn cgroups() -> StepResult {
    let [of_process, of_program] = [build(PROCESS, "cgroup")?, build(PROGRAM, "contained")?];
    let behind = |shell: &str| {
        let unshare = Invocation::new("unshare --mount --propagation private sh -c");
        unshare.word(format!(r#"{shell} && exec "$0" "$@""#))
    };
    let wrappers = [Invocation::new(""), behind("mount -t cgroup2 none /mnt")];
    let outcome = run_with(&wrappers, "cgroup", &of_process, "crates/process")?;
    if outcome != Outcome::Passed {
        return Ok(outcome);
    }
    run_with(&wrappers, "contained", &of_program, "crates/cli")?;
    let suite = build(PROGRAM, "suite")?;
    let without = behind("umount --all --types cgroup2").word(suite);
    super::execute(&without.words(WITHOUT_CGROUPS).directory("crates/cli"))
}

/// Builds the tests on every machine, and runs them where root can become another user.
pub(super) fn limits() -> StepResult {
    let executable = build(PROGRAM, "limits")?;
    run_with(&[Invocation::new("")], "limit", &executable, "crates/cli")
}

/// Builds the tests on every machine, and runs them where root can bound the memory of a cgroup.
pub(super) fn memory() -> StepResult {
    let executable = build(PROGRAM, "memory")?;
    run_with(&[Invocation::new("")], "memory", &executable, "crates/cli")
}

const PROCESS: &str = "pi-subagents-process";
const PROGRAM: &str = "pi-subagents";

/// The modules of the suite in which supervisors and their callers are killed, and the one about what runs use.
const WITHOUT_CGROUPS: &str = "spine::parents spine::trees spine::resources background::crashes background::stopping private_memory";

fn build(package: &str, target: &str) -> Result<String, StepFailure> {
    let build = Invocation::new("cargo test --no-run --package").word(package);
    let build = build.word("--test").word(target);
    executable::build(&build, target).map_err(|what| StepFailure::of(&build, &what))
}

/// Runs the tests with the first wrapper with which their probe succeeds.
fn run_with(
    wrappers: &[Invocation],
    name: &str,
    executable: &str,
    directory: &'static str,
) -> StepResult {
    let mut reasons = Vec::new();
    for wrapper in wrappers {
        let tests = wrapper.clone().word(executable);
        let probe = tests.clone().words("--exact probe --nocapture");
        match probe.environment("RUST_BACKTRACE", "0").probe() {
            // In the directory of the package, as Cargo does.
            Ok(()) => return super::execute(&tests.directory(directory)),
            Err(reason) => reasons.push(reason),
        }
    }
    let reason = reasons.join("; ");
    println!("The {name} tests are NOT RUN, because this machine does not permit it:");
    println!("{reason}");
    Ok(Outcome::NotRun(reason))
}
