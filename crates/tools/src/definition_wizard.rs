//! The wizard that makes or changes a profile or a preset, step by step.

use std::path::{Path, PathBuf};

use model::Access;
use plan::{
    Configuration, Definition, DefinitionDirectories, DefinitionFileError, DefinitionKind, Scope,
    Surroundings, ThinkingLevel, check_definition, create_definition, definition_detail,
    load_definitions, update_definition,
};

use crate::{Dialogs, Level, Preselected};

/// Asks for everything about a definition. Fields without a step of their own, and those whose question
/// the user cancels, stay as they are. `None` if the user does not choose what is needed, leaves, or does
/// not want to save the definition. Nothing is written here.
pub fn edit_definition(
    surroundings: &Surroundings,
    directories: &DefinitionDirectories,
    name: &str,
    current: Option<&Definition>,
    dialogs: &mut dyn Dialogs,
) -> Option<Definition> {
    let scope = choose_scope(surroundings, directories, name, current, dialogs)?;
    let mut wizard = Wizard { definition: placed(directories, name, current, scope), dialogs };
    if directories.kind == DefinitionKind::Preset {
        wizard.description()?;
    }
    let steps = [
        Wizard::provider,
        Wizard::model,
        Wizard::prompts,
        Wizard::thinking_level,
        Wizard::tools,
        Wizard::access,
        Wizard::extensions,
        Wizard::skills,
    ];
    for step in steps {
        step(&mut wizard);
        if wizard.dialogs.has_left() {
            return None;
        }
    }
    wizard.review()
}

/// Writes a definition that came out of [`edit_definition`], says so, and returns its file. If it
/// cannot be written, the user sees why and is asked for another scope, so that no answer is lost.
pub fn save_definition(
    surroundings: &Surroundings,
    directories: &DefinitionDirectories,
    current: Option<&Definition>,
    mut definition: Definition,
    dialogs: &mut dyn Dialogs,
) -> Option<PathBuf> {
    let name = definition.name.clone();
    loop {
        match write(directories, current, &definition, dialogs) {
            Ok(path) => {
                dialogs.notify(&saved_notice(&definition), Level::Info);
                warn_if_hidden(surroundings, directories, &definition, dialogs);
                return Some(path);
            }
            Err(error) => dialogs.notify(&error.to_string(), Level::Error),
        }
        let scope = choose_scope(surroundings, directories, &name, Some(&definition), dialogs)?;
        definition = placed(directories, &name, Some(&definition), scope);
    }
}

/// Says that a definition was saved, and with which others.
pub fn saved_notice(definition: &Definition) -> String {
    let others = match definition.kind {
        DefinitionKind::Profile => "agent-profiles",
        DefinitionKind::Preset => "subagents",
    };
    format!("{} saved to {} {others}.", definition.label(), definition.scope.word())
}

fn write(
    directories: &DefinitionDirectories,
    current: Option<&Definition>,
    definition: &Definition,
    dialogs: &mut dyn Dialogs,
) -> Result<PathBuf, DefinitionFileError> {
    if current.is_some_and(|current| current.scope == definition.scope) {
        return update_definition(directories, definition);
    }
    match create_definition(directories, definition) {
        // The user has not seen the one that is there.
        Err(error @ DefinitionFileError::AlreadyExists { .. }) if current.is_some() => {
            let title = format!("Replace {}?", directories.kind.word());
            let question = format!("{error}\n\nReplace it?");
            if dialogs.confirm(&title, &question, Preselected::No) {
                update_definition(directories, definition)
            } else {
                Err(error)
            }
        }
        written => written,
    }
}

/// A definition of the project hides one of the user with the same name.
fn warn_if_hidden(
    surroundings: &Surroundings,
    directories: &DefinitionDirectories,
    definition: &Definition,
    dialogs: &mut dyn Dialogs,
) {
    let definitions = load_definitions(directories);
    if let Ok(loaded) = definitions.get(&definition.name)
        && loaded.scope != definition.scope
    {
        let path = shown(surroundings, &loaded.path);
        let notice = format!("In this project, {path} is used instead of it.");
        dialogs.notify(&notice, Level::Warning);
    }
}

/// The first step. A definition with a key must not become a project's, so that this is said before the
/// user has answered anything else.
fn choose_scope(
    surroundings: &Surroundings,
    directories: &DefinitionDirectories,
    name: &str,
    current: Option<&Definition>,
    dialogs: &mut dyn Dialogs,
) -> Option<Scope> {
    let mut scopes = [(Scope::Global, "Global"), (Scope::Project, "Project")];
    // The first one is preselected: a definition stays where it is unless the user chooses otherwise.
    scopes.sort_by_key(|(scope, _)| current.is_some_and(|current| current.scope != *scope));
    let options = scopes.map(|(scope, label)| {
        let definition = placed(directories, name, current, scope);
        format!("{label} ({})", shown(surroundings, &definition.path))
    });
    loop {
        let (scope, _) = *scopes.get(dialogs.select("Save to which scope?", &options)?)?;
        match current {
            Some(current) if scope == Scope::Project && current.configuration.api_key.is_some() => {
                let error = DefinitionFileError::KeyInProject {
                    definition: current.label(),
                    global: directories.global.clone(),
                };
                dialogs.notify(&error.to_string(), Level::Warning);
            }
            _ => return Some(scope),
        }
    }
}

/// The definition as it is, or will be, in this scope.
fn placed(
    directories: &DefinitionDirectories,
    name: &str,
    current: Option<&Definition>,
    scope: Scope,
) -> Definition {
    let new = Definition::new(name, scope, directories);
    match current {
        None => new,
        Some(current) if current.scope == scope => current.clone(),
        Some(current) => Definition { scope, path: new.path, ..current.clone() },
    }
}

/// A path as the user knows it: relative to the current directory or the home directory.
pub(crate) fn shown(surroundings: &Surroundings, path: &Path) -> String {
    if !path.starts_with(&surroundings.agent_dir)
        && let Ok(below) = path.strip_prefix(&surroundings.cwd)
    {
        return below.display().to_string();
    }
    match surroundings.home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}

struct Wizard<'a> {
    definition: Definition,
    dialogs: &'a mut dyn Dialogs,
}

impl Wizard<'_> {
    /// Asks again until there is one: without it, a preset cannot be loaded. `None` if it is cancelled
    /// while there is none.
    fn description(&mut self) -> Option<()> {
        let description = &mut self.definition.description;
        loop {
            let title = "Description (models choose by it):";
            let Some(answer) = text(self.dialogs, title, description.as_deref()) else {
                return description.as_ref().filter(|_| !self.dialogs.has_left()).map(|_| ());
            };
            if answer.is_some() {
                *description = answer;
                return Some(());
            }
            self.dialogs.notify("A preset needs a description.", Level::Warning);
        }
    }

    fn prompts(&mut self) {
        if self.definition.kind == DefinitionKind::Preset {
            self.instructions();
            return;
        }
        self.system_prompt();
        if !self.dialogs.has_left() {
            self.appended_system_prompt();
        }
    }

    /// What a preset adds to the system prompt.
    fn instructions(&mut self) {
        let current = self.definition.configuration.append_system_prompt.take();
        let question = match current {
            Some(_) => "Instructions are set. Keep them?",
            None => "Add instructions to the system prompt?",
        };
        if self.dialogs.confirm("Instructions?", question, keep(&current)) {
            let prefill = current.as_deref().unwrap_or("You are a helpful coding assistant.");
            let answer = self.dialogs.editor("Instructions:", prefill);
            self.definition.configuration.append_system_prompt = match answer {
                Some(answer) => not_blank(&answer),
                None => current,
            };
        }
    }

    fn provider(&mut self) {
        let provider = &mut self.definition.configuration.provider;
        let title = "Provider (e.g. anthropic, openai, dashscope):";
        if let Some(answer) = text(self.dialogs, title, provider.as_deref()) {
            *provider = answer;
        }
    }

    fn model(&mut self) {
        let model = &mut self.definition.configuration.model;
        let title = "Model (supports provider/id and :thinking shorthand):";
        if let Some(answer) = text(self.dialogs, title, model.as_deref()) {
            *model = answer;
        }
    }

    fn system_prompt(&mut self) {
        let current = self.definition.configuration.system_prompt.take();
        let question = match current {
            Some(_) => "A custom system prompt is set. Keep it?",
            None => "Set a custom system prompt?",
        };
        if self.dialogs.confirm("System prompt?", question, keep(&current)) {
            let prefill = current.as_deref().unwrap_or("You are a helpful coding assistant.");
            let answer = self.dialogs.editor("System prompt:", prefill);
            self.definition.configuration.system_prompt = match answer {
                Some(answer) => not_blank(&answer),
                None => current,
            };
        }
    }

    fn appended_system_prompt(&mut self) {
        let current = self.definition.configuration.append_system_prompt.take();
        let question = match current {
            Some(_) => "An appended system prompt is set. Keep it?",
            None => "Append text to the default system prompt?",
        };
        if self.dialogs.confirm("Append to system prompt?", question, keep(&current)) {
            let answer = text(self.dialogs, "Append text:", current.as_deref()).flatten();
            self.definition.configuration.append_system_prompt = answer.or(current);
        }
    }

    fn thinking_level(&mut self) {
        let current = self.definition.configuration.thinking_level.take();
        let question = match current {
            Some(level) => format!("Thinking level is {}. Set one?", level.word()),
            None => "Set a thinking level?".to_owned(),
        };
        if self.dialogs.confirm("Thinking level?", &question, keep(&current)) {
            // The first one is preselected: the one that is set stays unless the user chooses another.
            let mut levels: Vec<ThinkingLevel> = ThinkingLevel::all().collect();
            levels.sort_by_key(|level| Some(*level) != current);
            let words: Vec<String> = levels.iter().map(|level| level.word().to_owned()).collect();
            let chosen = self.dialogs.select("Thinking level:", &words);
            let chosen = chosen.and_then(|index| levels.get(index).copied());
            self.definition.configuration.thinking_level = chosen.or(current);
        }
    }

    fn tools(&mut self) {
        let Configuration { no_tools, tools, exclude_tools, .. } =
            &mut self.definition.configuration;
        let is_set = *no_tools || !tools.is_empty() || !exclude_tools.is_empty();
        let question = if is_set {
            "Tool config is set. Change it?"
        } else {
            "Restrict which tools the subagent can use?"
        };
        if !self.dialogs.confirm("Configure tools?", question, Preselected::No) {
            return;
        }
        if self.dialogs.confirm(
            "Disable all tools?",
            "The subagent gets no tools at all.",
            Preselected::No,
        ) {
            *no_tools = true;
            tools.clear();
            exclude_tools.clear();
            return;
        }
        let modes = ["Allowlist (only these tools)", "Blacklist (all tools except these)"];
        let mode = self.dialogs.select("Select tool mode:", &modes.map(str::to_owned));
        let (name, list, other) = match mode {
            None => return,
            Some(0) => ("allowlist", tools, exclude_tools),
            Some(_) => ("blacklist", exclude_tools, tools),
        };
        let title = format!("Tool {name} (comma-separated, e.g. read,bash,grep):");
        // Only a whole answer changes anything: half of one could lift what restricts the agent.
        if let Some(answer) = names(self.dialogs, &title, list) {
            *no_tools = false;
            *list = answer;
            other.clear();
        }
    }

    fn access(&mut self) {
        let question = match self.definition.access {
            Some(access) => format!("Access is {}. Change it?", access.word()),
            None => "Limit what the subagent may change?".to_owned(),
        };
        if self.dialogs.confirm("Configure access?", &question, Preselected::No) {
            let words = [
                "read (change nothing)",
                "workspace (change its directory and build caches)",
                "full (change everything that you can)",
            ];
            let chosen = self.dialogs.select("Access:", &words.map(str::to_owned));
            let chosen = chosen.and_then(|index| Access::WORDS.get(index));
            self.definition.access = chosen.map(|(_, access)| *access).or(self.definition.access);
        }
    }

    fn extensions(&mut self) {
        let Configuration { no_extensions, extensions, .. } = &mut self.definition.configuration;
        let question = if *no_extensions || !extensions.is_empty() {
            "Extension config is set. Change it?"
        } else {
            "Configure extension loading?"
        };
        if !self.dialogs.confirm("Configure extensions?", question, Preselected::No) {
            return;
        }
        let message = "The subagent loads no extensions.";
        if self.dialogs.confirm("Disable all extensions?", message, Preselected::No) {
            *no_extensions = true;
            extensions.clear();
            return;
        }
        let title = "Extension paths (comma-separated):";
        if let Some(answer) = names(self.dialogs, title, extensions) {
            *no_extensions = false;
            *extensions = answer;
        }
    }

    fn skills(&mut self) {
        let Definition { suggested_skills, load_skills, .. } = &mut self.definition;
        if !suggested_skills.is_empty() || !load_skills.is_empty() {
            let question = "Skill config is set. Remove existing skill configuration?";
            if self.dialogs.confirm("Remove skills?", question, Preselected::No) {
                suggested_skills.clear();
                load_skills.clear();
            }
            return;
        }
        let question = "Configure skill loading for the subagent?";
        if self.dialogs.confirm("Configure skills?", question, Preselected::No) {
            let title = "Suggested skills (comma-separated skill names, model chooses to load):";
            *suggested_skills = names(self.dialogs, title, &[]).unwrap_or_default();
            if self.dialogs.has_left() {
                return;
            }
            let title = "Pre-loaded skills (comma-separated skill names, content injected into \
                         system prompt):";
            *load_skills = names(self.dialogs, title, &[]).unwrap_or_default();
        }
    }

    fn review(self) -> Option<Definition> {
        // It can be saved all the same: the fields that contradict may have no step here.
        if let Err(contradiction) = check_definition(&self.definition) {
            self.dialogs.notify(&contradiction.to_string(), Level::Warning);
        }
        let word = self.definition.kind.word();
        let title = format!("Save {word} \"{}\"?", self.definition.name);
        let message = format!("{}\n\nSave this {word}?", definition_detail(&self.definition));
        if self.dialogs.confirm(&title, &message, Preselected::Yes) {
            Some(self.definition)
        } else {
            self.dialogs.notify("Cancelled.", Level::Info);
            None
        }
    }
}

/// What is set is kept, and what is not set is not set, unless the user says otherwise.
fn keep<T>(current: &Option<T>) -> Preselected {
    if current.is_some() { Preselected::Yes } else { Preselected::No }
}

/// A text, or nothing if it was left empty. The outer `None` means that the user cancelled the dialog.
fn text(dialogs: &mut dyn Dialogs, title: &str, current: Option<&str>) -> Option<Option<String>> {
    dialogs.input(title, current).map(|answer| not_blank(&answer))
}

fn not_blank(answer: &str) -> Option<String> {
    Some(answer.trim().to_owned()).filter(|answer| !answer.is_empty())
}

fn names(dialogs: &mut dyn Dialogs, title: &str, current: &[String]) -> Option<Vec<String>> {
    let joined = current.join(",");
    let answer = dialogs.input(title, Some(joined.as_str()).filter(|text| !text.is_empty()))?;
    if answer == joined {
        // An entry may itself have a comma.
        return Some(current.to_vec());
    }
    Some(answer.split([',', '\n']).filter_map(not_blank).collect())
}

#[cfg(test)]
mod tests;
