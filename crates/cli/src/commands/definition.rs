//! `profile` and `preset`.

use plan::{
    Definition, DefinitionDirectories, Definitions, Surroundings, definition_detail,
    definition_summary,
};
use serde::Serialize;
use serde_json::json;
use tools::Workspace;

use super::definition_edit::{Changes, Editing};
use crate::arguments::{Preset, PresetCommand, Profile, ProfileCommand};
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

pub(crate) fn profile(arguments: Profile, printer: &Printer) -> Result<Exit, CommandError> {
    let workspace = load(printer)?;
    let directories = DefinitionDirectories::of_profiles(&workspace.surroundings);
    let editing = Editing { workspace: &workspace, directories: &directories, printer };
    match arguments.command {
        ProfileCommand::List { json: true } => {
            let profiles = reports(&workspace.profiles);
            printer.json(&json!({"profiles": profiles, "warnings": workspace.all_warnings()}))
        }
        ProfileCommand::List { json: false } => {
            let none = tools::no_profiles(&workspace.surroundings);
            let lines = tools::list_profiles(&workspace.profiles, &workspace.surroundings);
            list(&workspace.profiles, &lines, &none, printer)
        }
        ProfileCommand::Show { name, json } => show(&workspace.profiles, &name, json, printer),
        ProfileCommand::Create { name, fields, json } => {
            editing.create(&name, &Changes::from(&*fields), json)
        }
        ProfileCommand::Edit { name, editor, fields, json } => {
            editing.edit(&name, editor, &Changes::from(&*fields), json)
        }
        ProfileCommand::Import { name, project, json } => editing.import(&name, project, json),
        ProfileCommand::Delete { name, json } => editing.delete(&name, json),
    }
    .map(|()| Exit::Completed)
}

pub(crate) fn preset(arguments: Preset, printer: &Printer) -> Result<Exit, CommandError> {
    let workspace = load(printer)?;
    let directories = DefinitionDirectories::of_presets(&workspace.surroundings);
    let editing = Editing { workspace: &workspace, directories: &directories, printer };
    match arguments.command {
        PresetCommand::List { json: true } => {
            let presets = reports(&workspace.presets);
            printer.json(&json!({"presets": presets, "warnings": workspace.all_warnings()}))
        }
        PresetCommand::List { json: false } => {
            let none = tools::no_presets(&workspace.surroundings);
            let lines = tools::list_presets(&workspace.presets, &workspace.surroundings);
            list(&workspace.presets, &lines, &none, printer)
        }
        PresetCommand::Show { name, json } => show(&workspace.presets, &name, json, printer),
        PresetCommand::Create { name, fields, json } => {
            editing.create(&name, &Changes::from(&*fields), json)
        }
        PresetCommand::Edit { name, editor, fields, json } => {
            editing.edit(&name, editor, &Changes::from(&*fields), json)
        }
        PresetCommand::Delete { name, json } => editing.delete(&name, json),
    }
    .map(|()| Exit::Completed)
}

fn load(printer: &Printer) -> Result<Workspace, CommandError> {
    let workspace = Workspace::load(Surroundings::of_this_process()?, None);
    for warning in workspace.all_warnings() {
        printer.warning(&warning);
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
    /// `own`, or `claude` for a definition of Claude Code.
    origin: &'static str,
    /// The fields of such a definition that have no effect here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_taken_over: Vec<&'static str>,
    path: String,
    provider: Option<&'a str>,
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    fallback_models: &'a [String],
    thinking_level: Option<&'static str>,
    tools: &'a [String],
    agent: Option<&'a str>,
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
            origin: definition.origin.word(),
            not_taken_over: definition.origin.left_out().to_vec(),
            path: definition.path.display().to_string(),
            provider: definition.configuration.provider.as_deref(),
            model: definition.configuration.model.as_deref(),
            fallback_models: &definition.configuration.fallback_models,
            thinking_level: definition.configuration.thinking_level.map(plan::ThinkingLevel::word),
            tools: &definition.configuration.tools,
            agent: definition.agent.as_deref(),
            timeout: definition.timeout,
            api_key: definition.configuration.api_key.as_ref().map(ToString::to_string),
            system_prompt: definition.configuration.system_prompt.as_deref(),
            append_system_prompt: definition.configuration.append_system_prompt.as_deref(),
            summary: definition_summary(definition),
        }
    }
}
