//! `setup claude` and the like: this program as a server in the configuration of a client.

use std::env;
use std::path::Path;

use plan::Surroundings;
use serde::Serialize;
use setup::SetupError;
use setup::clients::{Environment, Outcome, Report, Scope, Setup};

use super::own_file;
use crate::arguments::{ClientArguments, NAME, SetupClient, SetupScope};
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
            .hint("move this program to a path that every program can read")
    })?;
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
        is_found_by_name: is_found_by_name(&surroundings, &own_file),
        is_dry_run: arguments.dry_run,
    };
    let done = if arguments.remove { setup.remove() } else { setup.install() };
    let report = done.map_err(|error| explained(error, &setup))?;
    if arguments.json {
        printer.json(&Document::new(&setup, &report, arguments))?;
    } else {
        tell(&setup, &report, printer)?;
    }
    if let Some(warning) = of_no_use_to_others(&setup, &report) {
        printer.warning(&warning);
    }
    Ok(())
}

/// Whether the name of this program leads to it for everybody who has this `PATH`.
fn is_found_by_name(surroundings: &Surroundings, own_file: &Path) -> bool {
    let found = surroundings.search_path.iter().map(|directory| directory.join(NAME));
    let mut found = found.filter(|path| path.is_file());
    found.next().and_then(|path| path.canonicalize().ok()) == own_file.canonicalize().ok()
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
            format!("{} {path} as it was before", words("Restored", "restore"))
        }
        Outcome::Deleted => {
            format!("{} {path}, with nothing else in it", words("Deleted", "delete"))
        }
        Outcome::TakenOut => format!(
            "{} pi-subagents out of {path}; what else was changed since stays",
            words("Took", "take")
        ),
        Outcome::Nothing => format!("Nothing to remove: there is no pi-subagents in {path}"),
    };
    printer.answer(&answer)?;
    if let (Outcome::Nothing, Some(backup)) = (report.outcome, &report.backup) {
        printer.note(&format!("kept {}, from before the entry was there", backup.display()));
    }
    let is_new = matches!(report.outcome, Outcome::Created | Outcome::Added | Outcome::Updated);
    if is_new && !setup.is_dry_run {
        if let Some(backup) = &report.backup {
            printer.note(&format!("kept {} as it was before", backup.display()));
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

/// Why an entry in a project's file will not start this program for others, or here.
fn of_no_use_to_others(setup: &Setup, report: &Report) -> Option<String> {
    let program = report.program.as_deref()?;
    if setup.scope == Scope::User || setup.is_found_by_name {
        return None;
    }
    let path = report.path.display();
    Some(if program == NAME {
        format!("{path} names {NAME}, which on this PATH is missing, or another one")
    } else {
        format!(
            "{path} names {program}, which only you may have; where {NAME} is on the PATH, \
             its name alone is written"
        )
    })
}

/// What to do about it: correct the file, or put the entry in by hand.
fn explained(error: SetupError, setup: &Setup) -> CommandError {
    let by_hand = || {
        let path =
            setup.path().map_or_else(|_| "its file".to_owned(), |path| path.display().to_string());
        format!("or put this into {path} by hand:\n{}", setup.snippet().trim_end())
    };
    let hint = match &error {
        SetupError::Config { .. } | SetupError::NotUtf8 { .. } => {
            format!("nothing was changed; correct it and try again, {}", by_hand())
        }
        SetupError::AnotherServer { .. } => {
            "nothing was changed, because it does not start this program; give it another name, \
             or take it out, and try again"
                .to_owned()
        }
        SetupError::Dangling { .. } | SetupError::NotAFile(_) => {
            "nothing was changed; make it a file, or take it away, and try again".to_owned()
        }
        SetupError::JustChanged(_) => {
            "nothing was changed; close what has it open, and try again".to_owned()
        }
        SetupError::NoProject(_) => "go to a project, or leave out `--scope project`".to_owned(),
        SetupError::NoHome => "set HOME".to_owned(),
        SetupError::Io { .. } => format!("see who may read and write it, {}", by_hand()),
        _ => return error.into(),
    };
    let message = error.to_string();
    if error.is_refusal() {
        CommandError::usage(message).hint(hint)
    } else {
        CommandError::failure(message).hint(hint)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    client: &'static str,
    scope: &'static str,
    path: String,
    change: &'static str,
    program: Option<&'a str>,
    backup: Option<String>,
    dry_run: bool,
    diff: &'a str,
}

impl<'a> Document<'a> {
    fn new(setup: &Setup, report: &'a Report, arguments: &ClientArguments) -> Document<'a> {
        Document {
            client: setup.client.name,
            scope: match setup.scope {
                Scope::User => "user",
                Scope::Project => "project",
            },
            path: report.path.display().to_string(),
            change: match report.outcome {
                Outcome::Created => "created",
                Outcome::Added => "added",
                Outcome::Updated => "updated",
                Outcome::Unchanged => "unchanged",
                Outcome::Restored => "restored",
                Outcome::Deleted => "deleted",
                Outcome::TakenOut => "takenOut",
                Outcome::Nothing => "nothing",
            },
            program: report.program.as_deref(),
            backup: report.backup.as_ref().map(|path| path.display().to_string()),
            dry_run: arguments.dry_run,
            diff: &report.diff,
        }
    }
}
