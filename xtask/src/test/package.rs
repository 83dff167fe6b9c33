//! The packages of a release, made from the program that the tests have built, installed with npm into a
//! directory of their own, and started.

use std::fs;
use std::path::Path;

use xtask::{Invocation, packages, target_directory};

use super::real_pi::{is_ci, without_packages};
use super::{Outcome, StepFailure, StepResult};
use crate::package;

/// Checks them where there is npm.
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
    // pi, our peer dependency, is left out. npm needs a project to install into, or it looks for one further up.
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
    // The command in the package must start the program that was packed.
    let said = |program: &Path| {
        let ask = Invocation::new("").word(program.display().to_string()).word("--version");
        ask.read().map_err(|what| failure(format!("`{ask}` {what}")))
    };
    let (packaged, built) =
        (said(&installed.join("node_modules/.bin/pi-subagents"))?, said(&program)?);
    if packaged != built {
        return Err(failure("the package has another version than the program".to_owned()));
    }
    // It is large, and the next run makes it anew.
    fs::remove_dir_all(&top).map_err(|error| failure(error.to_string()))?;
    Ok(Outcome::Passed)
}
