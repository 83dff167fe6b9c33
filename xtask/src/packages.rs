//! The npm packages in `e2e`: the real pi, the Node that it needs, the peers that are measured, the
//! compiler that checks our extension, and clients of the Model Context Protocol.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::invocation::{Invocation, repository_root};

/// Installs them, pinned, into a directory that Git ignores, unless they are there. An error comes with the
/// command that failed.
pub fn install() -> Result<(), (Invocation, String)> {
    install_in("e2e")
}

/// Installs the packages that only benchmarks need.
pub fn install_peers() -> Result<(), (Invocation, String)> {
    install_in("e2e/peers")
}

/// Installs the coding agents that are tested as clients: 400 MB to load, and 1 GB on the disk. Their programs are in the
/// packages, so that no script of theirs has to run.
pub fn install_clients() -> Result<(), (Invocation, String)> {
    let directory = "e2e/clients";
    if !are_installed(&repository_root().join(directory)) {
        println!(
            "Claude Code, Codex and opencode are installed into {directory}: 400 MB to load, 1 GB on the disk."
        );
    }
    install_with(directory, "npm ci --ignore-scripts --no-audit --no-fund")
}

/// Unpacks the newest pi, of which not every dependency can be installed.
pub fn install_newest_pi() -> Result<(), (Invocation, String)> {
    install_with("e2e/newest", "sh install.sh")
}

/// Installs the agents that speak the Agent Client Protocol: 210 MB to load, and 470 MB on the disk.
pub fn install_agents() -> Result<(), (Invocation, String)> {
    let directory = "e2e/agents";
    if !are_installed(&repository_root().join(directory)) {
        println!(
            "Gemini CLI, opencode and GitHub Copilot are installed into {directory}: 210 MB to load, 470 MB on the disk."
        );
    }
    install_with(directory, "npm ci --ignore-scripts --no-audit --no-fund")
}

/// Installs what drives a browser.
pub fn install_browser() -> Result<(), (Invocation, String)> {
    install_in("e2e/browser")
}

fn install_in(directory: &'static str) -> Result<(), (Invocation, String)> {
    install_with(directory, "npm ci --no-audit --no-fund")
}

fn install_with(directory: &'static str, command: &str) -> Result<(), (Invocation, String)> {
    let install = Invocation::new(command).directory(directory);
    if are_installed(&repository_root().join(directory)) {
        return Ok(());
    }
    println!("$ {install}");
    install.run().map_err(|error| (install, error))
}

/// Whether every package is there in the version that is asked for.
fn are_installed(e2e: &Path) -> bool {
    let wanted = read_json(&e2e.join("package.json"));
    let mut wanted = wanted["dependencies"].as_object().into_iter().flatten();
    wanted.all(|(name, version)| {
        let package = e2e.join("node_modules").join(name).join("package.json");
        read_json(&package)["version"] == *version
    })
}

/// The document in the file, or `null` if there is none.
fn read_json(path: &Path) -> Value {
    let text = fs::read(path).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_of_another_version_is_not_installed() {
        let top =
            std::env::temp_dir().join(format!("pi-subagents-packages-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = top.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("package.json", r#"{"dependencies": {"@a/b": "1.0.0", "c": "2.0.0"}}"#);
        write("node_modules/@a/b/package.json", r#"{"version": "1.0.0"}"#);
        assert!(!are_installed(&top), "one is missing");
        write("node_modules/c/package.json", r#"{"version": "2.0.1"}"#);
        assert!(!are_installed(&top), "one is newer");
        write("node_modules/c/package.json", r#"{"version": "2.0.0"}"#);
        assert!(are_installed(&top));
        fs::remove_dir_all(top).unwrap();
    }
}
