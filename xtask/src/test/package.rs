//! What is given out, made from the program that the tests have built, installed with npm into a
//! directory of its own, and started.

use std::fs;
use std::path::Path;

use xtask::{Invocation, packages, target_directory};

use super::real_pi::{is_ci, without_packages};
use super::{Outcome, StepFailure, StepResult};
use crate::package;

/// Checks it where there is npm.
pub(super) fn run() -> StepResult {
    if let Err((install, what)) = packages::install() {
        return without_packages("The packages", "pi", &install, &what, is_ci());
    }
    let build = Invocation::new("cargo build --package pi-subagents");
    super::execute(&build)?;
    let top = target_directory().join("package-test");
    let failure =
        |reason: String| StepFailure { reason, repeat: "cargo xtask test package".to_owned() };
    let program = target_directory().join("debug/pi-subagents");
    let files = package::make(&program, &top).map_err(failure)?;
    let installed = top.join("installed");
    // Our peer is pi, which is left out here. A package needs a project to be installed into, or npm looks for one further up.
    fs::create_dir_all(&installed)
        .and_then(|()| fs::write(installed.join("package.json"), "{}"))
        .map_err(|error| failure(error.to_string()))?;
    let mut install = Invocation::new(
        "npm install --offline --legacy-peer-deps --no-audit --no-fund --silent --prefix",
    )
    .word(installed.display().to_string());
    for file in files.iter().filter(|file| file.extension().is_some_and(|kind| kind == "tgz")) {
        install = install.word(file.display().to_string());
    }
    super::execute(&install)?;
    // The command of the package becomes the very program.
    let said = |program: &Path| {
        let ask = Invocation::new("").word(program.display().to_string()).word("--version");
        ask.read().map_err(|what| failure(format!("`{ask}` {what}")))
    };
    let (packaged, built) =
        (said(&installed.join("node_modules/.bin/pi-subagents"))?, said(&program)?);
    if packaged != built {
        return Err(failure("the package has another version than the program".to_owned()));
    }
    // It is large, and says nothing that making it anew would not.
    fs::remove_dir_all(&top).map_err(|error| failure(error.to_string()))?;
    Ok(Outcome::Passed)
}
