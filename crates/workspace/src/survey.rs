//! The worktrees that are there, and how they go.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use model::RunId;
use store::remove_tree;

use crate::WorkspaceError;
use crate::files::{read_short, remove_index, remove_stale_lock};
use crate::layout::{WorktreeLayout, shared_base};
use crate::lock::RepositoryLock;
use crate::repository::Repository;

/// A worktree that was found in the directory of all worktrees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worktree {
    #[expect(missing_docs, reason = "the name says it")]
    pub layout: WorktreeLayout,
    /// Whether it only waits for its removal: a ref has everything that was in it.
    pub is_removed: bool,
}

/// All worktrees in a directory, with what is left of others.
pub fn worktrees_in(directory: &Path) -> Vec<Worktree> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<Worktree> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let (run, is_removed) = match name.split_once('.') {
                None => (name.as_str(), false),
                Some((run, "removed")) => (run, true),
                Some(_) => return None,
            };
            let run_id = RunId::parse(run).ok()?;
            let layout = WorktreeLayout::of(&run_id, &directory.join(run))?;
            Some(Worktree { layout, is_removed })
        })
        .collect();
    found.sort_by(|one, other| one.layout.run_id().cmp(other.layout.run_id()));
    found
}

impl Worktree {
    /// Where it is.
    pub fn path(&self) -> PathBuf {
        if self.is_removed { self.layout.removed() } else { self.layout.tree() }
    }

    /// How much of the disk it takes. The objects of the repository, which it shares, are not counted.
    pub fn bytes(&self) -> u64 {
        disk_usage(&self.path())
    }

    /// The working trees of its repository, the main one first, as files say it; none if the repository is gone. An agent
    /// can have changed what they say.
    pub fn sources(&self) -> Vec<PathBuf> {
        let Some(admin) = self.admin() else { return Vec::new() };
        let worktrees = admin.parent().unwrap_or(&admin);
        let Some(common) = worktrees.parent().filter(|common| common.is_dir()) else {
            return Vec::new();
        };
        let main = common.parent().filter(|_| common.ends_with(".git")).unwrap_or(common);
        let linked = std::fs::read_dir(worktrees).into_iter().flatten().flatten();
        let linked = linked.filter(|entry| entry.path() != admin).filter_map(|entry| {
            let mark = PathBuf::from(read_short(&entry.path().join("gitdir"))?.trim_end());
            mark.parent().map(Path::to_owned)
        });
        [main.to_owned()].into_iter().chain(linked).collect()
    }

    /// Where its repository keeps what it knows of it.
    fn admin(&self) -> Option<PathBuf> {
        let text = read_short(&self.path().join(".git"))?;
        let admin = PathBuf::from(text.trim_end().strip_prefix("gitdir: ")?);
        (admin.file_name()? == self.layout.run_id().as_str()).then_some(admin)
    }
}

fn disk_usage(path: &Path) -> u64 {
    let mut bytes = 0;
    let mut open = vec![path.to_owned()];
    while let Some(path) = open.pop() {
        let Ok(found) = std::fs::symlink_metadata(&path) else { continue };
        // So many blocks, whatever the size says.
        bytes += found.blocks() * 512;
        if found.is_dir() {
            let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
            open.extend(entries.map(|entry| entry.path()));
        }
    }
    bytes
}

/// Forgets a run: removes its refs, and its worktree if it is still there. What was in them is lost.
pub fn forget(layout: &WorktreeLayout, directory: &Path) -> Result<(), WorkspaceError> {
    let repository = Repository::find(directory)?;
    forget_worktree(layout, &repository);
    let git = repository.git(&|| false);
    let _lock = RepositoryLock::take(&repository.common, &|| false)?;
    for reference in [layout.result(), layout.base()] {
        git.run(&["update-ref", "--no-deref", "-d", &reference])?;
    }
    Ok(())
}

/// Forgets from what the tasks of a call have started. Each of their runs has a ref of its own.
pub fn forget_shared_base(directory: &Path, call: &str) -> Result<(), WorkspaceError> {
    let repository = Repository::find(directory)?;
    let git = repository.git(&|| false);
    let _lock = RepositoryLock::take(&repository.common, &|| false)?;
    Ok(git.run(&["update-ref", "--no-deref", "-d", &shared_base(call)])?)
}

/// Removes the worktree of a run, and the ref from which it started if it has no result. What cannot be removed is found
/// by `doctor`.
pub(crate) fn forget_worktree(layout: &WorktreeLayout, repository: &Repository) {
    let git = repository.git(&|| false);
    let _ = remove_tree(&layout.removed());
    let _ = remove_tree(&layout.tree());
    if let Ok(_lock) = RepositoryLock::take(&repository.common, &|| false) {
        unlock_refs(layout, repository);
        forget_admin(layout, repository);
        if let Ok(None) = git.resolve(&layout.result()) {
            let _ = git.run(&["update-ref", "--no-deref", "-d", &layout.base()]);
        }
    }
    remove_index(&layout.base_index());
    remove_index(&layout.index());
}

/// Lets git forget a worktree whose directory is gone. The caller has the lock of the repository.
pub(crate) fn forget_admin(layout: &WorktreeLayout, repository: &Repository) {
    let args = ["worktree", "remove", "--force", "--force"].map(AsRef::as_ref);
    let tree = layout.tree();
    let removed = repository.git(&|| false).run(&[&args[..], &[tree.as_os_str()]].concat());
    let admin = repository.admin(layout.run_id().as_str());
    // A worktree of the user's can have the same name.
    let mark = read_short(&admin.join("gitdir")).map(|mark| PathBuf::from(mark.trim_end()));
    let is_in_use = mark.is_some_and(|mark| mark.exists());
    if removed.is_err() && !is_in_use {
        // A git that was killed while it made the worktree has left less than git itself can remove.
        let _ = remove_tree(&admin);
    }
}

/// Removes the locks that a killed git has left on refs that only we change. The caller has the lock of the repository.
pub(crate) fn unlock_refs(layout: &WorktreeLayout, repository: &Repository) {
    for reference in [layout.base(), layout.result()] {
        remove_stale_lock(&repository.common.join(reference));
    }
}
