//! What agents changed in worktrees of their own, and what users do with it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use model::{Changes, ChangesState, Meta, RunResult};
use store::{RunDir, Store, StoreError};
use workspace::{Change, ChangedFile, Landed, Repository, WorkspaceError, WorktreeLayout};

use crate::KnownRun;

/// The changes of one run.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct RunChanges {
    pub dir: RunDir,
    pub meta: Meta,
    pub result: RunResult,
    pub changes: Changes,
    /// What the user did with them, if anything.
    pub state: Option<ChangesState>,
}

/// Why changes cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ChangesError {
    #[error("\"{0}\" is still running; its changes are kept when it has ended")]
    Running(String),
    #[error("\"{0}\" did not work in a worktree, so there are no changes of it")]
    NoWorktree(String),
    #[error("the changes of \"{name}\" were not kept as a ref{}", remaining(.directory.as_ref()))]
    NotKept { name: String, directory: Option<std::path::PathBuf> },
    #[error("the changes of \"{name}\" are not in the repository of {} any more", directory.display())]
    Gone { name: String, directory: std::path::PathBuf },
    #[error("\"{0}\" changed nothing")]
    Nothing(String),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn remaining(directory: Option<&std::path::PathBuf>) -> String {
    directory.map(|path| format!("; they are in {}", path.display())).unwrap_or_default()
}

/// Changes with the repository that has them.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub struct OpenChanges {
    pub repository: Repository,
    pub change: Change,
    layout: WorktreeLayout,
}

/// What came of bringing changes somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    #[expect(missing_docs, reason = "the name says it")]
    pub landed: Landed,
    /// Whether everything was there already, so that nothing was written.
    pub was_there: bool,
}

/// By which a file that git has written is told from the one before. git writes a file anew.
#[derive(PartialEq)]
struct FileTrace {
    inode: u64,
    size: u64,
    /// In seconds and nanoseconds.
    changed_at: (i64, i64),
}

impl FileTrace {
    fn of(path: &Path) -> Option<FileTrace> {
        let found = path.symlink_metadata().ok()?;
        let changed_at = (found.ctime(), found.ctime_nsec());
        Some(FileTrace { inode: found.ino(), size: found.size(), changed_at })
    }
}

impl RunChanges {
    /// The changes of the run in this directory. If it has lost its supervisor, it is ended first.
    pub fn read(dir: RunDir) -> Result<RunChanges, ChangesError> {
        RunChanges::of(KnownRun::read(dir)?)
    }

    fn of(run: KnownRun) -> Result<RunChanges, ChangesError> {
        let KnownRun { dir, meta, result } = run;
        let name = || meta.name.clone();
        if meta.worktree.is_none() {
            return Err(ChangesError::NoWorktree(name()));
        }
        let result = result.ok_or_else(|| ChangesError::Running(name()))?;
        let changes =
            result.changes.as_deref().cloned().ok_or_else(|| ChangesError::Nothing(name()))?;
        let state = dir.changes_state();
        Ok(RunChanges { dir, meta, result, changes, state })
    }

    /// All runs of a project that have changes, oldest first. A run that added nothing to what an earlier run of its session
    /// had changed has the state of that one.
    pub fn all(store: &Store) -> Result<Vec<RunChanges>, StoreError> {
        let runs = store.runs()?.into_iter().filter(has_worktree);
        let mut all: Vec<RunChanges> = runs.filter_map(|dir| RunChanges::read(dir).ok()).collect();
        for index in 0..all.len() {
            let (earlier, later) = all.split_at_mut(index);
            let Some(changes) = later.first_mut().filter(|changes| changes.state.is_none()) else {
                continue;
            };
            let repeated = earlier.iter().rev().find(|one| changes.repeats(one));
            changes.state = repeated.and_then(|one| one.state);
        }
        Ok(all)
    }

    /// Whether these are the changes of an earlier run of the session, with which the user did something.
    fn repeats(&self, earlier: &RunChanges) -> bool {
        let counts = |of: &Changes| (of.files, of.insertions, of.deletions);
        if earlier.state.is_none()
            || earlier.meta.session_id != self.meta.session_id
            || counts(&earlier.changes) != counts(&self.changes)
        {
            return false;
        }
        let between = earlier.changes.result.clone().zip(self.changes.result.clone());
        let Some((base, result)) = between.filter(|_| self.changes.has_diff()) else {
            return false;
        };
        let files =
            self.open().and_then(|open| Ok(Change { base, result }.files(&open.repository)?));
        files.is_ok_and(|files| files.is_empty())
    }

    /// The word for what the user did with them, or could do.
    pub fn state_word(&self) -> &'static str {
        match self.state {
            Some(state) => state.word(),
            None if self.changes.is_empty() => "empty",
            None => "open",
        }
    }

    /// Finds them in their repository.
    pub fn open(&self) -> Result<OpenChanges, ChangesError> {
        let name = || self.meta.name.clone();
        let directory = || self.changes.directory.clone();
        let layout =
            runner::worktree_layout(&self.meta)?.ok_or_else(|| ChangesError::NoWorktree(name()))?;
        if self.changes.reference.is_none() {
            return Err(ChangesError::NotKept { name: name(), directory: directory() });
        }
        let cwd = &self.meta.cwd;
        let cwd = cwd.ancestors().find(|ancestor| ancestor.is_dir()).unwrap_or(cwd);
        let repository = Repository::find(cwd)?;
        let change = Change::of(&layout, &repository)?;
        let gone = || ChangesError::Gone { name: name(), directory: self.meta.cwd.clone() };
        Ok(OpenChanges { change: change.ok_or_else(gone)?, repository, layout })
    }

    /// Brings them into the user's working tree.
    pub fn apply(&self) -> Result<Settled, ChangesError> {
        let open = self.open()?;
        let files = open.files()?;
        let look = || -> Vec<Option<FileTrace>> {
            files.iter().map(|file| FileTrace::of(&open.repository.top.join(&file.path))).collect()
        };
        let before = look();
        let landed = workspace::apply(&open.repository, &open.change, &open.layout)?;
        let was_there = before == look();
        self.settle(&landed, ChangesState::Applied)?;
        Ok(Settled { landed, was_there })
    }

    /// Commits them to the user's branch.
    pub fn merge(&self) -> Result<Settled, ChangesError> {
        let open = self.open()?;
        let Meta { name, run_id, session_id, .. } = &self.meta;
        let message = format!("{name}\n\nRun: {run_id}\nSession: {session_id}");
        let landed = workspace::merge(&open.repository, &open.change, &message)?;
        self.settle(&landed, ChangesState::Merged)?;
        let was_there = landed == Landed::Done(None);
        Ok(Settled { landed, was_there })
    }

    /// Marks them as not wanted. They go when the run goes.
    pub fn discard(&self) -> Result<Settled, ChangesError> {
        self.dir.mark_changes(ChangesState::Discarded)?;
        Ok(Settled { landed: Landed::Done(None), was_there: false })
    }

    fn settle(&self, landed: &Landed, state: ChangesState) -> Result<(), ChangesError> {
        if let Landed::Done(_) = landed {
            self.dir.mark_changes(state)?;
        }
        Ok(())
    }
}

impl OpenChanges {
    /// The files that were changed.
    pub fn files(&self) -> Result<Vec<ChangedFile>, ChangesError> {
        Ok(self.change.files(&self.repository)?)
    }

    /// The diff, as git prints it.
    pub fn diff(&self) -> Result<Vec<u8>, ChangesError> {
        Ok(workspace::diff(&self.repository, &self.change)?)
    }
}

/// Which results of a call cannot be merged together, in a sentence for each pair.
pub fn conflict_warnings<'a>(
    tasks: impl IntoIterator<Item = (&'a Meta, &'a RunResult)>,
) -> Vec<String> {
    let mut names = Vec::new();
    let mut changes = Vec::new();
    let mut repository: Option<Repository> = None;
    for (meta, result) in tasks {
        let Some(Changes { base: Some(base), result: Some(commit), files: 1.., .. }) =
            result.changes.as_deref()
        else {
            continue;
        };
        match &repository {
            None => repository = Repository::find(&meta.cwd).ok(),
            // Results of another repository cannot conflict with these.
            Some(known) if !meta.cwd.starts_with(&known.top) => continue,
            Some(_) => {}
        }
        names.push(meta.name.as_str());
        changes.push(Change { base: base.clone(), result: commit.clone() });
    }
    let Some(repository) = repository.filter(|_| changes.len() > 1) else { return Vec::new() };
    match workspace::conflicts(&repository, &changes) {
        Ok(found) => found
            .iter()
            .map(|conflict| {
                let (one, other) = conflict.between;
                format!(
                    "The changes of \"{}\" and \"{}\" conflict in {}",
                    names[one],
                    names[other],
                    conflict.files.join(", ")
                )
            })
            .collect(),
        Err(error) => vec![format!("It is not known which changes conflict: {error}")],
    }
}

fn has_worktree(dir: &RunDir) -> bool {
    #[derive(serde::Deserialize)]
    struct Worktree {
        worktree: Option<serde::de::IgnoredAny>,
    }
    dir.meta_as::<Worktree>().is_ok_and(|meta| meta.worktree.is_some())
}
