//! What an agent does in a worktree, and whether all of it was kept.

use super::*;

/// What an agent does, one after the other: everything that git treats in its own way.
pub(super) const WORK: [&str; 20] = [
    "echo precious > made.txt",
    "echo changed >> a.txt",
    "rm b.txt",
    "mkdir -p deep/er && echo deep > deep/er/file",
    "printf 'bytes\\000\\377\\n' > binary",
    "chmod +x a.txt",
    "ln -s a.txt link",
    "git add made.txt",
    "git commit -qm One",
    "mv made.txt moved.txt",
    "git add --all",
    "echo later >> moved.txt",
    "git checkout -qb branch",
    "git commit -qm Two",
    "echo ignored > x.log",
    "touch $(git rev-parse --git-path index.lock)",
    "echo 'quoted' > 'a name with \"quotes\" and blanks'",
    "ln -sf nowhere link",
    "rm -r deep && echo file > deep",
    "head -c 300000 /dev/urandom > large",
];

/// The names, modes, contents and ends of links of everything that is not ignored.
const LIST: &str = "find . -path ./.git -prune -o ! -type d ! -name '*.log' -print | LC_ALL=C sort | \
    while read -r file; do if [ -L \"$file\" ]; then echo \"$file -> $(readlink \"$file\")\"; \
    else echo \"$file $(stat -c %A \"$file\") $(sha256sum < \"$file\")\"; fi; done";

/// The agent's git has a name, runs no hook of the user, and is not one of ours that a test has replaced.
const SETTINGS: &str = "export PATH=/usr/bin:/bin GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=A \
    GIT_COMMITTER_EMAIL=a GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=/dev/null";

/// A command that does this work, and then lists in a file what there is.
pub(super) fn command(work: &[&str], manifest: &Path) -> String {
    let (work, manifest) = (work.join(" && "), manifest.display());
    format!("{SETTINGS}; {work} && {LIST} > {manifest}.part && mv {manifest}.part {manifest}")
}

/// All of it but for the lock, which would stay where the directory does.
pub(super) fn without_lock() -> Vec<&'static str> {
    WORK.into_iter().filter(|step| !step.contains("index.lock")).collect()
}

/// What a ref has, in the words of the manifest; nothing if there is no such ref.
pub(super) fn in_ref(world: &World, reference: &str) -> String {
    let copy = tempfile::tempdir().unwrap();
    let archive = "/usr/bin/git -c tar.umask=user archive \"$0\" | tar -x -C \"$1\"";
    let mut shell = world.command_of("sh");
    let copied = shell.args(["-c", archive, reference]).arg(copy.path()).output().unwrap();
    if !copied.status.success() {
        return String::new();
    }
    in_directory(world, copy.path())
}

/// What a directory has; nothing if it is not there.
pub(super) fn in_directory(world: &World, directory: &Path) -> String {
    if !directory.exists() {
        return String::new();
    }
    let mut shell = world.command_of("sh");
    let listed = shell.current_dir(directory).args(["-c", LIST]).output().unwrap();
    String::from_utf8_lossy(&listed.stdout).into_owned()
}

/// Removes the branch of the agent, which is its own.
pub(super) fn remove_branch(world: &World) {
    git(world, &["-c", "core.hooksPath=/dev/null", "update-ref", "-d", "refs/heads/branch"]);
}
