//! Packages of the system that a step needs.
//!
//! On Debian and its derivatives they are installed, if we are root; elsewhere they must be there already.
//! Without one, its step is reported as not run, except in continuous integration, where it fails.

use xtask::Invocation;

use super::real_pi::is_ci;
use super::{Outcome, StepFailure, StepResult};

/// A package that is missing and could not be installed.
#[derive(Debug)]
pub(super) struct Missing {
    package: String,
    install: Invocation,
    /// How the attempt to install it failed.
    what: String,
}

/// Installs a package, unless the probe shows that it is there.
pub(super) fn provide(package: &str, probe: &str) -> Result<(), Missing> {
    if Invocation::new(probe).probe().is_ok() {
        return Ok(());
    }
    // A step that runs beside this one may be installing, too.
    let install = Invocation::new("apt-get install --yes --no-install-recommends")
        .words("--option DPkg::Lock::Timeout=300")
        .word(package)
        .environment("DEBIAN_FRONTEND", "noninteractive");
    println!("$ {install}");
    // Images often have no list of packages, or an old one.
    install
        .run()
        .or_else(|_| {
            let update = Invocation::new("apt-get update");
            println!("$ {update}");
            update.run().and_then(|()| install.run())
        })
        .map_err(|what| Missing { package: package.to_owned(), install, what })
}

impl Missing {
    /// The result of the step that needs it.
    pub(super) fn report(&self) -> StepResult {
        self.report_in(is_ci())
    }

    fn report_in(&self, is_ci: bool) -> StepResult {
        let Missing { package, install, what } = self;
        if is_ci {
            return Err(StepFailure::of(install, what));
        }
        let reason = format!("{package} is not installed, and could not be: `{install}` {what}");
        println!("The tests with {package} are NOT RUN:");
        println!("{reason}");
        Ok(Outcome::NotRun(reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_package_only_continuous_integration_fails() {
        let missing = |what: &str| Missing {
            package: "tmux".to_owned(),
            install: Invocation::new("apt-get install tmux"),
            what: what.to_owned(),
        };
        assert_eq!(
            missing("ended with exit status: 100").report_in(false),
            Ok(Outcome::NotRun(
                "tmux is not installed, and could not be: `apt-get install tmux` ended with exit \
                 status: 100"
                    .to_owned()
            ))
        );
        let failure = missing("could not be started").report_in(true).unwrap_err();
        assert_eq!(failure.repeat, "apt-get install tmux");
    }
}
