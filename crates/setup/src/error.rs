//! Why something could not be set up.

use std::io;
use std::path::PathBuf;

/// Something cannot be put in its place, or be taken away.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum SetupError {
    #[error("{} is not a directory of its own, but a link or a file", .0.display())]
    NotADirectory(PathBuf),
    #[error("{} holds something that is not pi-subagents", .0.display())]
    NotOurs(PathBuf),
    #[error("{} is not a link, but something that was put there by hand", .0.display())]
    NotALink(PathBuf),
    #[error("{} cannot be {action}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
}

impl SetupError {
    /// Whether nothing was tried because of what is there.
    pub fn is_refusal(&self) -> bool {
        !matches!(self, SetupError::Io { .. })
    }
}
