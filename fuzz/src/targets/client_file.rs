//! The configuration of clients, into which `setup` puts one entry and takes it out again.

use std::fs;
use std::path::Path;

use setup::SetupError;
use setup::clients::{CLIENTS, Environment, Outcome, Report, Scope, Setup};

use crate::assertions::assert_clean;
use crate::scratch::Scratch;

thread_local! {
    static SCRATCH: Scratch = Scratch::new();
}

/// The first byte chooses the client, the rest is its file.
pub(super) fn check(data: &[u8]) {
    if let Some((choice, data)) = data.split_first() {
        let client = &CLIENTS[usize::from(*choice) % CLIENTS.len()];
        SCRATCH.with(|scratch| {
            let home = scratch.path().join("home");
            let _ = fs::remove_dir_all(&home);
            let setup = Setup {
                client,
                scope: Scope::User,
                environment: Environment {
                    home: Some(home.clone()),
                    cwd: home.clone(),
                    project: home.join("project"),
                    variable: Box::new(|_| None),
                    is_macos: false,
                },
                program: "/opt/pi-subagents".to_owned(),
                is_found_by_name: false,
                is_dry_run: false,
            };
            check_file(scratch, &setup, data);
        });
    }
}

fn check_file(scratch: &Scratch, setup: &Setup, data: &[u8]) {
    let Ok(path) = setup.path() else { return };
    let name = path.strip_prefix(scratch.path()).unwrap_or(&path).to_string_lossy().into_owned();
    scratch.write(&name, data);
    let Some(report) = changed_or_not(setup.install(), &path, data) else { return };
    assert_eq!(report.path, path, "another file was changed");
    let installed = fs::read(&path).unwrap_or_default();
    let again = setup.install();
    assert!(again.is_ok_and(|again| again.outcome == Outcome::Unchanged), "it is not repeatable");
    assert_eq!(fs::read(&path).unwrap_or_default(), installed);
    let removed = changed_or_not(setup.remove(), &path, &installed);
    if report.outcome == Outcome::Added {
        assert_eq!(removed.map(|removed| removed.outcome), Some(Outcome::Restored));
        assert_eq!(fs::read(&path).unwrap_or_default(), data, "it is not what it was before");
    }
}

/// Checks that a refusal has changed nothing.
fn changed_or_not(done: Result<Report, SetupError>, path: &Path, before: &[u8]) -> Option<Report> {
    if let Err(error) = &done {
        assert_clean("an error", &error.to_string().replace('\r', ""));
        assert_eq!(fs::read(path).unwrap_or_default(), before, "{error}, and a file was changed");
    }
    done.ok()
}
