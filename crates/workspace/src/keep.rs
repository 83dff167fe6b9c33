//! Everything that an agent left becomes a ref, and then its worktree goes.

use std::fs;
use std::io;
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
use crate::own_commits::only_known_to;
use crate::repository::Repository;
use crate::snapshot::{self, Snapshot, commit_tree};
use crate::survey::{forget_admin, forget_worktree, unlock_refs};
use crate::tree_state::TreeState;
use crate::{GitError, WorkspaceError};

/// What became of a worktree.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept {
    /// No agent has worked in it.
    Unused,
    /// An agent has.
    Changes(Changes),
}

/// How git reads a tree that is kept. Files count that are not in a sparse checkout any more, or were never.
const SETTINGS: &[(&str, &str)] = &[
    ("core.fsync", "committed,reference"),
    ("core.sparseCheckout", "true"),
    ("sparse.expectFilesOutsideOfPatterns", "false"),
];
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
        Err(error) => {
            // A git that was killed while it wrote has left it.
            remove_stale_lock(&layout.index());
            Kept::Changes(Changes {
                directory: Some(layout.tree()),
                problem: Some(error.to_string()),
                ..Changes::default()
            })
        }
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
    // One that cannot be seen is there.
    if !tree.path.try_exists().unwrap_or(true) {
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
        let git = self.repository.git_of(&admin, &self.path, &|| false)?;
        let of_agent = git.with_settings(&owned(SETTINGS));
        let git = of_agent.clone().with_index(&index);
        let has_staged = !is_same_index(&admin.join("index"), &index);
        // What the agent has done to the worktree's own files does not change where these look.
        let outside = self.repository.git(&|| false);
        let mut obstacle = None;
        for _ in 0..ATTEMPTS {
            if has_staged {
                snapshot::add_ignored(&git, &of_agent, &self.path)?;
            }
            let Written { commit, repositories } = self.write_result(&git, &outside)?;
            self.await_gc();
            // Also after `git gc` has removed what had no ref when it began.
            verify_objects(&outside, self.base, &commit)?;
            let state = TreeState::of(&git)?;
            let left_out = LeftOut::of(&self.path, &state.ignored);
            let changes = count(&git, self.layout, self.base, &commit)?;
            let changes = Changes { ignored: left_out.ignored, ..changes };
            let inside = repositories.into_iter().find(|path| self.has_files_in(path));
            let inside = inside.or(left_out.repository);
            let hidden = only_known_to(&admin, &of_agent, &outside).unwrap_or_else(|error| {
                Some(format!("it is not known whether refs have all of its commits: {error}"))
            });
            obstacle = match self.difference(&admin, state, inside, hidden) {
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

    /// Writes everything that is in the tree as the result.
    fn write_result(&self, git: &Git<'_>, outside: &Git<'_>) -> Result<Written, WorkspaceError> {
        let Snapshot { tree, known, embedded } = snapshot::tree(git)?;
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
        let written = git.run(&["update-ref", "--no-deref", &self.layout.result(), &commit]);
        if written.is_err() {
            unlock_refs(self.layout, self.repository);
        }
        written?;
        match outside.resolve(&self.layout.result())? {
            Some(read) if read == commit => {
                Ok(Written { commit, repositories: [known, embedded].concat() })
            }
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
        admin: &Path,
        state: TreeState,
        inside: Option<PathBuf>,
        hidden: Option<String>,
    ) -> Option<Difference> {
        if !leads_to(&self.path.join(".git"), admin) {
            return Some(Difference::OtherRepository(PathBuf::from(".git")));
        }
        if let Some(why) = hidden {
            return Some(Difference::HiddenCommits(why));
        }
        let unread = state.unread.map(Difference::Unread);
        let inside = || inside.map(Difference::OtherRepository);
        let changing = || state.is_changed.then_some(Difference::Changing);
        unread.or_else(inside).or_else(changing)
    }

    /// Whether a repository inside of the tree has files. A commit has the name of its commit at most, and nothing of them.
    fn has_files_in(&self, repository: &Path) -> bool {
        match fs::read_dir(self.path.join(repository)) {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) => {
                !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
            }
        }
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
            let text = read_short(&mark).unwrap_or_default();
            let number = text.split_whitespace().next().and_then(|number| number.parse().ok());
            number.is_some_and(process::has_process)
        };
        let deadline = Instant::now() + GC_PATIENCE;
        while is_running() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A result that has a ref.
struct Written {
    commit: String,
    /// The repositories inside of the tree.
    repositories: Vec<PathBuf>,
}

/// Why a tree is not what its commit has.
enum Difference {
    Changing,
    Unread(String),
    OtherRepository(PathBuf),
    /// Only the git directory of the worktree has them.
    HiddenCommits(String),
}

impl Difference {
    fn words(&self) -> String {
        match self {
            Difference::Changing => "the files still changed while they were kept".to_owned(),
            Difference::Unread(path) => format!("{path} cannot be read"),
            Difference::HiddenCommits(why) => why.clone(),
            Difference::OtherRepository(path) => format!(
                "{} is a repository of its own, whose files are not part of the result",
                path.display()
            ),
        }
    }
}

/// Whether the agent's git has left its index alone, of which ours is a copy with the same time.
fn is_same_index(of_agent: &Path, ours: &Path) -> bool {
    let Ok(found) = fs::metadata(of_agent) else { return true };
    let copied = fs::metadata(ours);
    let is_alike = |copied: &fs::Metadata| {
        copied.len() == found.len() && copied.modified().ok() == found.modified().ok()
    };
    // git would wait for what is no file.
    !found.is_file() || copied.is_ok_and(|copied| is_alike(&copied))
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
