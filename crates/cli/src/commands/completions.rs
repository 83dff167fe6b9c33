//! `completions`: the script for a shell.

use std::env;

use clap_complete::env::{Bash, EnvCompleter, Fish, Zsh};
use model::variables;

use super::setup::{is_found_by_name, own_file};
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
    printer.script(&script)?;
    Ok(Exit::Completed)
}

/// How the script starts this program: by its name if `PATH` leads to it, because a name stays valid
/// after an update, and else by its path.
fn completer() -> Result<String, CommandError> {
    let own = own_file()?;
    let path = env::var_os("PATH").unwrap_or_default();
    let is_found = is_found_by_name(&own, env::split_paths(&path));
    Ok(if is_found { NAME.to_owned() } else { own.to_string_lossy().into_owned() })
}
