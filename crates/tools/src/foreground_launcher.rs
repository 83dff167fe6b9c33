//! The launcher of foreground runs.

use std::io;
use std::path::PathBuf;

use plan::{LauncherChoiceError, LauncherKind, Surroundings};
use runner::{Launcher, TmuxError, TmuxPanes};

/// Runs cannot be started as the settings say.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum LauncherError {
    #[error(transparent)]
    Choice(#[from] LauncherChoiceError),
    #[error("this program cannot find itself: {0}")]
    NotFound(io::Error),
    #[error("runs cannot be shown in tmux: {source}")]
    Tmux { source: TmuxError, file: PathBuf },
}

impl LauncherError {
    /// What to do about it, where there is something to do.
    pub fn hint(&self) -> Option<String> {
        let LauncherError::Tmux { source, file } = self else {
            return None;
        };
        let remedy = match source {
            TmuxError::Outside | TmuxError::Refused(_) => "start tmux and repeat this in it",
            TmuxError::Missing(_) => "install tmux",
        };
        Some(format!("{remedy}, or say \"runner\": \"process\" in {}", file.display()))
    }

    /// The problem and what to do about it, in one sentence.
    pub fn with_hint(&self) -> String {
        let hint = self.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        format!("{self}{hint}")
    }
}

/// The launcher that the caller's settings ask for. What prevents it is found out here, before anything is
/// started.
pub fn foreground_launcher(surroundings: &Surroundings) -> Result<Launcher, LauncherError> {
    let choice = plan::load_launcher_choice(surroundings)?;
    let launcher = Launcher::own().map_err(LauncherError::NotFound)?;
    match choice.kind {
        LauncherKind::Process => Ok(launcher),
        LauncherKind::Tmux => match TmuxPanes::beside_this_pane() {
            Ok(panes) => Ok(launcher.with_panes(panes)),
            Err(source) => {
                let file = choice.file.unwrap_or_default();
                Err(LauncherError::Tmux { source, file })
            }
        },
    }
}
