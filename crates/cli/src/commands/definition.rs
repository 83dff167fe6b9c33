//! `profile` and `preset`.

use plan::{
    Definition, DefinitionDirectories, Definitions, Surroundings, definition_detail,
    definition_summary,
};
use serde::Serialize;
use serde_json::json;
use tools::Workspace;

use super::profile_edit;
use crate::arguments::{Preset, PresetCommand, Profile, ProfileCommand};
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(crate) fn profile(arguments: Profile, printer: &Printer) -> Result<Exit, CommandError> {
    let workspace = load(printer)?;
    match arguments.command {
        ProfileCommand::List { json: true } => {
            let profiles = reports(&workspace.profiles);
            printer.json(&json!({"profiles": profiles, "warnings": workspace.warnings}))
        }
        ProfileCommand::List { json: false } => {
            let none = tools::no_profiles(&workspace.surroundings);
            let lines = tools::list_profiles(&workspace.profiles, &workspace.surroundings);
            list(&workspace.profiles, &lines, &none, printer)
        }
        ProfileCommand::Show { name, json } => show(&workspace.profiles, &name, json, printer),
        ProfileCommand::Create { name, fields, json } => {
            profile_edit::create(&name, &fields, json, printer)
        }
        ProfileCommand::Edit { name, editor, fields, json } => {
            profile_edit::edit(&workspace.profiles, &name, (editor, &fields), json, printer)
        }
        ProfileCommand::Delete { name, json } => delete(&workspace, &name, json, printer),
    }
    .map(|()| Exit::Completed)
}

pub(crate) fn preset(arguments: Preset, printer: &Printer) -> Result<Exit, CommandError> {
    let workspace = load(printer)?;
    match arguments.command {
        PresetCommand::List { json: true } => {
            let presets = reports(&workspace.presets);
            printer.json(&json!({"presets": presets, "warnings": workspace.warnings}))
        }
        PresetCommand::List { json: false } => {
            let none = tools::no_presets(&workspace.surroundings);
            let lines = tools::list_presets(&workspace.presets, &workspace.surroundings);
            list(&workspace.presets, &lines, &none, printer)
        }
        PresetCommand::Show { name, json } => show(&workspace.presets, &name, json, printer),
    }
    .map(|()| Exit::Completed)
}

fn load(printer: &Printer) -> Result<Workspace, CommandError> {
    let workspace = Workspace::load(Surroundings::of_this_process()?, None);
    for warning in &workspace.warnings {
        printer.warning(warning);
    }
    Ok(workspace)
}

fn list(
    definitions: &Definitions,
    lines: &str,
    nothing: &str,
    printer: &Printer,
) -> Result<(), CommandError> {
    if definitions.iter().len() == 0 {
        printer.note(nothing);
        return Ok(());
    }
    printer.answer(lines)
}

fn show(
    definitions: &Definitions,
    name: &str,
    json: bool,
    printer: &Printer,
) -> Result<(), CommandError> {
    let definition = find(definitions, name)?;
    if json {
        printer.json(&DefinitionReport::new(definition))
    } else {
        printer.answer(&definition_detail(definition))
    }
}

fn delete(
    workspace: &Workspace,
    name: &str,
    json: bool,
    printer: &Printer,
) -> Result<(), CommandError> {
    find(&workspace.profiles, name)?;
    let directories = DefinitionDirectories::of_profiles(&workspace.surroundings);
    let deleted = plan::delete_definition(&directories, name).map_err(CommandError::failure)?;
    if json {
        let deleted: Vec<String> = deleted.iter().map(|path| path.display().to_string()).collect();
        return printer.json(&json!({"deleted": deleted}));
    }
    for path in &deleted {
        printer.note(&format!("removed {}", path.display()));
    }
    printer.answer(&format!("Profile \"{name}\" deleted."))
}

pub(super) fn find<'a>(
    definitions: &'a Definitions,
    name: &str,
) -> Result<&'a Definition, CommandError> {
    definitions.get(name).map_err(|unknown| CommandError::usage(unknown.not_found()))
}

fn reports(definitions: &Definitions) -> Vec<DefinitionReport<'_>> {
    definitions.iter().map(DefinitionReport::new).collect()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DefinitionReport<'a> {
    name: &'a str,
    description: Option<&'a str>,
    scope: &'static str,
    path: String,
    provider: Option<&'a str>,
    model: Option<&'a str>,
    thinking_level: Option<&'static str>,
    tools: &'a [String],
    agent: Option<&'static str>,
    /// In seconds, for presets only.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<f64>,
    /// Masked.
    api_key: Option<String>,
    system_prompt: Option<&'a str>,
    append_system_prompt: Option<&'a str>,
    summary: String,
}

impl<'a> DefinitionReport<'a> {
    fn new(definition: &'a Definition) -> DefinitionReport<'a> {
        DefinitionReport {
            name: &definition.name,
            description: definition.description.as_deref(),
            scope: definition.scope.word(),
            path: definition.path.display().to_string(),
            provider: definition.configuration.provider.as_deref(),
            model: definition.configuration.model.as_deref(),
            thinking_level: definition.configuration.thinking_level.map(plan::ThinkingLevel::word),
            tools: &definition.configuration.tools,
            agent: definition.agent.map(plan::AgentName::word),
            timeout: definition.timeout,
            api_key: definition.configuration.api_key.as_ref().map(ToString::to_string),
            system_prompt: definition.configuration.system_prompt.as_deref(),
            append_system_prompt: definition.configuration.append_system_prompt.as_deref(),
            summary: definition_summary(definition),
        }
    }
}
