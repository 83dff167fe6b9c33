//! Files that a test prepares.

#![expect(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    reason = "this is how a test fails"
)]

use std::env::consts::{ARCH, OS};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::clean_start::clean_command;

/// Writes a file, and makes the directories above it.
pub fn write_file(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Writes a script that can be run, and makes the directories above it.
///
/// Another process writes it: if this one did, a program that another test starts meanwhile could hold the
/// file open for a moment longer, and running it would fail because it is busy.
pub fn write_program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut shell = clean_command("/bin/sh");
    shell.args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"]).arg(path);
    let mut writer = shell.stdin(Stdio::piped()).spawn().unwrap();
    writer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success(), "{} was not written", path.display());
}

/// Where `cargo xtask test` has installed what comes from npm and from Python's index.
pub fn e2e() -> PathBuf {
    let directory = std::env::var_os("PI_SUBAGENTS_TEST_E2E");
    directory.expect("run these tests with `cargo xtask test`").into()
}

/// Whether the tests with the real pi use the newest one, and not the one that is pinned for all of them.
pub fn is_newest_pi() -> bool {
    std::env::var_os("PI_SUBAGENTS_TEST_NEWEST_PI").is_some()
}

/// The directory of the real pi, and a `PATH` with it and its Node.
pub fn pi_programs() -> (PathBuf, String) {
    let pinned = e2e().join("node_modules/.bin");
    let path = format!("{}:/usr/bin:/bin", pinned.display());
    if is_newest_pi() {
        let newest = e2e().join("newest/node_modules/.bin");
        let path = format!("{}:{path}", newest.display());
        (newest, path)
    } else {
        (pinned, path)
    }
}

/// A coding agent of another maker: a program within a package of this platform, as Node names it. `{}` stands for
/// `linux-x64` and the like. The launcher in front of it would need Node, or the scripts that npm runs when it
/// installs a package.
pub fn client(path: &str) -> PathBuf {
    let system = if OS == "macos" { "darwin" } else { OS };
    let processor = match ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    let modules = e2e().join("clients/node_modules");
    let program = modules.join(path.replace("{}", &format!("{system}-{processor}")));
    assert!(program.is_file(), "npm has not installed {}", program.display());
    program
}
