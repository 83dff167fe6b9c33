//! Why git could not do something, in words for people.

use std::io;
use std::path::PathBuf;

use process::OutputError;

/// Why a command of git did not succeed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum GitError {
    #[error("git cannot be used: {0}")]
    NotRun(OutputError),
    #[error("`git {command}` failed: {message}")]
    Failed { command: String, message: String },
    #[error("it was stopped")]
    Stopped,
    #[error("{} is a pipe, which git would wait for until a program writes into it: remove it", .0.display())]
    Pipe(PathBuf),
}

/// Why there is no worktree, or why the changes in one could not be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum WorkspaceError {
    #[error("the worktree has no commit, so there is nothing to send")]
    NothingToSend,
    #[error("the files that were sent are refused: {0}")]
    Hostile(String),
    #[error(
        "{} is in no git repository and too large to be sent to another machine: the limit is 64 MB and 10,000 files. Let \
         the task work in a smaller directory, or make a repository there",
        .0.display()
    )]
    TooLargeToTravel(PathBuf),
    #[error(
        "{} is not inside of a git repository, so there can be no worktree. Run `git init` there, or \
         leave out the isolation",
        .0.display()
    )]
    NoRepository(PathBuf),
    #[error(
        "{} is a repository without a working tree (bare), so there is nothing to start from. Let the \
         task work in a worktree of it",
        .0.display()
    )]
    Bare(PathBuf),
    #[error("the path of {}, or of its repository, has a line break, which git cannot tell apart", .0.display())]
    LineBreak(PathBuf),
    #[error(
        "the repository of {} has its working tree elsewhere, in {} (`core.worktree`). Let the task work there",
        directory.display(), top.display()
    )]
    Elsewhere { directory: PathBuf, top: PathBuf },
    #[error(
        "worktrees would be in {}, inside of the repository in {}, and `git add` there would take them as files. Set \
         PI_SUBAGENTS_STATE_DIR, or XDG_STATE_HOME, to a directory outside of it, or let git ignore that directory",
        worktrees.display(), top.display()
    )]
    Inside { worktrees: PathBuf, top: PathBuf },
    #[error(
        "the repository's own settings name the filter \"{filter}\", which would run a program. If you \
         trust it, put it into your own settings: git config --global filter.{filter}.clean …, and the same \
         for smudge and process"
    )]
    Filter { filter: String },
    #[error(
        "the repository's own settings name a program for Git LFS, \"{setting}\". If you trust it, put it into your own \
         settings: git config --global {setting} …"
    )]
    LfsProgram { setting: String },
    #[error("{} is not in your own directory of worktrees, so it stays as it is", .0.display())]
    NotOwn(PathBuf),
    #[error("the result of run {0} is not in this repository any more, so it cannot be continued")]
    NoResult(String),
    #[error("the ref {0}, from which the worktree started, is gone")]
    NoBase(String),
    #[error("{} cannot be {action}: {source}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
    #[error("the lock on {} cannot be had: {reason}", path.display())]
    Lock { path: PathBuf, reason: String },
    #[error("the repository has no commit yet, so there is nothing to merge into. Use `apply`")]
    NoCommit,
    #[error("HEAD moved meanwhile; nothing was changed. Try again")]
    HeadMoved,
    #[error(transparent)]
    Git(#[from] GitError),
}

impl WorkspaceError {
    /// Whether git was stopped because its caller wanted it.
    pub fn is_stopped(&self) -> bool {
        matches!(self, WorkspaceError::Git(GitError::Stopped))
    }

    pub(crate) fn file(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> WorkspaceError {
        let path = path.into();
        move |source| WorkspaceError::File { action, path, source }
    }
}
