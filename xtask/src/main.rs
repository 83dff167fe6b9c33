//! The commands for developers of this repository, run as `cargo xtask COMMAND`.
//!
//! Each command is a module with a `run` function, or a program of its own in another package; this
//! file only finds it by its name.

#![expect(
    clippy::print_stdout,
    reason = "a program for developers, whose whole result is what it prints"
)]

mod catalogue;
mod check_platforms;
mod executable;
mod fuzz;
mod package;
mod release;
mod test;
mod tidy;

use std::process::ExitCode;

use xtask::Invocation;

const HELP: &str = "\
Usage: cargo xtask COMMAND

Commands:
  bench   Measure, as ratios in one run: `bench spine`, `bench delegate`, or all
  catalogue  Make the catalogue of models anew from that of pi, which it installs: `catalogue [DIRECTORY]`
  check-platforms  Compile everything for the platforms that this machine is not: macOS, and Linux on ARM
  fuzz    Search for input that breaks the code that reads it: `fuzz [TARGET] [--seconds N]`
  package Make the files of a release for this platform: an archive, and packages for npm
  pictures  Draw the pictures in the documents from a real run
  release Write a new version into all files that name it, and the changelog: `release 0.2.0`
  soak    Random tasks and random faults, and a proof that nothing is left: `soak --minutes N --seed S`, `soak fleet`
  test    Run everything that continuous integration checks, up to the first failure; or only
          some steps of it: `test format tidy`
  tidy    Check the rules of this repository that no compiler knows
  help    Show this list
";

fn main() -> ExitCode {
    xtask::main(|arguments| {
        let Some((word, rest)) = arguments.split_first() else { return help(&[]) };
        match word.as_str() {
            "help" | "--help" | "-h" => help(rest),
            "bench" => become_program("pi-subagents-bench", rest),
            "catalogue" => catalogue::run(rest),
            "check-platforms" => check_platforms::run(rest),
            "fuzz" => fuzz::run(rest),
            "package" => package::run(rest),
            "pictures" => {
                refuse_arguments(word, rest)?;
                become_program("pi-subagents-bench", arguments)
            }
            "release" => release::run(rest),
            "soak" => become_program("pi-subagents-soak", rest),
            "test" => test::run(rest),
            "tidy" => tidy::run(rest),
            unknown => Err(format!("there is no command `{unknown}`.\n\n{HELP}")),
        }
    })
}

/// Builds a program that is a package of its own, so that the other commands need not build it, and
/// becomes it.
fn become_program(package: &str, arguments: &[String]) -> Result<(), String> {
    let run = Invocation::new("cargo run --quiet --package").word(package).word("--");
    let run = arguments.iter().fold(run, Invocation::word);
    Err(format!("`{run}` {}", run.replace_this_process()))
}

fn help(arguments: &[String]) -> Result<(), String> {
    refuse_arguments("help", arguments)?;
    print!("{HELP}");
    Ok(())
}

/// Refuses arguments of a command that takes none: a misspelt option must not look as if it had worked.
fn refuse_arguments(command: &str, arguments: &[String]) -> Result<(), String> {
    match arguments.first() {
        None => Ok(()),
        Some(argument) => Err(format!("`{command}` takes no arguments, but got `{argument}`.")),
    }
}
