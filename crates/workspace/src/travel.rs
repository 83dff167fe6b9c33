//! Files that travel to another machine and back, as bundles of git.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use process::OutputError;

use crate::change::diff_of;
use crate::git::Git;
use crate::layout::reference;
use crate::repository::Repository;
use crate::{GitError, WorkspaceError, snapshot};

/// The largest directory without a repository that travels.
const DIRECTORY_BYTES: u64 = 64 * 1024 * 1024;
/// The most files of such a directory.
const DIRECTORY_FILES: usize = 10_000;
/// What the files of a repository may have together when they are unpacked here.
const SNAPSHOT_EXTENT: Extent = Extent { bytes: 16 << 30, files: 2_000_000 };
/// How much more a result may have than what its agent started from.
const RESULT_EXTENT: Extent = Extent { bytes: 1 << 30, files: 100_000 };

/// What an agent on another machine starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The commit of the files.
    pub commit: String,
    /// The directory of the task below the root, with `/` between its parts.
    pub prefix: String,
}

/// What a worktree of ours starts from: the commit that is checked out there.
pub fn departure_of_worktree(directory: &Path) -> Result<Departure, WorkspaceError> {
    let repository = Repository::find(directory)?;
    let commit = repository.head()?.ok_or(WorkspaceError::NothingToSend)?;
    let prefix = repository.prefix.to_string_lossy().trim_matches('/').to_owned();
    Ok(Departure { commit, prefix })
}

/// Writes the commit that is checked out in a worktree, with its history, as a bundle.
pub fn pack_worktree(directory: &Path, bundle: &Path) -> Result<(), WorkspaceError> {
    let repository = Repository::find(directory)?;
    pack(&repository.git(&|| false), bundle, &["HEAD"])
}

/// Writes the files of a directory as a bundle, without those that it ignores, and without a history. `scratch` is a directory that does not exist yet.
pub fn pack_directory(
    directory: &Path,
    scratch: &Path,
    bundle: &Path,
) -> Result<Departure, WorkspaceError> {
    let is_repository = directory.join(".git").exists();
    if !is_repository {
        measure(directory)?;
    }
    init(scratch, true)?;
    let git = Git::at(directory, &|| false).within(scratch, directory);
    let commit = snapshot::commit(&git)?.commit;
    git.run(&["update-ref", "--no-deref", "refs/heads/snapshot", &commit])?;
    pack(&git, bundle, &["refs/heads/snapshot"])?;
    // What a repository ignores does not count, so that it is known only now how much it is.
    let packed = fs::metadata(bundle).map_err(WorkspaceError::file("read", bundle))?;
    if packed.len() > DIRECTORY_BYTES {
        return Err(WorkspaceError::TooLargeToTravel(directory.to_owned()));
    }
    Ok(Departure { commit, prefix: String::new() })
}

/// Makes a repository of what another machine has packed, from which worktrees can be made: by the name of the commit, as
/// if it were the result of a run.
pub fn receive_snapshot(
    repository: &Path,
    bundle: &Path,
    commit: &str,
) -> Result<(), WorkspaceError> {
    init(repository, false)?;
    let git = Git::at(repository, &|| false).within(&repository.join(".git"), repository);
    receive(&git, bundle, commit, SNAPSHOT_EXTENT)?;
    for which in ["base", "result"] {
        git.run(&["update-ref", "--no-deref", &reference(commit, which), commit])?;
    }
    Ok(())
}

/// Writes what a run has left as a bundle for a machine that has the commit from which it started. Returns the commit of the
/// result; none if nothing was changed.
pub fn pack_result(
    directory: &Path,
    run: &str,
    start: &str,
    bundle: &Path,
) -> Result<Option<String>, WorkspaceError> {
    let repository = Repository::find(directory)?;
    let git = repository.git(&|| false);
    let result = reference(run, "result");
    let Some(commit) = git.resolve(&format!("{result}^{{commit}}"))? else { return Ok(None) };
    if commit == start {
        return Ok(None);
    }
    pack(&git, bundle, &[&result, &format!("^{start}")])?;
    Ok(Some(commit))
}

/// Brings what a machine has packed into a worktree of ours, which then has the files of that commit. If it is refused, neither
/// the worktree nor its repository has anything of it.
pub fn receive_result(directory: &Path, bundle: &Path, commit: &str) -> Result<(), WorkspaceError> {
    let repository = Repository::find(directory)?;
    let git = repository.git(&|| false);
    let start = repository.head()?.ok_or(WorkspaceError::NothingToSend)?;
    receive_change(&git, bundle, &start, commit, RESULT_EXTENT)?;
    Ok(git.run(&["reset", "--quiet", "--hard", "--no-recurse-submodules", commit])?)
}

/// Takes what a machine has packed into a repository that [`receive_snapshot`] has made, and returns it as git prints what
/// was changed.
pub fn receive_patch(
    repository: &Path,
    bundle: &Path,
    start: &str,
    commit: &str,
) -> Result<Vec<u8>, WorkspaceError> {
    let git = Git::at(repository, &|| false).within(&repository.join(".git"), repository);
    receive_change(&git, bundle, start, commit, RESULT_EXTENT)?;
    Ok(diff_of(&git, start, commit)?)
}

fn init(directory: &Path, is_bare: bool) -> Result<(), WorkspaceError> {
    fs::create_dir_all(directory).map_err(WorkspaceError::file("made", directory))?;
    let mut args = vec!["init", "--quiet", "--template=", "--initial-branch=main"];
    if is_bare {
        args.push("--bare");
    }
    args.push(".");
    Ok(Git::at(directory, &|| false).run(&args)?)
}

fn pack(git: &Git<'_>, bundle: &Path, what: &[&str]) -> Result<(), WorkspaceError> {
    let mut args: Vec<&OsStr> = ["bundle", "create", "--quiet"].map(OsStr::new).to_vec();
    args.push(bundle.as_os_str());
    args.extend(what.iter().map(OsStr::new));
    Ok(git.run(&args)?)
}

/// How much files have together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Extent {
    bytes: u64,
    files: u64,
}

impl Extent {
    fn plus(self, other: Extent) -> Extent {
        Extent {
            bytes: self.bytes.saturating_add(other.bytes),
            files: self.files.saturating_add(other.files),
        }
    }

    fn exceeds(self, limit: Extent) -> bool {
        self.bytes > limit.bytes || self.files > limit.files
    }
}

/// Takes in what an agent has made of a commit. It is looked at in a directory of its own first, so that the repository gets
/// nothing of what is refused.
fn receive_change(
    git: &Git<'_>,
    bundle: &Path,
    start: &str,
    commit: &str,
    growth: Extent,
) -> Result<(), WorkspaceError> {
    let limit = extent(git, start, &mut |_| Ok(()))?.plus(growth);
    let aside = Aside::new(git)?;
    receive(&aside.git(git), bundle, commit, limit)?;
    unbundle(git, bundle).map(drop)
}

/// Objects that are looked at before they belong to a repository.
struct Aside {
    directory: PathBuf,
    objects: PathBuf,
}

impl Aside {
    fn new(git: &Git<'_>) -> Result<Aside, WorkspaceError> {
        let objects =
            git.text(&["rev-parse", "--path-format=absolute", "--git-path", "objects"])?;
        let objects = PathBuf::from(objects);
        // git removes an old directory of this name, should this process be killed.
        let name = format!("tmp_objdir-received-{}-{}", std::process::id(), unique_number());
        let directory = objects.join(name);
        fs::create_dir(&directory).map_err(WorkspaceError::file("made", &directory))?;
        Ok(Aside { directory, objects })
    }

    /// git that reads the objects of the repository, and writes others here.
    fn git<'a>(&self, git: &Git<'a>) -> Git<'a> {
        git.clone().with_objects(&self.directory, &self.objects)
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn unique_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Takes the objects of a bundle in, and makes sure that the commit is what it was packed for, that all of its objects are
/// there, and that its files would neither reach out of the tree nor fill the disk.
fn receive(
    git: &Git<'_>,
    bundle: &Path,
    commit: &str,
    limit: Extent,
) -> Result<(), WorkspaceError> {
    if !is_commit(commit) {
        return Err(WorkspaceError::Hostile(format!("{commit:?} is no commit")));
    }
    let heads = unbundle(git, bundle)?;
    if !heads.lines().any(|line| line.split(' ').next() == Some(commit)) {
        return Err(WorkspaceError::Hostile(format!("the commit {commit} is not among them")));
    }
    git.run(&["cat-file", "-e", &format!("{commit}^{{commit}}")])?;
    git.run(&["rev-list", "--objects", "--quiet", commit])?;
    let found = extent(git, commit, &mut |entry| check_file(git, entry))?;
    if found.exceeds(limit) {
        return Err(too_large(
            &format!("{} files with {} MB", found.files, found.bytes >> 20),
            limit,
        ));
    }
    Ok(())
}

/// Returns the commits that the bundle was packed for, with the refs that it had there. No ref is made here.
fn unbundle(git: &Git<'_>, bundle: &Path) -> Result<String, WorkspaceError> {
    let args = ["bundle", "unbundle"].map(OsStr::new);
    Ok(git.text(&[&args[..], &[bundle.as_os_str()]].concat())?)
}

fn is_commit(text: &str) -> bool {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    matches!(text.len(), 40 | 64) && text.bytes().all(is_digit)
}

fn too_large(found: &str, limit: Extent) -> WorkspaceError {
    WorkspaceError::Hostile(format!(
        "unpacked, they are {found}, and the limit is {} files with {} MB",
        limit.files,
        limit.bytes >> 20
    ))
}

/// How much the files of a commit would have together in a working tree. Each goes through `check`.
fn extent(
    git: &Git<'_>,
    commit: &str,
    check: &mut dyn FnMut(&str) -> Result<(), WorkspaceError>,
) -> Result<Extent, WorkspaceError> {
    let listed = git.bytes(&["ls-tree", "-r", "-l", "-z", "--full-tree", commit]);
    let listed = listed.map_err(|error| match error {
        // A few trees that hold each other have more files than any disk.
        GitError::NotRun(OutputError::TooMuch(_)) => {
            too_large("more files than can be listed", SNAPSHOT_EXTENT)
        }
        error => error.into(),
    })?;
    let mut found = Extent::default();
    for entry in listed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        let text = String::from_utf8_lossy(entry);
        check(&text)?;
        let header = text.split_once('\t').map_or("", |(header, _)| header);
        let bytes = header.rsplit(' ').next().and_then(|size| size.parse().ok());
        found = found.plus(Extent { bytes: bytes.unwrap_or(0), files: 1 });
    }
    Ok(found)
}

fn check_file(git: &Git<'_>, entry: &str) -> Result<(), WorkspaceError> {
    let hostile = |problem: &str| WorkspaceError::Hostile(format!("{problem}: {entry:?}"));
    let found = checked_entry(entry).map_err(hostile)?;
    if let Some(object) = found.link {
        let target = git.text(&["cat-file", "blob", object])?;
        if leads_out(found.path, &target) {
            return Err(hostile("it is a link that leads out of the tree"));
        }
    }
    Ok(())
}

/// A file of a tree that came from another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedFile<'a> {
    /// Its path, which stays below the root and touches no repository.
    pub path: &'a str,
    /// The object that holds its target, if it is a link.
    pub link: Option<&'a str>,
}

/// Reads a line of `git ls-tree`, or says why its file is refused.
pub fn checked_entry(entry: &str) -> Result<ReceivedFile<'_>, &'static str> {
    let (header, path) = entry.split_once('\t').ok_or("it cannot be read")?;
    if !is_inside(path) {
        return Err("its path leads out of the tree, or into a repository");
    }
    let mut words = header.split(' ');
    let is_link = words.next() == Some("120000");
    let link = is_link.then(|| words.nth(1).unwrap_or_default());
    Ok(ReceivedFile { path, link })
}

/// Whether a path stays below the root and touches no repository.
fn is_inside(path: &str) -> bool {
    let is_plain = |part: &str| {
        // What some file systems take for the same name.
        let name: String = part.trim_end_matches(['.', ' ']).to_lowercase();
        let name: String = name.chars().filter(char::is_ascii).collect();
        !matches!(part, "" | "." | "..") && name != ".git" && !name.starts_with("git~")
    };
    !path.starts_with('/') && path.split('/').all(is_plain)
}

/// Whether a link at this path can lead out of the tree. A way up is only followed at the beginning, where it goes through the
/// directories of the link itself: further on, another link can stand for a directory, and lead elsewhere than its name says.
pub fn leads_out(path: &str, target: &str) -> bool {
    if target.starts_with('/') || target.contains('\0') {
        return true;
    }
    let depth = path.split('/').count() - 1;
    let parts = || target.split('/').filter(|part| !matches!(*part, "" | "."));
    let ups = parts().take_while(|part| *part == "..").count();
    ups > depth || parts().skip(ups).any(|part| part == "..")
}

fn measure(directory: &Path) -> Result<(), WorkspaceError> {
    let (mut bytes, mut files) = (0, 0);
    let mut open: Vec<PathBuf> = vec![directory.to_owned()];
    while let Some(path) = open.pop() {
        let entries = fs::read_dir(&path).map_err(WorkspaceError::file("read", &path))?;
        for entry in entries.flatten() {
            let Ok(found) = entry.metadata() else { continue };
            files += 1;
            bytes += found.len();
            if found.is_dir() {
                open.push(entry.path());
            }
            if bytes > DIRECTORY_BYTES || files > DIRECTORY_FILES {
                return Err(WorkspaceError::TooLargeToTravel(directory.to_owned()));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "travel_tests.rs"]
mod tests;
