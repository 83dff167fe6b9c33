//! Everything that an agent left becomes a ref, and then its worktree goes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use model::Changes;
use process::Exit;

use crate::change::count;
use crate::files::{read_short, remove_index, remove_stale_lock, remove_tree, set_aside};
use crate::git::{Git, failed, owned};
use crate::layout::WorktreeLayout;
use crate::left_out::LeftOut;
use crate::lock::RepositoryLock;
use crate::repository::Repository;
use crate::snapshot::{self, Snapshot, commit_tree};
use crate::survey::{forget_admin, forget_worktree, unlock_refs};
use crate::{GitError, WorkspaceError};

/// What became of a worktree.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept {
    /// No agent has worked in it.
    Unused,
    /// An agent has.
    Changes(Changes),
}

/// How often a tree is read again that changes while it is kept.
const ATTEMPTS: usize = 3;
/// How long a `git gc` may take that began before the result had a ref.
const GC_PATIENCE: Duration = Duration::from_secs(10 * 60);

/// Keeps what the agent of a run left, and removes the worktree if `may_remove` and if a ref then has everything that is in
/// it. What stands in the way is told in the changes. It can be called again after it was cut off at any point.
pub fn keep(layout: &WorktreeLayout, directory: &Path, may_remove: bool) -> Kept {
    let is_left = may_have_changes(layout);
    match keep_in(layout, directory, may_remove) {
        Ok(kept) => kept,
        Err(_) if !is_left => Kept::Unused,
        Err(error) => Kept::Changes(Changes {
            directory: Some(layout.tree()),
            problem: Some(error.to_string()),
            ..Changes::default()
        }),
    }
}

fn keep_in(
    layout: &WorktreeLayout,
    directory: &Path,
    may_remove: bool,
) -> Result<Kept, WorkspaceError> {
    // The task's own directory may be gone, and the repository still there.
    let directory = directory.ancestors().find(|ancestor| ancestor.is_dir()).unwrap_or(directory);
    let repository = Repository::find(directory)?;
    let git = repository.git(&|| false);
    let base = git.resolve(&format!("{}^{{commit}}", layout.base()))?;
    if !may_have_changes(layout) {
        let result = git.resolve(&format!("{}^{{commit}}", layout.result()))?;
        return match base.zip(result) {
            // It was kept before.
            Some((base, result)) => Ok(Kept::Changes(count(&git, layout, &base, &result)?)),
            // It was never ready, so no agent has seen it.
            None => {
                forget_worktree(layout, &repository);
                Ok(Kept::Unused)
            }
        };
    }
    let base = base.ok_or_else(|| WorkspaceError::NoBase(layout.base()))?;
    let tree = Tree { layout, repository: &repository, base: &base, path: layout.tree() };
    if !tree.path.exists() {
        return tree.finish_removal(&git);
    }
    Ok(Kept::Changes(tree.keep(may_remove)?))
}

/// Whether an agent can have worked in the worktree and no ref have it yet. What cannot be told may be.
fn may_have_changes(layout: &WorktreeLayout) -> bool {
    layout.index().try_exists().unwrap_or(true)
}

/// A worktree in which an agent has worked.
struct Tree<'a> {
    layout: &'a WorktreeLayout,
    repository: &'a Repository,
    base: &'a str,
    path: PathBuf,
}

impl Tree<'_> {
    fn keep(&self, may_remove: bool) -> Result<Changes, WorkspaceError> {
        let admin = self.repository.admin(self.layout.run_id().as_str());
        let index = self.layout.index();
        remove_stale_lock(&index);
        let durable = owned(&[("core.fsync", "committed,reference")]);
        let git = self.repository.git_of(&admin, &self.path, &|| false)?;
        let git = git.with_settings(&durable).with_index(&index);
        let mut obstacle = None;
        for _ in 0..ATTEMPTS {
            let commit = self.write_result(&git)?;
            self.await_gc();
            // Also after `git gc` has removed what had no ref when it began.
            verify_objects(&git, self.base, &commit)?;
            let left_out = LeftOut::of(&git, &self.path)?;
            let changes = count(&git, self.layout, self.base, &commit)?;
            let changes = Changes { ignored: left_out.ignored, ..changes };
            obstacle = match self.difference(&git, &admin, &commit, left_out)? {
                Some(Difference::Changing) => Some(changes),
                Some(difference) => return Ok(self.stays(changes, difference.words())),
                None if !may_remove => {
                    return Ok(
                        self.stays(changes, "a process of the agent may be alive".to_owned())
                    );
                }
                None => return Ok(self.remove(changes)),
            };
        }
        Ok(self.stays(obstacle.unwrap_or_default(), Difference::Changing.words()))
    }

    /// Writes everything that is in the tree as the result, and returns its commit.
    fn write_result(&self, git: &Git<'_>) -> Result<String, WorkspaceError> {
        let Snapshot { tree, .. } = snapshot::tree(git)?;
        let head = snapshot::head(git)?;
        let commit = match head {
            Some(head) => {
                let args = ["merge-base", "--is-ancestor", self.base, &head.commit];
                let output = git.output(&args)?;
                let is_above = match output.exit {
                    Exit::Code(0) => true,
                    Exit::Code(1) => false,
                    _ => return Err(failed(&args, &output).into()),
                };
                match is_above {
                    true if head.tree == tree => head.commit,
                    true => self.commit(git, &tree, &[head.commit])?,
                    // The agent went to another commit. The result stands on both.
                    false => self.commit(git, &tree, &[self.base.to_owned(), head.commit])?,
                }
            }
            None => self.commit(git, &tree, &[self.base.to_owned()])?,
        };
        let _lock = RepositoryLock::take(&self.repository.common, &|| false)?;
        unlock_refs(self.layout, self.repository);
        git.run(&["update-ref", &self.layout.result(), &commit])?;
        match git.resolve(&self.layout.result())? {
            Some(read) if read == commit => Ok(commit),
            read => Err(GitError::Failed {
                command: "update-ref".to_owned(),
                message: format!("the ref reads back as {}", read.as_deref().unwrap_or("nothing")),
            }
            .into()),
        }
    }

    fn commit(&self, git: &Git<'_>, tree: &str, parents: &[String]) -> Result<String, GitError> {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let date = since.map_or(0, |since| since.as_secs()).to_string();
        let message = format!("What run {} left uncommitted", self.layout.run_id());
        commit_tree(git, tree, parents, &date, &message)
    }

    /// What is in the tree that the commit does not have.
    fn difference(
        &self,
        git: &Git<'_>,
        admin: &Path,
        commit: &str,
        left_out: LeftOut,
    ) -> Result<Option<Difference>, WorkspaceError> {
        if !leads_to(&self.path.join(".git"), admin) {
            return Ok(Some(Difference::OtherRepository(PathBuf::from(".git"))));
        }
        let Snapshot { tree, unread } = snapshot::tree(git)?;
        if git.text(&["rev-parse", &format!("{commit}^{{tree}}")])? != tree {
            return Ok(Some(Difference::Changing));
        }
        if let Some(directory) = unread {
            return Ok(Some(Difference::Unread(directory)));
        }
        // Of a repository inside of the tree, a commit has the name of a commit at most, and nothing of its files.
        let has_files = |path: &PathBuf| {
            fs::read_dir(self.path.join(path)).is_ok_and(|mut found| found.next().is_some())
        };
        let inside = match left_out.repository {
            None => snapshot::repositories_inside(git)?.into_iter().find(has_files),
            found => found,
        };
        Ok(inside.map(Difference::OtherRepository))
    }

    fn stays(&self, changes: Changes, problem: String) -> Changes {
        Changes { directory: Some(self.path.clone()), problem: Some(problem), ..changes }
    }

    fn remove(&self, changes: Changes) -> Changes {
        let removed = self.layout.removed();
        if let Err(error) = set_aside(&self.path, &removed) {
            return self.stays(changes, format!("the directory cannot be removed: {error}"));
        }
        let left = remove_tree(&removed).err();
        self.forget();
        match left {
            None => changes,
            Some(error) => Changes {
                directory: Some(removed),
                problem: Some(format!("the directory cannot be removed: {error}")),
                ..changes
            },
        }
    }

    /// The removal had begun: a ref has everything.
    fn finish_removal(&self, git: &Git<'_>) -> Result<Kept, WorkspaceError> {
        let result = git.resolve(&format!("{}^{{commit}}", self.layout.result()))?;
        let changes = match &result {
            Some(result) => count(git, self.layout, self.base, result)?,
            None => Changes {
                problem: Some(format!("the worktree {} is gone", self.path.display())),
                ..Changes::default()
            },
        };
        let _ = remove_tree(&self.layout.removed());
        self.forget();
        Ok(Kept::Changes(changes))
    }

    fn forget(&self) {
        if let Ok(_lock) = RepositoryLock::take(&self.repository.common, &|| false) {
            forget_admin(self.layout, self.repository);
        }
        remove_index(&self.layout.index());
    }

    /// Waits for a `git gc` that may have begun before the result had a ref.
    fn await_gc(&self) {
        let mark = self.repository.common.join("gc.pid");
        let is_running = || {
            let text = fs::read_to_string(&mark).unwrap_or_default();
            let pid = text.split_whitespace().next().unwrap_or_default().to_owned();
            !pid.is_empty() && Path::new("/proc").join(pid).exists()
        };
        let deadline = Instant::now() + GC_PATIENCE;
        while is_running() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Why a tree is not what its commit has.
enum Difference {
    Changing,
    Unread(String),
    OtherRepository(PathBuf),
}

impl Difference {
    fn words(&self) -> String {
        match self {
            Difference::Changing => "the files still changed while they were kept".to_owned(),
            Difference::Unread(directory) => format!("the directory {directory} cannot be read"),
            Difference::OtherRepository(path) => format!(
                "{} is a repository of its own, whose files are not part of the result",
                path.display()
            ),
        }
    }
}

/// Whether the file by which a worktree finds its repository is still as git made it.
fn leads_to(mark: &Path, admin: &Path) -> bool {
    let text = read_short(mark).unwrap_or_default();
    text.trim_end().strip_prefix("gitdir: ").is_some_and(|found| Path::new(found) == admin)
}

/// Makes sure that all objects of the result are there.
fn verify_objects(git: &Git<'_>, base: &str, commit: &str) -> Result<(), GitError> {
    git.run(&["rev-list", "--objects", "--quiet", commit, "--not", base])
}
