//! The soak as a program, which `cargo xtask soak` builds and starts.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
use pi_subagents_soak::run;

fn main() -> ExitCode {
    xtask::main(run)
}

#[cfg(not(target_os = "linux"))]
fn run(_: &[String]) -> Result<(), String> {
    Err("the faults of the soak, and what it looks for, need Linux".to_owned())
}
