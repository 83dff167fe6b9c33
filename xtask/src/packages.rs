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

fn install_in(directory: &'static str) -> Result<(), (Invocation, String)> {
    let install = Invocation::new("npm ci --no-audit --no-fund").directory(directory);
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
