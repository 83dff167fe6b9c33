//! `create`, `edit` and `delete` of profiles and presets.

use model::Access;
use plan::{
    Agent, Definition, DefinitionDirectories, DefinitionKind, Scope, Settings, ThinkingLevel,
    UnknownAgent, check_definition, check_definition_name, create_definition, delete_definition,
    import_definition, load_definitions, update_definition,
};
use serde_json::json;
use tools::Workspace;

use crate::arguments::{self, DefinitionFields, PresetFields, ProfileFields};
use crate::dialogs::TerminalDialogs;
use crate::editor;
use crate::error::CommandError;
use crate::printer::Printer;

/// The definitions of one kind, which a command changes.
pub(super) struct Editing<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) directories: &'a DefinitionDirectories,
    pub(super) printer: &'a Printer,
}

/// What the options of a command say about a definition.
pub(super) struct Changes<'a> {
    shared: &'a DefinitionFields,
    /// Only profiles have it.
    system_prompt: Option<&'a str>,
    /// Only presets have it.
    timeout: Option<&'a str>,
}

impl<'a> From<&'a ProfileFields> for Changes<'a> {
    fn from(fields: &'a ProfileFields) -> Changes<'a> {
        let system_prompt = fields.system_prompt.as_deref();
        Changes { shared: &fields.shared, system_prompt, timeout: None }
    }
}

impl<'a> From<&'a PresetFields> for Changes<'a> {
    fn from(fields: &'a PresetFields) -> Changes<'a> {
        let timeout = fields.timeout.as_deref();
        Changes { shared: &fields.shared, system_prompt: None, timeout }
    }
}

impl Editing<'_> {
    pub(super) fn create(
        &self,
        name: &str,
        changes: &Changes<'_>,
        json: bool,
    ) -> Result<(), CommandError> {
        let (directories, word) = (self.directories, self.directories.kind.word());
        check_definition_name(directories.kind, name).map_err(CommandError::usage)?;
        if let Ok(known) = load_definitions(directories).get(name)
            && known.is_own()
        {
            return Err(CommandError::usage(format!(
                "{} already exists: {}",
                known.label(),
                known.path.display()
            ))
            .hint(format!("change it with `pi-subagents {word} edit {name}`")));
        }
        if changes.are_absent() {
            return self.ask(name, None);
        }
        let scope = if changes.shared.project { Scope::Project } else { Scope::Global };
        let mut definition = Definition::new(name, scope, directories);
        changes.apply_to(&mut definition, &self.workspace.settings)?;
        let path = create_definition(directories, &definition).map_err(CommandError::usage)?;
        self.say_saved(&definition, &path.to_string_lossy(), json)
    }

    pub(super) fn edit(
        &self,
        name: &str,
        with_editor: bool,
        changes: &Changes<'_>,
        json: bool,
    ) -> Result<(), CommandError> {
        if with_editor && !changes.are_absent() {
            let message = "--editor cannot be used with options that change fields";
            return Err(CommandError::usage(message));
        }
        let definitions = load_definitions(self.directories);
        let current = super::definition::find(&definitions, name)?;
        refuse_foreign(current)?;
        if with_editor {
            editor::edit_file(&current.path)?;
            return self.check_again(current, json);
        }
        if changes.are_absent() {
            return self.ask(name, Some(current));
        }
        let scope = match (changes.shared.global, changes.shared.project) {
            (true, _) => Scope::Global,
            (_, true) => Scope::Project,
            _ => current.scope,
        };
        let path = Definition::new(name, scope, self.directories).path;
        let mut definition = Definition { scope, path, ..current.clone() };
        changes.apply_to(&mut definition, &self.workspace.settings)?;
        let path = update_definition(self.directories, &definition).map_err(CommandError::usage)?;
        self.say_saved(&definition, &path.to_string_lossy(), json)
    }

    pub(super) fn delete(&self, name: &str, json: bool) -> Result<(), CommandError> {
        let definitions = load_definitions(self.directories);
        let definition = super::definition::find(&definitions, name)?;
        refuse_foreign(definition)?;
        let label = definition.label();
        let deleted = delete_definition(self.directories, name).map_err(CommandError::failure)?;
        if json {
            let deleted: Vec<String> =
                deleted.iter().map(|path| path.display().to_string()).collect();
            return self.printer.json(&json!({"deleted": deleted}));
        }
        for path in &deleted {
            self.printer.note(&format!("removed {}", path.display()));
        }
        self.printer.answer(&format!("{label} deleted."))
    }

    /// Copies a definition of another program.
    pub(super) fn import(
        &self,
        name: &str,
        to_project: bool,
        json: bool,
    ) -> Result<(), CommandError> {
        let definitions = load_definitions(self.directories);
        let definition = super::definition::find(&definitions, name)?;
        if definition.is_own() {
            let path = definition.path.display();
            return Err(CommandError::usage(format!(
                "{} is your own already: {path}",
                definition.label()
            )));
        }
        let left_out = definition.origin.left_out();
        if !left_out.is_empty() {
            let fields = left_out.join(", ");
            self.printer.warning(&format!("not taken over from Claude Code: {fields}"));
        }
        let scope = if to_project { Scope::Project } else { Scope::Global };
        let copy =
            import_definition(self.directories, definition, scope).map_err(CommandError::usage)?;
        self.say_saved(&copy, &copy.path.to_string_lossy(), json)
    }

    /// Asks the user step by step, and saves the definition.
    fn ask(&self, name: &str, current: Option<&Definition>) -> Result<(), CommandError> {
        let Some(mut dialogs) = TerminalDialogs::new(self.printer) else {
            let word = self.directories.kind.word();
            return Err(CommandError::usage("there is no terminal to ask in").hint(format!(
                "use options, such as --model; `pi-subagents {word} create --help` lists them"
            )));
        };
        let (surroundings, directories) = (&self.workspace.surroundings, self.directories);
        let saved = tools::edit_definition(surroundings, directories, name, current, &mut dialogs)
            .and_then(|edited| {
                tools::save_definition(surroundings, directories, current, edited, &mut dialogs)
            });
        match (saved, dialogs.failure) {
            (Some(path), _) => {
                self.printer.note(&format!("written to {}", path.display()));
                Ok(())
            }
            (None, Some(failure)) => Err(failure),
            (None, None) => Err(CommandError::usage("cancelled; nothing was saved")),
        }
    }

    /// Checks the definition after the user has edited its file.
    fn check_again(&self, before: &Definition, json: bool) -> Result<(), CommandError> {
        let definitions = load_definitions(self.directories);
        let of_file = |warning: &&plan::FileWarning| warning.path == before.path;
        for warning in definitions.warnings.iter().filter(of_file) {
            self.printer.warning(&warning.to_string());
        }
        let mut all = definitions.iter();
        let Some(definition) = all.find(|definition| definition.path == before.path) else {
            let word = before.kind.word();
            let message = format!("{} is no longer a valid {word}", before.path.display());
            return Err(CommandError::failure(message)
                .hint(format!("fix it with `pi-subagents {word} edit {} --editor`", before.name)));
        };
        check_definition(definition).map_err(CommandError::failure)?;
        self.say_saved(definition, &definition.path.to_string_lossy(), json)
    }

    fn say_saved(
        &self,
        definition: &Definition,
        path: &str,
        json: bool,
    ) -> Result<(), CommandError> {
        if json {
            return self.printer.json(&json!({"saved": path}));
        }
        self.printer.note(&format!("written to {path}"));
        self.printer.answer(&tools::saved_notice(definition))
    }
}

/// Files of other programs are only read.
fn refuse_foreign(definition: &Definition) -> Result<(), CommandError> {
    if definition.is_own() {
        return Ok(());
    }
    let (word, name) = (definition.kind.word(), &definition.name);
    let path = definition.path.display();
    let message = format!("{} belongs to Claude Code: {path}", definition.label());
    Err(CommandError::usage(message).hint(format!(
        "make a copy of your own with `pi-subagents {word} import {name}`, which then takes its place"
    )))
}

impl Changes<'_> {
    /// Whether no option is given, so that the user has to be asked.
    fn are_absent(&self) -> bool {
        *self.shared == DefinitionFields::default()
            && self.system_prompt.is_none()
            && self.timeout.is_none()
    }

    /// Overwrites the fields for which an option is given.
    fn apply_to(
        &self,
        definition: &mut Definition,
        settings: &Settings,
    ) -> Result<(), CommandError> {
        let fields = self.shared;
        let text = |value: &str| Some(value.trim().to_owned()).filter(|value| !value.is_empty());
        let list = |value: &String| -> Vec<String> {
            let names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
            names.map(str::to_owned).collect()
        };
        let configuration = &mut definition.configuration;
        for (given, field) in [
            (fields.description.as_deref(), &mut definition.description),
            (fields.provider.as_deref(), &mut configuration.provider),
            (fields.model.as_deref(), &mut configuration.model),
            (self.system_prompt, &mut configuration.system_prompt),
            (fields.append_system_prompt.as_deref(), &mut configuration.append_system_prompt),
        ] {
            if let Some(given) = given {
                *field = text(given);
            }
        }
        for (given, field) in [
            (&fields.fallback_models, &mut configuration.fallback_models),
            (&fields.tools, &mut configuration.tools),
            (&fields.exclude_tools, &mut configuration.exclude_tools),
            (&fields.extensions, &mut configuration.extensions),
            (&fields.suggested_skills, &mut definition.suggested_skills),
            (&fields.load_skills, &mut definition.load_skills),
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
            let name = text(word);
            let unknown = |error: UnknownAgent| CommandError::usage(format!("--agent: {error}"));
            let agent = name.as_deref().map(|name| Agent::named(name, settings)).transpose();
            agent.map_err(unknown)?;
            definition.agent = name;
        }
        if let Some(word) = &fields.access {
            let all = Access::WORDS.into_iter().map(|(_, access)| access);
            definition.access = value_named("--access", word, all, Access::word)?;
        }
        if let Some(timeout) = self.timeout {
            let seconds = text(timeout).as_deref().map(arguments::seconds).transpose();
            definition.timeout = seconds.map_err(|reason| {
                CommandError::usage(format!("--timeout: {timeout:?} {reason}"))
            })?;
            if definition.timeout.is_some_and(|seconds| seconds < 1.0) {
                return Err(CommandError::usage(format!(
                    "--timeout: {timeout:?} is less than a second"
                )));
            }
        }
        if definition.kind == DefinitionKind::Preset && definition.description.is_none() {
            return Err(CommandError::usage(format!("{} needs a description", definition.label()))
                .hint("say what it is good for with --description"));
        }
        check_definition(definition).map_err(CommandError::usage)
    }
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
