//! `completions`: the script that teaches a shell our commands and names.

use std::env;
use std::fs;
use std::path::PathBuf;

use clap_complete::env::{Bash, EnvCompleter, Fish, Zsh};
use model::variables;

use crate::arguments::{Completions, NAME, Shell};
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(crate) fn completions(
    arguments: &Completions,
    printer: &Printer,
) -> Result<Exit, CommandError> {
    let shell: &dyn EnvCompleter = match arguments.shell {
        Shell::Bash => &Bash,
        Shell::Zsh => &Zsh,
        Shell::Fish => &Fish,
    };
    let mut script = Vec::new();
    shell
        .write_registration(variables::COMPLETE, NAME, NAME, &completer()?, &mut script)
        .map_err(CommandError::failure)?;
    printer.script(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Completed)
}

/// How the script starts this program: by its name, which outlives an update, if that finds it, and
/// else by its path.
fn completer() -> Result<String, CommandError> {
    let own = env::current_exe().and_then(fs::canonicalize).map_err(|error| {
        CommandError::failure(format!("the file of this program cannot be told: {error}"))
    })?;
    let path = env::var_os("PATH").unwrap_or_default();
    let mut places = env::split_paths(&path).map(|directory: PathBuf| directory.join(NAME));
    let first = places.find(|place| place.is_file());
    let is_found = first.and_then(|place| fs::canonicalize(place).ok()).is_some_and(|it| it == own);
    Ok(if is_found { NAME.to_owned() } else { own.to_string_lossy().into_owned() })
}
