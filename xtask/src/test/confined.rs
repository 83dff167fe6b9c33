//! The tests that need mounts of their own: `crates/cli/tests/confined.rs`.
//!
//! They run as root of a fresh user namespace, in a fresh mount namespace, so that what they mount
//! is seen by nobody else and is gone with them. Not every machine permits that (containers and
//! hardened kernels often do not); there, the step is reported as not run.

use serde_json::Value;

use super::{Outcome, StepFailure, StepResult};
use crate::invocation::Invocation;
use crate::namespace;

/// The name of the test target.
const TARGET: &str = "confined";

/// Builds the tests on every machine, and runs them where that is possible.
pub(super) fn run() -> StepResult {
    // Cargo shows the compiler's messages itself, instead of hiding them in the JSON.
    let build = Invocation::new(
        "cargo test --package pi-subagents --test confined --no-run \
         --message-format=json-render-diagnostics",
    );
    println!("$ {build}");
    let executable = build
        .read()
        .and_then(|messages| executable(&String::from_utf8_lossy(&messages)))
        .map_err(|what| StepFailure::of(&build, &what))?;
    let entrance = match namespace::find_entrance() {
        Ok(entrance) => entrance,
        Err(reason) => {
            println!("The confined tests are NOT RUN, because this machine permits no mounts:");
            println!("{reason}");
            return Ok(Outcome::NotRun(reason));
        }
    };
    // As Cargo does, in the directory of the package. One test at a time: they share the mounts.
    super::execute(
        &Invocation::new(entrance)
            .word(executable)
            .words("--test-threads=1")
            .directory("crates/cli"),
    )
}

/// The path of the built test program, according to Cargo's messages.
fn executable(messages: &str) -> Result<String, String> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| {
            message["reason"] == "compiler-artifact" && message["target"]["name"] == TARGET
        })
        .find_map(|message| message["executable"].as_str().map(str::to_owned))
        .ok_or_else(|| format!("named no executable of the test target `{TARGET}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_executable_among_the_messages() {
        let messages = r#"
            {"reason":"compiler-artifact","target":{"name":"pi-subagents"},"executable":"/a"}
            {"reason":"compiler-artifact","target":{"name":"confined"},"executable":null}
            not JSON
            {"reason":"compiler-artifact","target":{"name":"confined"},"executable":"/b"}
            {"reason":"build-finished","success":true}"#;
        assert_eq!(executable(messages), Ok("/b".to_owned()));
        assert!(executable("{}").unwrap_err().contains("`confined`"));
    }
}
