//! The configuration of other programs, changed and restored in a home of its own.

#![expect(clippy::unwrap_used, reason = "this is how a test fails")]

mod fixtures;
mod paths;
mod refusals;
mod repeating;
mod writing;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use pi_subagents_setup::SetupError;
use pi_subagents_setup::clients::{Client, Environment, Outcome, Report, Scope, Setup};
use tempfile::TempDir;

const PROGRAM: &str = "/usr/local/bin/pi-subagents";

/// A home, a project in it, and variables.
struct Home {
    top: TempDir,
    variables: BTreeMap<&'static str, OsString>,
    scope: Scope,
    program: &'static str,
    is_found_by_name: bool,
    is_dry_run: bool,
    is_macos: bool,
}

impl Home {
    fn new() -> Home {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("home/project")).unwrap();
        Home {
            top,
            variables: BTreeMap::new(),
            scope: Scope::User,
            program: PROGRAM,
            is_found_by_name: false,
            is_dry_run: false,
            is_macos: false,
        }
    }

    /// A path below the home directory.
    fn at(&self, path: &str) -> PathBuf {
        self.top.path().join("home").join(path)
    }

    fn with_file(self, path: &str, contents: impl AsRef<[u8]>) -> Home {
        self.write(path, contents);
        self
    }

    fn write(&self, path: &str, contents: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    fn setup(&self, client: &str) -> Setup {
        let variables = self.variables.clone();
        Setup {
            client: Client::named(client).unwrap(),
            scope: self.scope,
            environment: Environment {
                home: Some(self.top.path().join("home")),
                cwd: self.at("project"),
                project: self.at("project"),
                variable: Box::new(move |name| variables.get(name).cloned()),
                is_macos: self.is_macos,
            },
            program: self.program.to_owned(),
            is_found_by_name: self.is_found_by_name,
            is_dry_run: self.is_dry_run,
        }
    }

    #[track_caller]
    fn install(&self, client: &str, expected: Outcome) -> Report {
        let report = self.setup(client).install().unwrap();
        assert_eq!(report.outcome, expected, "{report:?}");
        report
    }

    #[track_caller]
    fn remove(&self, client: &str, expected: Outcome) -> Report {
        let report = self.setup(client).remove().unwrap();
        assert_eq!(report.outcome, expected, "{report:?}");
        report
    }

    /// Everything below the home directory: the bytes of files, the targets of links.
    fn everything(&self) -> BTreeMap<String, Vec<u8>> {
        fn visit(directory: &Path, top: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(top).unwrap().to_str().unwrap().to_owned();
                let kind = path.symlink_metadata().unwrap();
                if kind.is_dir() {
                    found.insert(format!("{name}/"), Vec::new());
                    visit(&path, top, found);
                } else if kind.is_symlink() {
                    let target = fs::read_link(&path).unwrap();
                    found.insert(name, target.into_os_string().into_encoded_bytes());
                } else {
                    found.insert(name, fs::read(&path).unwrap_or_default());
                }
            }
        }
        let mut found = BTreeMap::new();
        visit(&self.at(""), &self.at(""), &mut found);
        found
    }

    /// Checks that neither installing nor removing does anything, and that both give this error.
    #[track_caller]
    fn refuses(&self, client: &str, expected: &str) {
        let before = self.everything();
        for work in [Setup::install, Setup::remove] {
            let error: SetupError = work(&self.setup(client)).unwrap_err();
            let message = error.to_string().replace(self.at("").to_str().unwrap(), "~/");
            assert_eq!(message, expected);
            assert!(error.is_refusal(), "{error:?}");
            assert_eq!(self.everything(), before);
        }
    }
}
