//! What of a user's repository must stay as it is. `confined.rs` has it, too, as another program.

use std::fs;
use std::path::Path;

use test_support::World;

/// Runs the user's own git, which must succeed.
pub(crate) fn git_in(world: &World, directory: &Path, arguments: &[&str]) -> String {
    let output = world.command_of("git").current_dir(directory).args(arguments).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {stderr}");
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// Everything of the user's that must stay as it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Untouched {
    head: String,
    refs: String,
    stash: String,
    pub(crate) status: String,
    pub(crate) index: Vec<u8>,
    config: Vec<u8>,
    files: Vec<(String, Vec<u8>)>,
}

impl Untouched {
    pub(crate) fn of(world: &World) -> Untouched {
        let project = world.project();
        let index = fs::read(project.join(".git/index")).unwrap_or_default();
        Untouched { index, ..Untouched::but_for_times(world, &project) }
    }

    /// The same of another copy of the repository, whose index has the times of other files. What it says of their
    /// contents counts.
    pub(crate) fn but_for_times(world: &World, project: &Path) -> Untouched {
        let git = |arguments: &[&str]| git_in(world, project, arguments);
        let refs = git(&["for-each-ref"]);
        let refs: Vec<&str> =
            refs.lines().filter(|line| !line.contains("/pi-subagents/")).collect();
        let names = git(&["ls-files", "--cached", "--others", "--exclude-standard"]);
        let files = names
            .lines()
            .map(|name| (name.to_owned(), fs::read(project.join(name)).unwrap_or_default()));
        Untouched {
            head: fs::read_to_string(project.join(".git/HEAD")).unwrap(),
            refs: refs.join("\n"),
            stash: git(&["stash", "list"]),
            status: git(&["--no-optional-locks", "status", "--porcelain"]),
            index: git(&["ls-files", "--stage"]).into_bytes(),
            config: fs::read(project.join(".git/config")).unwrap(),
            files: files.collect(),
        }
    }
}
