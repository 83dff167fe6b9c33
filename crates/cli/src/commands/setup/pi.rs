//! `setup pi`: the extension for pi.

use std::env;
use std::path::{Path, PathBuf};

use model::variables;
use plan::Surroundings;
use serde_json::{Value, json};
use setup::Change;
use setup::pi::{Installed, Removed};

use super::{own_file, warn_of_another};
use crate::arguments::SetupPi;
use crate::commands::named_program::NamedProgram;
use crate::error::CommandError;
use crate::printer::Printer;

pub(super) fn setup_pi(arguments: &SetupPi, printer: &Printer) -> Result<(), CommandError> {
    let SetupPi { remove, dry_run, .. } = *arguments;
    let Surroundings { agent_dir, search_path, .. } = Surroundings::of_this_process()?;
    if remove {
        let do_remove = if dry_run { setup::pi::preview_removal } else { setup::pi::remove };
        return report_removal(&do_remove(&agent_dir)?, arguments, printer);
    }
    let own_file = own_file()?;
    let install = if dry_run { setup::pi::preview_installation } else { setup::pi::install };
    let installed = install(&agent_dir, &own_file)?;
    report_installation(&installed, arguments, printer)?;
    if let Some(warning) = not_found_by_pi(&agent_dir) {
        printer.warning(&warning);
    }
    warn_of_another(&NamedProgram::find(&own_file, search_path), &own_file, printer);
    Ok(())
}

fn report_installation(
    installed: &Installed,
    &SetupPi { json, dry_run, .. }: &SetupPi,
    printer: &Printer,
) -> Result<(), CommandError> {
    let directory = installed.directory.display();
    let version = env!("CARGO_PKG_VERSION");
    if json {
        let files = installed.files.iter();
        let files =
            files.map(|(path, change)| json!({"path": shown(path), "change": word(*change)}));
        return printer.json(&json!({
            "directory": directory.to_string(),
            "version": version,
            "dryRun": dry_run,
            "files": files.collect::<Value>(),
            "kept": all_shown(&installed.foreign),
        }));
    }
    for (path, change) in &installed.files {
        let done = match change {
            Change::Unchanged => continue,
            Change::Created if dry_run => "would create",
            Change::Replaced if dry_run => "would replace",
            change => word(*change),
        };
        printer.note(&format!("{done} {}", path.display()));
    }
    note_foreign(&installed.foreign, printer);
    if installed.is_unchanged() {
        return printer
            .answer(&format!("Already up to date: pi-subagents {version} in {directory}"));
    }
    let done = match (installed.is_new(), dry_run) {
        (true, false) => "Installed",
        (false, false) => "Updated",
        (true, true) => "Would install",
        (false, true) => "Would update",
    };
    printer.answer(&format!("{done} pi-subagents {version} for pi in {directory}"))?;
    if dry_run {
        return Ok(());
    }
    printer.hint(
        "start pi, or type /reload in a running one; `/profile` lists the profiles there, and \
         `pi-subagents setup pi --remove` undoes this",
    );
    Ok(())
}

fn report_removal(
    removed: &Removed,
    &SetupPi { json, dry_run, .. }: &SetupPi,
    printer: &Printer,
) -> Result<(), CommandError> {
    let directory = removed.directory.display();
    if json {
        return printer.json(&json!({
            "directory": directory.to_string(),
            "dryRun": dry_run,
            "removed": all_shown(&removed.removed),
            "kept": all_shown(&removed.foreign),
        }));
    }
    if removed.removed.is_empty() {
        return printer.answer(&format!("Nothing to remove: there is no extension in {directory}"));
    }
    let done = if dry_run { "would remove" } else { "removed" };
    for path in &removed.removed {
        printer.note(&format!("{done} {}", path.display()));
    }
    note_foreign(&removed.foreign, printer);
    if dry_run {
        return printer.answer(&format!("Would remove pi-subagents from {directory}"));
    }
    printer.answer(&format!("Removed pi-subagents from {directory}"))?;
    printer.hint("a running pi keeps the extension until it ends, or until `/reload`");
    Ok(())
}

fn note_foreign(paths: &[PathBuf], printer: &Printer) {
    for path in paths {
        printer.note(&format!("kept {}, which is not part of the extension", path.display()));
    }
}

/// Warns that pi will not find the extension: `PI_AGENT_DIR` is a variable of this program only.
fn not_found_by_pi(agent_dir: &Path) -> Option<String> {
    env::var_os(variables::PI_AGENT_DIR).filter(|value| !value.is_empty())?;
    let is_found =
        env::var_os(variables::PI_CODING_AGENT_DIR).is_some_and(|value| value == agent_dir);
    (!is_found).then(|| {
        format!(
            "pi itself ignores {}; it finds the extension only with {}={}",
            variables::PI_AGENT_DIR,
            variables::PI_CODING_AGENT_DIR,
            agent_dir.display()
        )
    })
}

fn word(change: Change) -> &'static str {
    match change {
        Change::Created => "created",
        Change::Replaced => "replaced",
        Change::Unchanged => "unchanged",
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn all_shown(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| shown(path)).collect()
}
