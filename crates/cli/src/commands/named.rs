//! Runs and sessions as users name them: by an id or its beginning, by the name of a task, or `@last`.

use plan::did_you_mean;
use tools::NameError;

use crate::error::CommandError;

/// What to do about a word that names no background run.
pub(super) fn refused_in_background(error: NameError) -> CommandError {
    let list = "`pi-subagents bg list --all --everyone` lists the background runs of this project";
    refused(error, list)
}

/// What to do about an id that names no session.
pub(crate) fn not_found_hint(similar: &[String], list: &str) -> String {
    format!("{} {list}", did_you_mean(similar)).trim_start().to_owned()
}

/// What to do about a word that names none of those in the list.
pub(crate) fn refused(error: NameError, list: &str) -> CommandError {
    let refused = CommandError::usage(&error);
    match error {
        NameError::NotFound { similar, .. } => refused.hint(not_found_hint(&similar, list)),
        NameError::NotInBackground(word) => {
            refused.hint(format!("`pi-subagents sessions show {word}` shows what it did and said"))
        }
        NameError::Ambiguous { .. } => refused.hint("give more of the id, or the task's name"),
        NameError::SeveralRuns { .. } => refused.hint("give the id or the name of one of them"),
        NameError::Store(error) => error.into(),
    }
}
