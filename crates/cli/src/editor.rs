//! The user's own editor.

use std::io::Write;
use std::path::Path;

use crate::error::CommandError;

/// Opens a file, and returns when the editor has exited.
pub(crate) fn edit_file(path: &Path) -> Result<(), CommandError> {
    let named = ["VISUAL", "EDITOR"].into_iter().filter_map(|name| std::env::var(name).ok());
    let editor = named.into_iter().find(|value| !value.trim().is_empty());
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    let failed = |reason: String| {
        CommandError::failure(format!("the editor {editor:?} {reason}"))
            .hint("set EDITOR to one that works, such as EDITOR=nano")
    };
    // The variable may have arguments, as in `code --wait`; a shell splits them.
    let command = format!("{editor} \"$@\"");
    let path = path.to_string_lossy();
    match process::run_in_foreground("/bin/sh", &["-c", &command, &editor, &path]) {
        Ok(true) => Ok(()),
        Ok(false) => Err(failed("exited with an error".to_owned())),
        Err(error) => Err(failed(format!("cannot be started: {error}"))),
    }
}

/// Lets the user edit a text, in a private temporary file.
pub(crate) fn edit_text(text: &str) -> Result<String, CommandError> {
    let failed =
        |error| CommandError::failure(format!("cannot give the text to an editor: {error}"));
    let mut file = tempfile::Builder::new()
        .prefix(model::paths::TEMPORARY_PREFIX)
        .suffix(".md")
        .tempfile()
        .map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(failed)?;
    edit_file(file.path())?;
    std::fs::read_to_string(file.path()).map_err(failed)
}
