//! Errors of `setup`.

use std::io;
use std::path::PathBuf;

use crate::config::ConfigError;

/// Why something cannot be installed or removed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum SetupError {
    #[error("{} is not a directory of its own, but a link or a file", .0.display())]
    NotADirectory(PathBuf),
    #[error("{} holds something that is not pi-subagents", .0.display())]
    NotOurs(PathBuf),
    #[error("{} is not a link, but something that was put there by hand", .0.display())]
    NotALink(PathBuf),
    #[error("{} is a link to {}, which is not there", path.display(), target.display())]
    Dangling { path: PathBuf, target: PathBuf },
    #[error("{} is not a file", .0.display())]
    NotAFile(PathBuf),
    #[error("{}, line {line}: this is not UTF-8", path.display())]
    NotUtf8 { path: PathBuf, line: usize },
    #[error("{}, {error}", path.display())]
    Config { path: PathBuf, error: ConfigError },
    #[error("{}, line {line}: another server is called pi-subagents", path.display())]
    AnotherServer { path: PathBuf, line: usize },
    #[error("{} has just been changed by another program", .0.display())]
    JustChanged(PathBuf),
    #[error("there is no home directory")]
    NoHome,
    #[error("{} is the home directory, and no project", .0.display())]
    NoProject(PathBuf),
    #[error("{} cannot be {action}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
}

impl SetupError {
    /// Whether nothing was tried because of what exists already.
    pub fn is_refusal(&self) -> bool {
        !matches!(self, SetupError::Io { .. } | SetupError::JustChanged(_))
    }
}
