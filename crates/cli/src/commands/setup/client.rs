//! `setup claude` and the like: an entry for this program in the configuration of an MCP client.

use std::env;

use plan::Surroundings;
use serde_json::{Value, json};
use setup::SetupError;
use setup::clients::{Environment, Outcome, Report, Scope, Setup};

use super::{own_file, warn_of_another};
use crate::arguments::{NAME, SetupClient, SetupScope};
use crate::commands::named_program::NamedProgram;
use crate::error::CommandError;
use crate::printer::Printer;

pub(super) fn setup_client(
    SetupClient { client, arguments }: &SetupClient,
    printer: &Printer,
) -> Result<(), CommandError> {
    let surroundings = Surroundings::of_this_process()?;
    let own_file = own_file()?;
    let program = own_file.to_str().ok_or_else(|| {
        CommandError::usage(format!("{} is not valid UTF-8", own_file.display()))
            .hint("move this program to a path that is valid UTF-8")
    })?;
    let named = NamedProgram::find(&own_file, surroundings.search_path.iter().cloned());
    let setup = Setup {
        client,
        scope: match arguments.scope {
            SetupScope::User => Scope::User,
            SetupScope::Project => Scope::Project,
        },
        environment: Environment {
            home: surroundings.home.clone(),
            cwd: surroundings.cwd.clone(),
            project: surroundings.project_root().to_owned(),
            variable: Box::new(|name| env::var_os(name)),
            is_macos: cfg!(target_os = "macos"),
        },
        program: program.to_owned(),
        is_found_by_name: named.is_ours(),
        is_dry_run: arguments.dry_run,
    };
    let done = if arguments.remove { setup.remove() } else { setup.install() };
    let report = done.map_err(|error| explained(error, &setup))?;
    if arguments.json {
        printer.json(&document(&setup, &report))?;
    } else {
        tell(&setup, &report, printer)?;
    }
    if let Some(warning) = wrong_program(&setup, &report) {
        printer.warning(&warning);
    }
    warn_of_another(&named, &own_file, printer);
    Ok(())
}

fn tell(setup: &Setup, report: &Report, printer: &Printer) -> Result<(), CommandError> {
    let title = setup.client.title;
    let path = report.path.display();
    if !report.diff.is_empty() {
        printer.diff(&report.diff);
    }
    let words = |done: &str, planned: &str| {
        if setup.is_dry_run { format!("Would {planned}") } else { done.to_owned() }
    };
    let answer = match report.outcome {
        Outcome::Created => format!("{} {path}, for {title}", words("Created", "create")),
        Outcome::Added => {
            format!("{} pi-subagents to {path}, for {title}", words("Added", "add"))
        }
        Outcome::Updated => {
            format!("{} pi-subagents in {path}, for {title}", words("Updated", "update"))
        }
        Outcome::Unchanged => format!("Already up to date: pi-subagents in {path}"),
        Outcome::Restored => {
            format!("{} {path} to what it was before", words("Restored", "restore"))
        }
        Outcome::Deleted => {
            format!("{} {path}, which had no other content", words("Deleted", "delete"))
        }
        Outcome::TakenOut => format!(
            "{} pi-subagents from {path}; later changes to the file stay",
            words("Removed", "remove")
        ),
        Outcome::Nothing => format!("Nothing to remove: there is no pi-subagents in {path}"),
    };
    printer.answer(&answer)?;
    if let (Outcome::Nothing, Some(backup)) = (report.outcome, &report.backup) {
        printer.note(&format!("kept the backup {}", backup.display()));
    }
    let is_new = matches!(report.outcome, Outcome::Created | Outcome::Added | Outcome::Updated);
    if is_new && !setup.is_dry_run {
        if let Some(backup) = &report.backup {
            printer.note(&format!("backed up the file to {}", backup.display()));
        }
        if let Some(demand) = setup.client.demand {
            printer.note(demand);
        }
        let (name, next_step) = (setup.client.name, setup.client.next_step);
        let scope = match setup.scope {
            Scope::User => "",
            Scope::Project => " --scope project",
        };
        printer
            .hint(&format!("{next_step}; `pi-subagents setup {name}{scope} --remove` undoes this"));
    }
    Ok(())
}

/// Warns about an entry in a project's file that starts another program, or that works only here.
fn wrong_program(setup: &Setup, report: &Report) -> Option<String> {
    let program = report.program.as_deref()?;
    if setup.scope == Scope::User || setup.is_found_by_name {
        return None;
    }
    let path = report.path.display();
    Some(if program == NAME {
        format!("{path} names {NAME}, but on your PATH that is another program, or missing")
    } else {
        format!(
            "{path} names {program}, a path that others may not have; put {NAME} on your PATH and \
             repeat the command to write the name alone"
        )
    })
}

/// Adds a hint: fix the file, or add the entry by hand.
fn explained(error: SetupError, setup: &Setup) -> CommandError {
    let by_hand = || {
        let path =
            setup.path().map_or_else(|_| "its file".to_owned(), |path| path.display().to_string());
        format!("or add this to {path} by hand:\n{}", setup.snippet().trim_end())
    };
    let hint = match &error {
        SetupError::Config { .. } | SetupError::NotUtf8 { .. } => {
            format!("nothing was changed; fix the file and try again, {}", by_hand())
        }
        SetupError::AnotherServer { .. } => {
            "nothing was changed, because the entry does not start this program; rename or remove \
             it, and try again"
                .to_owned()
        }
        SetupError::Dangling { .. } | SetupError::NotAFile(_) => {
            "nothing was changed; replace it with a file, or remove it, and try again".to_owned()
        }
        SetupError::JustChanged(_) => {
            "nothing was changed; close the program that has it open, and try again".to_owned()
        }
        SetupError::NoProject(_) => "go to a project, or leave out `--scope project`".to_owned(),
        SetupError::NoHome => "set HOME".to_owned(),
        SetupError::Io { .. } => format!("check the permissions of the file, {}", by_hand()),
        _ => return error.into(),
    };
    CommandError::from(error).hint(hint)
}

fn document(setup: &Setup, report: &Report) -> Value {
    json!({
        "client": setup.client.name,
        "scope": match setup.scope {
            Scope::User => "user",
            Scope::Project => "project",
        },
        "path": report.path.display().to_string(),
        "change": match report.outcome {
            Outcome::Created => "created",
            Outcome::Added => "added",
            Outcome::Updated => "updated",
            Outcome::Unchanged => "unchanged",
            Outcome::Restored => "restored",
            Outcome::Deleted => "deleted",
            Outcome::TakenOut => "takenOut",
            Outcome::Nothing => "nothing",
        },
        "program": report.program,
        "backup": report.backup.as_ref().map(|path| path.display().to_string()),
        "dryRun": setup.is_dry_run,
        "diff": report.diff,
    })
}
