//! The git repository in which a task works: what a commit has to change in it, and what must stay as
//! it is, because git runs what stands there.
//!
//! Everything in the task's directory may have been put there by an agent. So a file `.git` that leads
//! elsewhere is believed only if the place it leads to says so, too.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// How many directories below `modules` are looked at, in all and in depth.
const MOST_MODULES: usize = 1_000;
const DEEPEST_MODULE: usize = 8;

/// What git changes when it commits. The rest of a repository's directory has no need to change.
const OF_COMMITS: [&str; 5] = ["objects", "refs", "logs", "packed-refs", "worktrees"];

/// A repository, as a restricted agent may use it.
#[derive(Debug, Default)]
pub(super) struct Repository {
    /// The `.git` of the working tree. It stays what it is: a directory, a file or a link.
    pub(super) mark: PathBuf,
    /// What may be changed if the next list can be kept.
    pub(super) writable: Vec<PathBuf>,
    /// What must not be changed.
    pub(super) kept: Vec<PathBuf>,
    /// What may be changed also if no list inside it can be kept: data that git does not run.
    pub(super) data: Vec<PathBuf>,
    /// Files that would make git read hooks and configuration elsewhere, or settings that wait until git is told to read
    /// them. They are not there now, and cannot be kept from appearing.
    pub(super) redirections: Vec<PathBuf>,
    /// Why git cannot commit, where it cannot.
    pub(super) problem: Option<String>,
}

impl Repository {
    /// The repository of the working tree around a directory, whose path has no links.
    pub(super) fn around(directory: &Path) -> io::Result<Option<Repository>> {
        for ancestor in directory.ancestors() {
            let mark = ancestor.join(".git");
            let Ok(metadata) = fs::symlink_metadata(&mark) else { continue };
            // git goes on looking, too. But what is left of a repository could be completed.
            let is_left = || ["config", "hooks"].iter().any(|name| mark.join(name).exists());
            if metadata.is_dir() && !is_git_dir(&mark) && !is_left() {
                continue;
            }
            return Repository::of(&mark, &metadata).map(Some);
        }
        Ok(None)
    }

    fn of(mark: &Path, metadata: &Metadata) -> io::Result<Repository> {
        let mut repository = Repository { mark: mark.to_owned(), ..Repository::default() };
        if metadata.is_dir() {
            repository.add_git_dir(mark)?;
            return Ok(repository);
        }
        repository.kept.push(mark.to_owned());
        if !metadata.is_file() {
            repository.problem = Some(format!("{} is a link", mark.display()));
            return Ok(repository);
        }
        match leads_to(mark) {
            Some(GitDir::OfWorktree { git_dir, common }) => {
                repository.add_worktree(&git_dir, &common)?;
            }
            Some(GitDir::OfModule(git_dir)) => repository.add_git_dir(&git_dir)?,
            None => {
                let path = mark.display();
                repository.problem =
                    Some(format!("{path} leads to a directory that does not lead back"));
            }
        }
        Ok(repository)
    }

    /// The settings that are kept, with what they say.
    pub(super) fn settings(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let is_settings = |path: &&PathBuf| {
            path.file_name().is_some_and(|name| name == "config" || name == "config.worktree")
        };
        let settings = self.kept.iter().filter(is_settings);
        let plain = settings
            .filter(|path| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file()));
        plain.map(|path| (path.clone(), fs::read(path).unwrap_or_default())).collect()
    }

    /// A directory with everything of a repository.
    fn add_git_dir(&mut self, git_dir: &Path) -> io::Result<()> {
        if git_dir.join("commondir").exists() {
            self.kept.push(git_dir.to_owned());
            self.problem = Some(format!("{}/commondir leads elsewhere", git_dir.display()));
            return Ok(());
        }
        self.writable.push(git_dir.to_owned());
        self.data.extend(["objects", "refs", "logs"].map(|name| git_dir.join(name)));
        self.keep_settings(git_dir)?;
        // A working tree elsewhere finds its hooks and its configuration by a file in here.
        self.keep_if_present(git_dir.join("worktrees"));
        let mut left = MOST_MODULES;
        self.add_modules(&git_dir.join("modules"), DEEPEST_MODULE, &mut left)
    }

    /// The directories of submodules, whose names can have several parts.
    fn add_modules(&mut self, directory: &Path, depth: usize, left: &mut usize) -> io::Result<()> {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if depth == 0 || *left == 0 {
                // What cannot be looked through is kept as a whole.
                self.kept.push(entry.path());
                continue;
            }
            *left -= 1;
            let path = entry.path();
            if is_git_dir(&path) {
                self.keep_settings(&path)?;
                self.keep_if_present(path.join("worktrees"));
                self.add_modules(&path.join("modules"), depth - 1, left)?;
            } else {
                self.add_modules(&path, depth - 1, left)?;
            }
        }
        Ok(())
    }

    /// The part of a repository that a linked working tree needs.
    fn add_worktree(&mut self, git_dir: &Path, common: &Path) -> io::Result<()> {
        self.writable.push(common.to_owned());
        self.data.extend(["objects", "refs", "logs"].map(|name| common.join(name)));
        self.keep_settings(common)?;
        for entry in fs::read_dir(common)?.flatten() {
            let is_needed = entry.file_name().to_str().is_some_and(|name| {
                // A lock is of a git that is at work, and goes away.
                OF_COMMITS.contains(&name) || name.ends_with(".lock")
            });
            if !is_needed && !self.kept.contains(&entry.path()) {
                self.kept.push(entry.path());
            }
        }
        for entry in fs::read_dir(common.join("worktrees"))?.flatten() {
            if entry.path() != git_dir {
                self.kept.push(entry.path());
            }
        }
        self.kept.extend(["commondir", "gitdir"].map(|name| git_dir.join(name)));
        self.keep_worktree_settings(common, git_dir)
    }

    /// Keeps what git runs, or takes its programs from. What is missing is made, empty, because only
    /// what is there can be kept.
    fn keep_settings(&mut self, git_dir: &Path) -> io::Result<()> {
        let (hooks, config) = (git_dir.join("hooks"), git_dir.join("config"));
        if fs::symlink_metadata(&hooks).is_err() {
            fs::create_dir(&hooks)?;
        }
        make_file(&config)?;
        self.kept.extend([hooks, config]);
        self.redirections.push(git_dir.join("commondir"));
        self.keep_worktree_settings(git_dir, git_dir)
    }

    /// Keeps the configuration of a single working tree, which git reads if the repository's says so.
    fn keep_worktree_settings(&mut self, common: &Path, git_dir: &Path) -> io::Result<()> {
        let config = fs::read(common.join("config")).unwrap_or_default();
        let settings = git_dir.join("config.worktree");
        if String::from_utf8_lossy(&config).to_lowercase().contains("worktreeconfig") {
            make_file(&settings)?;
        } else if fs::symlink_metadata(&settings).is_err() {
            self.redirections.push(settings);
            return Ok(());
        }
        self.keep_if_present(settings);
        Ok(())
    }

    fn keep_if_present(&mut self, path: PathBuf) {
        if fs::symlink_metadata(&path).is_ok() && !self.kept.contains(&path) {
            self.kept.push(path);
        }
    }
}

/// Removes a file by which an agent has redirected a repository, and returns whether there was one.
pub(super) fn remove_redirection(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path).map(|()| true),
        Ok(_) => fs::remove_file(path).map(|()| true),
        Err(_) => Ok(false),
    }
}

fn make_file(path: &Path) -> io::Result<()> {
    match File::create_new(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn is_git_dir(path: &Path) -> bool {
    path.join("HEAD").exists() && path.join("objects").is_dir() && path.join("refs").is_dir()
}

enum GitDir {
    OfWorktree { git_dir: PathBuf, common: PathBuf },
    OfModule(PathBuf),
}

/// Where a file `.git` leads to, if that is a place that belongs to its working tree.
fn leads_to(mark: &Path) -> Option<GitDir> {
    let tree = mark.parent()?;
    let text = read_line(mark)?;
    let git_dir = tree.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let worktrees = git_dir.parent()?;
    if worktrees.file_name()? == "worktrees" {
        let common = worktrees.parent()?.to_owned();
        let led = |name: &str| git_dir.join(read_line(&git_dir.join(name))?).canonicalize().ok();
        let is_own = led("gitdir")? == mark && led("commondir")? == common && is_git_dir(&common);
        return is_own.then_some(GitDir::OfWorktree { git_dir, common });
    }
    // A submodule's is inside of the repository around it.
    let is_module = |ancestor: &Path| git_dir.starts_with(ancestor.join(".git/modules"));
    let is_own = tree.ancestors().skip(1).any(is_module) && is_git_dir(&git_dir);
    is_own.then_some(GitDir::OfModule(git_dir))
}

/// The only line of a small file.
fn read_line(path: &Path) -> Option<String> {
    let is_small = fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() < 16_384);
    let text = is_small.then(|| fs::read_to_string(path).ok()).flatten()?;
    Some(text.trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
#[path = "repository_tests.rs"]
mod tests;
