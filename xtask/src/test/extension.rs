//! The types of the extension for pi, checked against those of the pinned pi and of the newest.
//!
//! pi runs TypeScript without checking its types, so a user would be the first to meet a mistake. The compiler
//! is one of the npm packages, like pi and its Node.

use xtask::{Invocation, packages};

use super::StepResult;
use super::real_pi::{is_ci, without_packages};

/// Checks them where pi can be installed.
pub(super) fn run() -> StepResult {
    if let Err((install, what)) = packages::install() {
        return without_packages("The checks of the extension", "pi", &install, &what, is_ci());
    }
    let check = Invocation::new("node_modules/.bin/node node_modules/typescript/bin/tsc --project");
    let check = check.directory("e2e");
    super::execute(&check.clone().word("../extension"))?;
    if let Err((install, what)) = packages::install_newest_pi() {
        return without_packages("The checks with the newest pi", "it", &install, &what, is_ci());
    }
    super::execute(&check.word("newest"))
}
