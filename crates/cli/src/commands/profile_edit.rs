//! `profile create` and `profile edit`.

use plan::{
    AgentName, Definition, DefinitionDirectories, Definitions, Scope, Surroundings, ThinkingLevel,
    check_definition, check_definition_name, create_definition, load_definitions,
    update_definition,
};
use serde_json::json;

use crate::arguments::ProfileFields;
use crate::dialogs::TerminalDialogs;
use crate::editor;
use crate::error::CommandError;
use crate::printer::Printer;

pub(super) fn create(
    name: &str,
    fields: &ProfileFields,
    json: bool,
    printer: &Printer,
) -> Result<(), CommandError> {
    let surroundings = Surroundings::of_this_process()?;
    let directories = DefinitionDirectories::of_profiles(&surroundings);
    check_definition_name(directories.kind, name).map_err(CommandError::usage)?;
    let profiles = load_definitions(&directories);
    if let Ok(known) = profiles.get(name) {
        return Err(CommandError::usage(format!(
            "Profile \"{name}\" already exists: {}",
            known.path.display()
        ))
        .hint(format!("change it with `pi-subagents profile edit {name}`")));
    }
    if fields.are_absent() {
        return ask(&surroundings, name, None, printer);
    }
    let scope = if fields.project { Scope::Project } else { Scope::Global };
    let mut profile = Definition::new(name, scope, &directories);
    apply(fields, &mut profile)?;
    let path = create_definition(&directories, &profile).map_err(CommandError::usage)?;
    say_saved(&profile, &path.to_string_lossy(), json, printer)
}

pub(super) fn edit(
    profiles: &Definitions,
    name: &str,
    (with_editor, fields): (bool, &ProfileFields),
    json: bool,
    printer: &Printer,
) -> Result<(), CommandError> {
    if with_editor && !fields.are_absent() {
        return Err(CommandError::usage("--editor cannot be used with options that change fields"));
    }
    let surroundings = Surroundings::of_this_process()?;
    let directories = DefinitionDirectories::of_profiles(&surroundings);
    let current = super::definition::find(profiles, name)?;
    if with_editor {
        editor::edit_file(&current.path)?;
        return check_again(&directories, current, json, printer);
    }
    if fields.are_absent() {
        return ask(&surroundings, name, Some(current), printer);
    }
    let scope = match (fields.global, fields.project) {
        (true, _) => Scope::Global,
        (_, true) => Scope::Project,
        _ => current.scope,
    };
    let path = Definition::new(name, scope, &directories).path;
    let mut profile = Definition { scope, path, ..current.clone() };
    apply(fields, &mut profile)?;
    let path = update_definition(&directories, &profile).map_err(CommandError::usage)?;
    say_saved(&profile, &path.to_string_lossy(), json, printer)
}

/// Asks the user step by step, and saves the profile.
fn ask(
    surroundings: &Surroundings,
    name: &str,
    current: Option<&Definition>,
    printer: &Printer,
) -> Result<(), CommandError> {
    let Some(mut dialogs) = TerminalDialogs::new(printer) else {
        return Err(CommandError::usage("there is no terminal to ask in").hint(
            "use options, such as --model; `pi-subagents profile create --help` lists them",
        ));
    };
    let saved = tools::edit_profile(surroundings, name, current, &mut dialogs)
        .and_then(|profile| tools::save_profile(surroundings, current, profile, &mut dialogs));
    match (saved, dialogs.failure) {
        (Some(path), _) => {
            printer.note(&format!("written to {}", path.display()));
            Ok(())
        }
        (None, Some(failure)) => Err(failure),
        (None, None) => Err(CommandError::usage("cancelled; nothing was saved")),
    }
}

/// Checks the profile after the user has edited its file.
fn check_again(
    directories: &DefinitionDirectories,
    before: &Definition,
    json: bool,
    printer: &Printer,
) -> Result<(), CommandError> {
    let profiles = load_definitions(directories);
    let of_file = |warning: &&plan::FileWarning| warning.path == before.path;
    for warning in profiles.warnings.iter().filter(of_file) {
        printer.warning(&warning.to_string());
    }
    let Some(profile) = profiles.iter().find(|profile| profile.path == before.path) else {
        let message = format!("{} is no longer a valid profile", before.path.display());
        return Err(CommandError::failure(message)
            .hint(format!("fix it with `pi-subagents profile edit {} --editor`", before.name)));
    };
    check_definition(profile).map_err(CommandError::failure)?;
    say_saved(profile, &profile.path.to_string_lossy(), json, printer)
}

fn say_saved(
    profile: &Definition,
    path: &str,
    json: bool,
    printer: &Printer,
) -> Result<(), CommandError> {
    if json {
        return printer.json(&json!({"saved": path}));
    }
    let (name, scope) = (&profile.name, profile.scope.word());
    printer.note(&format!("written to {path}"));
    printer.answer(&format!("Profile \"{name}\" saved to {scope} agent-profiles."))
}

/// Overwrites the fields for which an option is given.
fn apply(fields: &ProfileFields, profile: &mut Definition) -> Result<(), CommandError> {
    let text = |value: &String| Some(value.trim().to_owned()).filter(|value| !value.is_empty());
    let list = |value: &String| -> Vec<String> {
        let names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    };
    let configuration = &mut profile.configuration;
    for (given, field) in [
        (&fields.provider, &mut configuration.provider),
        (&fields.model, &mut configuration.model),
        (&fields.system_prompt, &mut configuration.system_prompt),
        (&fields.append_system_prompt, &mut configuration.append_system_prompt),
    ] {
        if let Some(given) = given {
            *field = text(given);
        }
    }
    for (given, field) in [
        (&fields.tools, &mut configuration.tools),
        (&fields.exclude_tools, &mut configuration.exclude_tools),
        (&fields.extensions, &mut configuration.extensions),
        (&fields.suggested_skills, &mut profile.suggested_skills),
        (&fields.load_skills, &mut profile.load_skills),
    ] {
        if let Some(given) = given {
            *field = list(given);
        }
    }
    for (given, field) in [
        (fields.no_tools, &mut configuration.no_tools),
        (fields.no_extensions, &mut configuration.no_extensions),
        (fields.no_skills, &mut configuration.no_skills),
        (fields.no_context_files, &mut configuration.no_context_files),
    ] {
        *field = given.unwrap_or(*field);
    }
    if let Some(word) = &fields.thinking_level {
        configuration.thinking_level =
            value_named("--thinking-level", word, ThinkingLevel::all(), ThinkingLevel::word)?;
    }
    if let Some(word) = &fields.agent {
        let agents = [AgentName::Pi, AgentName::Builtin].into_iter();
        profile.agent = value_named("--agent", word, agents, AgentName::word)?;
    }
    check_definition(profile).map_err(CommandError::usage)
}

/// The value with this name; `None` for an empty one, which removes the field.
fn value_named<T: Copy>(
    option: &str,
    word: &str,
    values: impl Iterator<Item = T>,
    word_for: impl Fn(T) -> &'static str,
) -> Result<Option<T>, CommandError> {
    if word.trim().is_empty() {
        return Ok(None);
    }
    let values: Vec<T> = values.collect();
    let found = values.iter().copied().find(|value| word_for(*value) == word.trim());
    found.map(Some).ok_or_else(|| {
        let words: Vec<&str> = values.iter().map(|value| word_for(*value)).collect();
        CommandError::usage(format!("{option}: {word:?} is not one of {}", words.join(", ")))
    })
}
