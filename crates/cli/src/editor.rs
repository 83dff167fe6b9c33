//! The user's own editor.

use std::io::Write;
use std::path::Path;

use crate::error::CommandError;

/// Opens a file, and returns when the editor has ended.
pub(crate) fn edit_file(path: &Path) -> Result<(), CommandError> {
    let named = ["VISUAL", "EDITOR"].into_iter().filter_map(|name| std::env::var(name).ok());
    let editor = named.into_iter().find(|value| !value.trim().is_empty());
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    let failed = |reason: String| {
        CommandError::failure(format!("the editor {editor:?} {reason}"))
            .hint("set EDITOR to one that works, such as EDITOR=nano")
    };
    // It may have arguments of its own, as in `code --wait`; a shell takes them apart.
    let command = format!("{editor} \"$@\"");
    let path = path.to_string_lossy();
    match process::run_in_foreground("/bin/sh", &["-c", &command, &editor, &path]) {
        Ok(true) => Ok(()),
        Ok(false) => Err(failed("did not end well; nothing was taken over".to_owned())),
        Err(error) => Err(failed(format!("cannot be started: {error}"))),
    }
}

/// Has a text changed, in a private file that is gone afterwards.
pub(crate) fn edit_text(text: &str) -> Result<String, CommandError> {
    let failed =
        |error| CommandError::failure(format!("the text cannot be handed to an editor: {error}"));
    let mut file = tempfile::Builder::new()
        .prefix("pi-subagents-")
        .suffix(".md")
        .tempfile()
        .map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(failed)?;
    edit_file(file.path())?;
    std::fs::read_to_string(file.path()).map_err(failed)
}
