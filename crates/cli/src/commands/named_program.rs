//! The program that the name `pi-subagents` leads to: another project has published one of the same name.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use process::Exit;
use serde::Serialize;
use serde_json::Value;

use crate::arguments::NAME;

/// The npm package with our command.
const PACKAGE: &str = "@pi-subagents/cli";

/// Far more than any manifest has.
const MAX_MANIFEST_BYTES: u64 = 256 * 1024;

/// A program that says its version takes a few milliseconds.
const VERSION_TIMEOUT: Duration = Duration::from_secs(2);
const MAX_VERSION_BYTES: usize = 1024;

/// What a shell starts by the name of this program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub(crate) enum NamedProgram {
    Missing,
    /// The program that runs now.
    This,
    /// A program of this project in another file. Its version is that of its package, or what it says.
    Ours {
        path: PathBuf,
        version: String,
    },
    /// A program of another project, and its npm package if it belongs to one.
    Other {
        path: PathBuf,
        package: Option<String>,
    },
}

impl NamedProgram {
    /// Looks the name up in these directories. The command of an npm package is only read. Any other program is asked
    /// for its version, for a short time.
    pub(crate) fn find(
        own_file: &Path,
        search_path: impl IntoIterator<Item = PathBuf>,
    ) -> NamedProgram {
        let mut files = search_path.into_iter().map(|directory| directory.join(NAME));
        let Some(path) = files.find(|path| path.is_file()) else { return NamedProgram::Missing };
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        if own_file.canonicalize().is_ok_and(|own| own == real) {
            return NamedProgram::This;
        }
        match package_of(&real) {
            Some((name, version)) if name == PACKAGE => NamedProgram::Ours { path, version },
            Some((name, version)) => {
                NamedProgram::Other { path, package: Some(format!("{name} {version}")) }
            }
            None => match said_version(&path) {
                Some(version) => NamedProgram::Ours { path, version },
                None => NamedProgram::Other { path, package: None },
            },
        }
    }

    /// Whether the name leads to this program, in whatever file.
    pub(crate) fn is_ours(&self) -> bool {
        matches!(self, NamedProgram::This | NamedProgram::Ours { .. })
    }
}

/// A program of another project, in words.
impl fmt::Display for NamedProgram {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NamedProgram::Other { path, package } = self else { return Ok(()) };
        write!(
            formatter,
            "{NAME} on your PATH is the program of another project: {}",
            path.display()
        )?;
        match package {
            Some(package) => write!(formatter, " (npm package {package})"),
            None => Ok(()),
        }
    }
}

/// The name and version of the npm package whose command a file is, according to the next manifest above it.
fn package_of(file: &Path) -> Option<(String, String)> {
    let manifests = file.ancestors().skip(1).map(|directory| directory.join("package.json"));
    let manifest = manifests.into_iter().find(|path| path.is_file())?;
    let mut text = Vec::new();
    File::open(manifest).ok()?.take(MAX_MANIFEST_BYTES).read_to_end(&mut text).ok()?;
    let manifest: Value = serde_json::from_slice(&text).ok()?;
    manifest["bin"].get(NAME)?;
    let field = |name: &str| manifest[name].as_str().map(str::to_owned);
    Some((field("name")?, field("version").unwrap_or_default()))
}

/// The version that a program gives, if it does so as this one does.
fn said_version(program: &Path) -> Option<String> {
    let arguments = ["--version"];
    let output =
        process::command_output(program.to_str()?, &arguments, VERSION_TIMEOUT, MAX_VERSION_BYTES);
    let output = output.ok().filter(|output| output.exit == Exit::Code(0))?;
    let said = String::from_utf8(output.stdout).ok()?;
    let version = said.strip_prefix(NAME)?.strip_prefix(' ')?.trim_end();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    version.split('.').all(is_number).then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// Writes a program, and returns its path.
    fn program(path: &Path, text: &str) -> PathBuf {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_owned()
    }

    #[test]
    fn the_name_can_lead_anywhere() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path();
        let own = program(&top.join("own/pi-subagents"), "\x7fELF");
        let find =
            |directory: &str| NamedProgram::find(&own, [top.join("no"), top.join(directory)]);
        assert_eq!(find("none"), NamedProgram::Missing);
        assert_eq!(find("own"), NamedProgram::This);

        fs::create_dir(top.join("linked")).unwrap();
        symlink(&own, top.join("linked/pi-subagents")).unwrap();
        assert_eq!(find("linked"), NamedProgram::This);

        // What looks like a program of the system cannot be started here, so that it says nothing.
        let path = program(&top.join("binary/pi-subagents"), "\x7fELF, but not one of ours");
        assert_eq!(find("binary"), NamedProgram::Other { path, package: None });
    }

    #[test]
    fn the_command_of_a_package_is_read_and_not_run() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path();
        let own = program(&top.join("own/pi-subagents"), "\x7fELF");
        let ran = |name: &str| top.join(name).join("ran");
        let cases = [
            (
                "theirs",
                r#"{"name": "pi-subagents", "version": "0.67.0", "bin": {"pi-subagents": "x"}}"#,
            ),
            (
                "ours",
                r#"{"name": "@pi-subagents/cli", "version": "1.2.3", "bin": {"pi-subagents": "x"}}"#,
            ),
            // A script of the user in a directory that happens to be a package.
            ("wrapper", r#"{"name": "dotfiles"}"#),
            ("broken", "{"),
        ];
        let found = cases.map(|(name, manifest)| {
            let path = top.join(name).join("package/install.mjs");
            let script =
                format!("#!/bin/sh\ntouch {}\necho pi-subagents 4.5.6\n", ran(name).display());
            let file = program(&path, &script);
            fs::write(file.with_file_name("package.json"), manifest).unwrap();
            let bin = top.join(name).join("bin");
            fs::create_dir(&bin).unwrap();
            symlink(&file, bin.join(NAME)).unwrap();
            NamedProgram::find(&own, [bin])
        });
        let path = |name: &str| top.join(name).join("bin/pi-subagents");
        let ours = |name: &str, version: &str| NamedProgram::Ours {
            path: path(name),
            version: version.to_owned(),
        };
        let package = Some("pi-subagents 0.67.0".to_owned());
        let theirs = NamedProgram::Other { path: path("theirs"), package };
        let expected =
            [theirs, ours("ours", "1.2.3"), ours("wrapper", "4.5.6"), ours("broken", "4.5.6")];
        assert_eq!(found, expected);
        assert_eq!(found.map(|found| found.is_ours()), [false, true, true, true]);
        let ran = ["theirs", "ours", "wrapper", "broken"].map(|name| ran(name).exists());
        assert_eq!(ran, [false, false, true, true]);
    }
}
