//! Files that travel to another machine and back, as bundles of git.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::change::diff_of;
use crate::git::Git;
use crate::layout::reference;
use crate::repository::Repository;
use crate::{WorkspaceError, snapshot};

/// The largest directory without a repository that travels.
const DIRECTORY_BYTES: u64 = 64 * 1024 * 1024;
/// The most files of such a directory.
const DIRECTORY_FILES: usize = 10_000;

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
    let commit = snapshot::commit(&git)?;
    git.run(&["update-ref", "refs/heads/snapshot", &commit])?;
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
    receive(&git, bundle, commit)?;
    for which in ["base", "result"] {
        git.run(&["update-ref", &reference(commit, which), commit])?;
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

/// Brings what a machine has packed into a worktree of ours, which then has the files of that commit.
pub fn receive_result(directory: &Path, bundle: &Path, commit: &str) -> Result<(), WorkspaceError> {
    let repository = Repository::find(directory)?;
    let git = repository.git(&|| false);
    receive(&git, bundle, commit)?;
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
    receive(&git, bundle, commit)?;
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

/// Takes the objects of a bundle in, and makes sure that all of the commit are there and that none of its files would
/// reach out of the tree.
fn receive(git: &Git<'_>, bundle: &Path, commit: &str) -> Result<(), WorkspaceError> {
    if !is_commit(commit) {
        return Err(WorkspaceError::Hostile(format!("{commit:?} is no commit")));
    }
    let args = ["bundle", "unbundle"].map(OsStr::new);
    git.run(&[&args[..], &[bundle.as_os_str()]].concat())?;
    git.run(&["cat-file", "-e", &format!("{commit}^{{commit}}")])?;
    git.run(&["rev-list", "--objects", "--quiet", commit])?;
    check_files(git, commit)
}

fn is_commit(text: &str) -> bool {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    matches!(text.len(), 40 | 64) && text.bytes().all(is_digit)
}

fn check_files(git: &Git<'_>, commit: &str) -> Result<(), WorkspaceError> {
    let listed = git.bytes(&["ls-tree", "-r", "-z", "--full-tree", commit])?;
    for entry in listed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        let text = String::from_utf8_lossy(entry);
        let hostile =
            |problem: &str| WorkspaceError::Hostile(format!("{problem}: {:?}", text.as_ref()));
        let found = checked_entry(&text).map_err(hostile)?;
        if let Some(object) = found.link {
            let target = git.text(&["cat-file", "blob", object])?;
            if leads_out(found.path, &target) {
                return Err(hostile("it is a link that leads out of the tree"));
            }
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
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_below_the_root_and_out_of_repositories() {
        for path in ["a", "a/b.c", ".gitignore", "src/.github/x", "..a", "git/x"] {
            assert!(is_inside(path), "{path}");
        }
        for path in [
            "/a",
            "../a",
            "a/../b",
            "a//b",
            ".git/config",
            "a/.GIT/hooks/x",
            ".git./x",
            "GIT~1/x",
            ".g\u{200c}it/config",
            ".",
        ] {
            assert!(!is_inside(path), "{path}");
        }
    }

    /// A commit whose tree has an entry that git itself would not make.
    fn hostile_bundle(scratch: &Path, mode: &str, name: &str, content: &str) -> (PathBuf, String) {
        let source = scratch.join("source");
        init(&source, false).unwrap();
        let git = Git::at(&source, &|| false).within(&source.join(".git"), &source);
        let file = scratch.join("content");
        fs::write(&file, content).unwrap();
        let hash = |kind: &str, path: &Path| {
            let path = path.to_str().unwrap();
            git.text(&["hash-object", "-w", "--literally", "-t", kind, path])
                .unwrap()
                .trim()
                .to_owned()
        };
        let entry = |mode: &str, name: &str, object: &str| {
            let id = (0..object.len()).step_by(2);
            let id = id.map(|at| u8::from_str_radix(&object[at..at + 2], 16).unwrap());
            let mut bytes = format!("{mode} {name}\0").into_bytes();
            bytes.extend(id);
            bytes
        };
        let tree = scratch.join("tree");
        fs::write(&tree, entry(mode, name, &hash("blob", &file))).unwrap();
        let tree = hash("tree", &tree);
        let words = format!("tree {tree}\nauthor a <a> 0 +0000\ncommitter a <a> 0 +0000\n\nx\n");
        fs::write(&file, words).unwrap();
        let commit = hash("commit", &file);
        git.run(&["update-ref", "refs/heads/main", &commit]).unwrap();
        let bundle = scratch.join("bundle");
        pack(&git, &bundle, &["refs/heads/main"]).unwrap();
        (bundle, commit)
    }

    #[test]
    fn a_planted_tree_is_refused_before_a_file_of_it_is_written() {
        for (mode, name, content) in [
            ("100644", "../planted", "x"),
            ("100644", "/tmp/planted", "x"),
            ("100755", ".git/hooks/post-checkout", "touch planted"),
            ("100644", ".GIT", "gitdir: elsewhere"),
            ("120000", "link", "../../planted"),
            ("120000", "link", "/etc"),
        ] {
            let scratch = tempfile::tempdir().unwrap();
            let (bundle, commit) = hostile_bundle(scratch.path(), mode, name, content);
            let into = scratch.path().join("into");
            let refused = receive_snapshot(&into, &bundle, &commit).unwrap_err();
            assert!(matches!(refused, WorkspaceError::Hostile(_)), "{name}: {refused}");
            let entries: Vec<_> = fs::read_dir(&into).unwrap().flatten().collect();
            assert!(entries.iter().all(|entry| entry.file_name() == ".git"), "{entries:?}");
            let git = Git::at(&into, &|| false).within(&into.join(".git"), &into);
            assert_eq!(git.resolve(&reference(&commit, "base")).unwrap(), None);
        }
    }

    #[test]
    fn a_snapshot_whose_links_lead_out_together_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let [from, to, bundle] = ["from", "to", "bundle"].map(|name| top.path().join(name));
        init(&from, false).unwrap();
        let git = Git::at(&from, &|| false);
        let pack_links = |links: &[(&str, &str)]| {
            for (path, target) in links {
                fs::write(from.join("target"), target).unwrap();
                let object = git.text(&["hash-object", "-w", "target"]).unwrap();
                let entry = format!("120000,{object},{path}");
                git.run(&["update-index", "--add", "--cacheinfo", &entry]).unwrap();
            }
            let tree = git.text(&["write-tree"]).unwrap();
            let ours = git.clone().with_our_name("@0 +0000");
            let commit = ours.text(&["commit-tree", &tree, "-m", "Links"]).unwrap();
            git.run(&["update-ref", "refs/heads/main", &commit]).unwrap();
            pack(&git, &bundle, &["refs/heads/main"]).unwrap();
            commit
        };
        let commit = pack_links(&[("src/a", "../b"), ("p/q/s", "../..")]);
        receive_snapshot(&to, &bundle, &commit).unwrap();
        // The system would follow this one to the root, and then further up.
        let commit = pack_links(&[("l", "p/q/s/../x")]);
        let refused = receive_snapshot(&to, &bundle, &commit).unwrap_err().to_string();
        assert!(refused.contains("it is a link that leads out of the tree"), "{refused}");
    }

    #[test]
    fn a_link_may_lead_anywhere_below_the_root() {
        for (path, target) in
            [("a", "b"), ("a/b", "../c"), ("a/b/c", "../../d"), ("a/b", ".././c//d/"), ("a", "b..")]
        {
            assert!(!leads_out(path, target), "{path} {target}");
        }
        for (path, target) in [
            ("a", "/etc/passwd"),
            ("a", "../b"),
            ("a/b", "../../c"),
            ("a", "b/../../c"),
            ("a", "b/../c"),
        ] {
            assert!(leads_out(path, target), "{path} {target}");
        }
    }
}
