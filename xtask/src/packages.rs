//! The npm packages in `e2e`: the real pi, the Node that it needs, and the peers we measure against.

use crate::invocation::{Invocation, repository_root};

/// Installs them, pinned, into a folder that git ignores, unless they are there. What could not be
/// done is told together with its command.
pub(crate) fn install() -> Result<(), (Invocation, String)> {
    let install = Invocation::new("npm ci --no-audit --no-fund").directory("e2e");
    let programs = repository_root().join("e2e/node_modules/.bin");
    if programs.join("pi").exists() && programs.join("node").exists() {
        return Ok(());
    }
    println!("$ {install}");
    install.run().map_err(|error| (install, error))
}
