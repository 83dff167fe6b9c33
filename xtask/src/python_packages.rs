//! The Python packages in `e2e/requirements.txt`: a client of the Model Context Protocol.

use std::fs;
use std::path::Path;

use xtask::{Invocation, repository_root};

/// Where they are installed, below `e2e`. Git ignores it.
const ENVIRONMENT: &str = ".venv";
const REQUIREMENTS: &str = "requirements.txt";

/// Installs them, each file checked by its hash, unless they are there. An error comes with the command that
/// failed.
pub(crate) fn install() -> Result<(), (Invocation, String)> {
    let e2e = repository_root().join("e2e");
    if are_installed(&e2e) {
        return Ok(());
    }
    for line in [
        "python3 -m venv --clear .venv",
        ".venv/bin/python -m pip install --quiet --no-deps --require-hashes \
         --disable-pip-version-check --requirement requirements.txt",
    ] {
        let invocation = Invocation::new(line).directory("e2e");
        println!("$ {invocation}");
        invocation.run().map_err(|what| (invocation, what))?;
    }
    // This file says what was installed, so it is written last.
    let copied = fs::copy(e2e.join(REQUIREMENTS), e2e.join(ENVIRONMENT).join(REQUIREMENTS));
    copied.map(drop).map_err(|error| {
        let copy = Invocation::new("cp requirements.txt .venv").directory("e2e");
        (copy, format!("failed: {error}"))
    })
}

/// Whether they were installed from this list, and the Python that they were installed for still exists.
fn are_installed(e2e: &Path) -> bool {
    let environment = e2e.join(ENVIRONMENT);
    let wanted = fs::read(e2e.join(REQUIREMENTS)).ok();
    wanted.is_some()
        && wanted == fs::read(environment.join(REQUIREMENTS)).ok()
        && environment.join("bin/python").exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_list_is_not_installed() {
        let top = std::env::temp_dir().join(format!("pi-subagents-python-{}", std::process::id()));
        fs::create_dir_all(top.join(".venv/bin")).unwrap();
        assert!(!are_installed(&top), "nothing is known");
        fs::write(top.join(REQUIREMENTS), "mcp==2").unwrap();
        fs::write(top.join(".venv/bin/python"), "").unwrap();
        assert!(!are_installed(&top), "nothing was installed to its end");
        fs::write(top.join(".venv").join(REQUIREMENTS), "mcp==1").unwrap();
        assert!(!are_installed(&top), "something else was");
        fs::write(top.join(".venv").join(REQUIREMENTS), "mcp==2").unwrap();
        assert!(are_installed(&top));
        fs::remove_file(top.join(".venv/bin/python")).unwrap();
        assert!(!are_installed(&top), "there is no Python");
        fs::remove_dir_all(top).unwrap();
    }
}
