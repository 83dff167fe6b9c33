//! What agents changed in worktrees of their own, and what users do with it.

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

    /// All runs of a project that have changes, oldest first.
    pub fn all(store: &Store) -> Result<Vec<RunChanges>, StoreError> {
        let runs = store.runs()?.into_iter().filter(has_worktree);
        Ok(runs.filter_map(|dir| RunChanges::read(dir).ok()).collect())
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
    pub fn apply(&self) -> Result<Landed, ChangesError> {
        let open = self.open()?;
        let landed = workspace::apply(&open.repository, &open.change, &open.layout)?;
        self.settle(&landed, ChangesState::Applied)?;
        Ok(landed)
    }

    /// Commits them to the user's branch.
    pub fn merge(&self) -> Result<Landed, ChangesError> {
        let open = self.open()?;
        let Meta { name, run_id, session_id, .. } = &self.meta;
        let message = format!("{name}\n\nRun: {run_id}\nSession: {session_id}");
        let landed = workspace::merge(&open.repository, &open.change, &message)?;
        self.settle(&landed, ChangesState::Merged)?;
        Ok(landed)
    }

    /// Marks them as not wanted. They go when the run goes.
    pub fn discard(&self) -> Result<(), ChangesError> {
        Ok(self.dir.mark_changes(ChangesState::Discarded)?)
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
