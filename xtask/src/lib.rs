//! What the programs for developers share: `cargo xtask` itself, the benchmarks and the soak.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "shows the commands that it runs to the developer who waits for them"
)]

mod invocation;
pub mod namespace;
pub mod packages;
pub mod python_packages;

use std::env;
use std::process::ExitCode;

pub use invocation::{Invocation, Running, repository_root, target_directory};

/// The `main` of a program for developers: hands it the arguments, and prints why it failed.
pub fn main(run: impl FnOnce(&[String]) -> Result<(), String>) -> ExitCode {
    let arguments: Vec<String> =
        env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {}", message.trim_end());
            ExitCode::FAILURE
        }
    }
}
