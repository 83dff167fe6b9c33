//! `cargo xtask check-platforms`: compiles everything for the platforms that this machine is not.
//!
//! Compiling a program needs the standard library of its platform, which `rustup target add` installs, and a C compiler for
//! one dependency. Only linking and running would need the platform itself.

use std::fs;
use std::path::Path;

use xtask::{Invocation, python_packages, repository_root};

use crate::test::LINTED;

/// A supported platform.
struct Platform {
    /// As Rust names it.
    target: &'static str,
    /// As the C compiler names it.
    c_target: &'static str,
}

const PLATFORMS: [Platform; 4] = [
    Platform { target: "x86_64-unknown-linux-gnu", c_target: "x86_64-linux-gnu" },
    Platform { target: "aarch64-unknown-linux-gnu", c_target: "aarch64-linux-gnu" },
    Platform { target: "x86_64-apple-darwin", c_target: "x86_64-macos" },
    Platform { target: "aarch64-apple-darwin", c_target: "aarch64-macos" },
];

impl Platform {
    fn is_apple(&self) -> bool {
        self.target.ends_with("-apple-darwin")
    }
}

/// What became of the platforms that this machine is not.
#[derive(Debug, Default, PartialEq, Eq)]
struct Checked {
    compiled: Vec<&'static str>,
    /// Those whose standard library is not installed.
    left_out: Vec<&'static str>,
}

/// Runs the command.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    crate::refuse_arguments("check-platforms", arguments)?;
    let checked = check().map_err(|(command, what)| format!("`{command}` {what}"))?;
    println!("{checked}");
    if checked.compiled.is_empty() { Err("nothing was compiled".to_owned()) } else { Ok(()) }
}

/// Compiles the workspace and its tests for every other platform whose standard library is installed, without warnings.
fn check() -> Result<Checked, (Invocation, String)> {
    let host = host()?;
    let mut checked = Checked::default();
    for platform in PLATFORMS.iter().filter(|platform| platform.target != host) {
        if !has_standard_library(platform.target) {
            checked.left_out.push(platform.target);
            continue;
        }
        // Apple's own compiler needs no help to compile for its other processor.
        let needs_zig = !(host.ends_with("-apple-darwin") && platform.is_apple());
        if needs_zig {
            python_packages::install_zig()?;
        }
        for targets in LINTED {
            let compile = clippy(platform, targets);
            let compile = if needs_zig { with_zig(compile, platform) } else { compile };
            println!("$ {compile}");
            compile.run().map_err(|what| (compile, what))?;
        }
        checked.compiled.push(platform.target);
    }
    Ok(checked)
}

fn clippy(platform: &Platform, targets: &str) -> Invocation {
    // Without the features that only the fuzzer's engine needs, which is C++.
    let compile = Invocation::new("cargo clippy").words(targets).words("--target");
    compile.word(platform.target).words("-- -D warnings")
}

/// Has build scripts compile C with Zig, which brings what it needs of every platform. It gets none of the flags that name
/// the platform for other compilers.
fn with_zig(compile: Invocation, platform: &Platform) -> Invocation {
    let directory = repository_root().join("e2e/platforms");
    let program = |name: &str| directory.join(name).to_string_lossy().into_owned();
    compile
        .environment("TARGET_CC", &program("cc"))
        .environment("TARGET_AR", &program("ar"))
        .environment("ZIG_TARGET", platform.c_target)
        .environment("CRATE_CC_NO_DEFAULTS", "1")
}

/// The platform of this machine.
fn host() -> Result<String, (Invocation, String)> {
    let command = Invocation::new("rustc --print host-tuple");
    match command.read() {
        Ok(said) => Ok(String::from_utf8_lossy(&said).trim().to_owned()),
        Err(what) => Err((command, what)),
    }
}

/// Whether the compiler has a standard library for this platform.
fn has_standard_library(target: &str) -> bool {
    let ask = Invocation::new("rustc --print target-libdir --target").word(target);
    let Ok(said) = ask.read() else { return false };
    let directory = String::from_utf8_lossy(&said).trim().to_owned();
    let Ok(entries) = fs::read_dir(Path::new(&directory)) else { return false };
    entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-"))
}

impl std::fmt::Display for Checked {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let compiled = match &*self.compiled {
            [] => "nothing".to_owned(),
            targets => targets.join(", "),
        };
        write!(formatter, "compiled for {compiled}")?;
        match &*self.left_out {
            [] => Ok(()),
            targets => write!(
                formatter,
                "; NOT for {}, whose standard library is not here: `rustup target add {}` installs it",
                targets.join(", "),
                targets.join(" ")
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_compiled_is_named_with_what_to_do() {
        let checked = Checked { compiled: vec!["a"], left_out: vec!["b", "c"] };
        assert_eq!(
            checked.to_string(),
            "compiled for a; NOT for b, c, whose standard library is not here: \
             `rustup target add b c` installs it"
        );
        let all = Checked { compiled: vec!["a", "b"], left_out: Vec::new() };
        assert_eq!(all.to_string(), "compiled for a, b");
        assert!(Checked::default().to_string().starts_with("compiled for nothing"));
    }

    #[test]
    fn this_machine_has_its_own_standard_library_and_none_of_a_platform_that_is_not() {
        let host = host().map_err(|(_, what)| what).unwrap();
        assert!(PLATFORMS.iter().any(|platform| platform.target == host), "{host}");
        assert!(has_standard_library(&host));
        assert!(!has_standard_library("m68k-unknown-none-elf"));
    }
}
