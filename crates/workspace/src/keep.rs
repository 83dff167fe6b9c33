//! Everything that an agent left becomes a ref, and then its worktree goes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use model::Changes;
use process::Exit;
use store::remove_tree;

use crate::change::count;
use crate::files::{read_short, remove_index, remove_stale_lock, set_aside};
use crate::git::{Git, failed, owned};
use crate::layout::WorktreeLayout;
use crate::left_out::LeftOut;
use crate::lock::RepositoryLock;
use crate::own_commits::only_known_to;
use crate::repository::Repository;
use crate::snapshot::{self, Head, Snapshot, commit_tree};
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
        return Ok(Kept::Changes(tree.keep_commits(&git)?));
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
        let commit = match snapshot::head(git)? {
            Some(head) => self.commit_on(git, &tree, head)?,
            None => self.commit(git, &tree, &[self.base.to_owned()])?,
        };
        self.write_ref(git, outside, &commit)?;
        Ok(Written { commit, repositories: [known, embedded].concat() })
    }

    /// A commit of this tree that stands on what the worktree started from and on what is checked out.
    fn commit_on(&self, git: &Git<'_>, tree: &str, head: Head) -> Result<String, GitError> {
        match is_ancestor(git, self.base, &head.commit)? {
            true if head.tree == tree => Ok(head.commit),
            true => self.commit(git, tree, &[head.commit]),
            // The agent went to another commit.
            false => self.commit(git, tree, &[self.base.to_owned(), head.commit]),
        }
    }

    fn write_ref(
        &self,
        git: &Git<'_>,
        outside: &Git<'_>,
        commit: &str,
    ) -> Result<(), WorkspaceError> {
        let _lock = RepositoryLock::take(&self.repository.common, &|| false)?;
        unlock_refs(self.layout, self.repository);
        let written = git.run(&["update-ref", "--no-deref", &self.layout.result(), commit]);
        if written.is_err() {
            unlock_refs(self.layout, self.repository);
        }
        written?;
        match outside.resolve(&self.layout.result())? {
            Some(read) if read == commit => Ok(()),
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

    /// Keeps what there is without the directory. Either a ref has everything and the removal had begun, or the agent has
    /// deleted or moved the directory, and the repository has the commits that it made before.
    fn keep_commits(&self, git: &Git<'_>) -> Result<Changes, WorkspaceError> {
        let run = self.layout.run_id().as_str();
        let admin = self.repository.admin(run);
        let result = git.resolve(&format!("{}^{{commit}}", self.layout.result()))?;
        let head = snapshot::commit_at(git, &format!("worktrees/{run}/HEAD"))?;
        let saved = match (&result, head) {
            (Some(result), Some(head)) if !is_ancestor(git, &head.commit, result)? => {
                Some(self.commit(git, &head.tree, &[result.clone(), head.commit])?)
            }
            (None, Some(head)) if head.commit != self.base => {
                let tree = head.tree.clone();
                Some(self.commit_on(git, &tree, head)?)
            }
            _ => None,
        };
        if let Some(saved) = &saved {
            self.write_ref(git, git, saved)?;
            self.await_gc();
            verify_objects(git, self.base, saved)?;
        }
        let gone = format!("the worktree {} is gone", self.path.display());
        let problem = match (&saved, &result) {
            (Some(_), _) => Some(format!("{gone}, so that only its commits are kept")),
            (None, Some(_)) => None,
            (None, None) => Some(gone.clone()),
        };
        let changes = match saved.as_ref().or(result.as_ref()) {
            Some(commit) => count(git, self.layout, self.base, commit)?,
            None => Changes::default(),
        };
        if let Some(place) = self.moved_to(&admin) {
            let problem = "the agent has moved it there, and only its commits are kept".to_owned();
            return Ok(Changes { directory: Some(place), problem: Some(problem), ..changes });
        }
        if let Some(why) = self.hidden_without_directory(&admin, git)? {
            let problem =
                format!("{}, and {} stays: {why}", problem.unwrap_or(gone), admin.display());
            return Ok(Changes { problem: Some(problem), ..changes });
        }
        if result.is_some() && saved.is_none() {
            let _ = remove_tree(&self.layout.removed());
        }
        self.forget();
        Ok(Changes { problem, ..changes })
    }

    /// Where the worktree is now, if git knows of another place and something is there.
    fn moved_to(&self, admin: &Path) -> Option<PathBuf> {
        let mark = admin.join(read_short(&admin.join("gitdir"))?.trim_end());
        let is_elsewhere = mark != self.path.join(".git") && mark.symlink_metadata().is_ok();
        is_elsewhere.then(|| mark.parent().unwrap_or(&mark).to_owned())
    }

    fn hidden_without_directory(
        &self,
        admin: &Path,
        git: &Git<'_>,
    ) -> Result<Option<String>, WorkspaceError> {
        if !admin.is_dir() {
            return Ok(None);
        }
        let of_agent = self.repository.git_of(admin, admin, &|| false)?;
        Ok(only_known_to(admin, &of_agent, git)?)
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

/// Whether one commit is in the history of another one.
fn is_ancestor(git: &Git<'_>, one: &str, other: &str) -> Result<bool, GitError> {
    let args = ["merge-base", "--is-ancestor", one, other];
    let output = git.output(&args)?;
    match output.exit {
        Exit::Code(0) => Ok(true),
        Exit::Code(1) => Ok(false),
        _ => Err(failed(&args, &output)),
    }
}

/// Makes sure that all objects of the result are there.
fn verify_objects(git: &Git<'_>, base: &str, commit: &str) -> Result<(), GitError> {
    git.run(&["rev-list", "--objects", "--quiet", commit, "--not", base])
}
