//! The developers' helper of this repository, run as `cargo xtask COMMAND`.
//!
//! Each command is a module with a `run` function; this file only finds the module by its word.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for developers, whose whole result is what it prints"
)]

mod bench;
mod executable;
mod fuzz;
mod invocation;
mod namespace;
mod package;
mod packages;
mod pictures;
mod pseudo_terminal;
mod python_packages;
mod release;
#[cfg(target_os = "linux")]
mod soak;
mod test;
mod tidy;

use std::process::ExitCode;

const HELP: &str = "\
Usage: cargo xtask COMMAND

Commands:
  bench   Measure, as ratios in one run: `bench spine`, `bench delegate`, or all
  fuzz    Look for bytes that break what reads them: `fuzz [TARGET] [--seconds N]`
  package Make what is given out for this platform: an archive, and packages for npm
  pictures  Make the pictures in the documents anew, from a real run
  release Write a new version everywhere, and into the changelog: `release 0.2.0`
  soak    Random tasks and random faults, and a proof that nothing is left: `soak --minutes N --seed S`
  test    Run everything that continuous integration checks, up to the first failure; or only
          some steps of it: `test format tidy`
  tidy    Check the rules of this repository that no compiler knows
  help    Show this list
";

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let done = match arguments.split_first() {
        None => help(&[]),
        Some((word, rest)) => match word.as_str() {
            "help" | "--help" | "-h" => help(rest),
            "bench" => bench::run(rest),
            "fuzz" => fuzz::run(rest),
            "package" => package::run(rest),
            "pictures" => pictures::run(rest),
            "release" => release::run(rest),
            #[cfg(target_os = "linux")]
            "soak" => soak::run(rest),
            "test" => test::run(rest),
            "tidy" => tidy::run(rest),
            unknown => Err(format!("there is no command `{unknown}`.\n\n{HELP}")),
        },
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {}", message.trim_end());
            ExitCode::FAILURE
        }
    }
}

fn help(arguments: &[String]) -> Result<(), String> {
    refuse_arguments("help", arguments)?;
    print!("{HELP}");
    Ok(())
}

/// For the commands that take no arguments: a misspelt option must not look as if it had worked.
fn refuse_arguments(command: &str, arguments: &[String]) -> Result<(), String> {
    match arguments.first() {
        None => Ok(()),
        Some(argument) => Err(format!("`{command}` takes no arguments, but got `{argument}`.")),
    }
}
