//! `profile`: how agents can be configured.

use plan::{Profile, ProfileDirectories, Surroundings, profile_detail, profile_summary};
use serde::Serialize;
use tools::Workspace;

use crate::arguments::{Profile as ProfileArguments, ProfileCommand};
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(crate) fn profile(
    arguments: ProfileArguments,
    printer: &Printer,
) -> Result<Exit, CommandError> {
    let workspace = Workspace::load(Surroundings::of_this_process()?, None);
    for warning in &workspace.warnings {
        printer.warning(warning);
    }
    match arguments.command {
        ProfileCommand::List { json } => list(&workspace, json, printer),
        ProfileCommand::Show { name, json } => show(&workspace, &name, json, printer),
        ProfileCommand::Delete { name, json } => delete(&workspace, &name, json, printer),
    }
}

fn list(workspace: &Workspace, json: bool, printer: &Printer) -> Result<Exit, CommandError> {
    if json {
        let profiles = workspace.profiles.iter().map(ProfileReport::from).collect();
        printer.json(&ProfilesDocument { profiles, warnings: &workspace.warnings })?;
    } else if workspace.profiles.iter().len() == 0 {
        printer.note(tools::NO_PROFILES);
    } else {
        printer.answer(&tools::list_profiles(&workspace.profiles))?;
    }
    Ok(Exit::Completed)
}

fn show(
    workspace: &Workspace,
    name: &str,
    json: bool,
    printer: &Printer,
) -> Result<Exit, CommandError> {
    let profile = find(workspace, name)?;
    if json {
        printer.json(&ProfileReport::from(profile))?;
    } else {
        printer.answer(&profile_detail(profile))?;
    }
    Ok(Exit::Completed)
}

fn delete(
    workspace: &Workspace,
    name: &str,
    json: bool,
    printer: &Printer,
) -> Result<Exit, CommandError> {
    find(workspace, name)?;
    let directories = ProfileDirectories::of(&workspace.surroundings);
    let deleted = plan::delete_profile(&directories, name)
        .map_err(|error| CommandError::failure(error.to_string()))?;
    if json {
        let deleted = deleted.iter().map(|path| path.display().to_string()).collect();
        printer.json(&DeletedDocument { deleted })?;
    } else {
        for path in &deleted {
            printer.note(&format!("removed {}", path.display()));
        }
        printer.answer(&format!("Profile \"{name}\" deleted."))?;
    }
    Ok(Exit::Completed)
}

fn find<'a>(workspace: &'a Workspace, name: &str) -> Result<&'a Profile, CommandError> {
    workspace.profiles.get(name).map_err(|unknown| {
        let available = match unknown.available.as_slice() {
            [] => "(none)".to_owned(),
            names => names.join(", "),
        };
        CommandError::usage(format!("Profile \"{name}\" not found. Available: {available}"))
    })
}

#[derive(Serialize)]
struct ProfilesDocument<'a> {
    profiles: Vec<ProfileReport<'a>>,
    warnings: &'a [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProfileReport<'a> {
    name: &'a str,
    scope: &'static str,
    path: String,
    provider: Option<&'a str>,
    model: Option<&'a str>,
    thinking_level: Option<&'static str>,
    /// Masked.
    api_key: Option<String>,
    summary: String,
}

impl<'a> From<&'a Profile> for ProfileReport<'a> {
    fn from(profile: &'a Profile) -> ProfileReport<'a> {
        ProfileReport {
            name: &profile.name,
            scope: profile.scope.word(),
            path: profile.path.display().to_string(),
            provider: profile.provider.as_deref(),
            model: profile.model.as_deref(),
            thinking_level: profile.thinking_level.map(plan::ThinkingLevel::word),
            api_key: profile.api_key.as_ref().map(ToString::to_string),
            summary: profile_summary(profile),
        }
    }
}

#[derive(Serialize)]
struct DeletedDocument {
    deleted: Vec<String>,
}
