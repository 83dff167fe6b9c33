//! The wizard that makes or changes a profile, in ten steps.

use std::path::{Path, PathBuf};

use plan::{
    Configuration, Definition, DefinitionDirectories, DefinitionFileError, Scope, Surroundings,
    ThinkingLevel, check_definition, create_definition, definition_detail, load_definitions,
    update_definition,
};

use crate::{Dialogs, Level};

/// Asks for everything about a profile. Fields without a step of their own stay as they are. `None`
/// if the user leaves a dialog, or does not want to save the profile. Nothing is written here.
pub fn edit_profile(
    surroundings: &Surroundings,
    name: &str,
    current: Option<&Definition>,
    dialogs: &mut dyn Dialogs,
) -> Option<Definition> {
    let scope = choose_scope(surroundings, name, current, dialogs)?;
    let mut wizard = Wizard { profile: placed(surroundings, name, current, scope), dialogs };
    wizard.provider_and_model()?;
    wizard.system_prompt()?;
    wizard.appended_system_prompt()?;
    wizard.thinking_level();
    wizard.tools()?;
    wizard.extensions()?;
    wizard.skills()?;
    wizard.review()
}

/// Writes a profile that came out of [`edit_profile`], says so, and returns its file. If it cannot
/// be written, the user sees why and is asked for another scope, so that no answer is lost.
pub fn save_profile(
    surroundings: &Surroundings,
    current: Option<&Definition>,
    mut profile: Definition,
    dialogs: &mut dyn Dialogs,
) -> Option<PathBuf> {
    let name = profile.name.clone();
    loop {
        match write(surroundings, current, &profile, dialogs) {
            Ok(path) => {
                let scope = profile.scope.word();
                let notice = format!("Profile \"{name}\" saved to {scope} agent-profiles.");
                dialogs.notify(&notice, Level::Info);
                warn_if_hidden(surroundings, &profile, dialogs);
                return Some(path);
            }
            Err(error) => dialogs.notify(&error.to_string(), Level::Error),
        }
        let scope = choose_scope(surroundings, &name, Some(&profile), dialogs)?;
        profile = placed(surroundings, &name, Some(&profile), scope);
    }
}

fn write(
    surroundings: &Surroundings,
    current: Option<&Definition>,
    profile: &Definition,
    dialogs: &mut dyn Dialogs,
) -> Result<PathBuf, DefinitionFileError> {
    let directories = DefinitionDirectories::of_profiles(surroundings);
    if current.is_some_and(|current| current.scope == profile.scope) {
        return update_definition(&directories, profile);
    }
    match create_definition(&directories, profile) {
        // The user has not seen the profile that is there.
        Err(error @ DefinitionFileError::AlreadyExists { .. }) if current.is_some() => {
            if dialogs.confirm("Replace profile?", &format!("{error}\n\nReplace it?")) {
                update_definition(&directories, profile)
            } else {
                Err(error)
            }
        }
        written => written,
    }
}

/// A project's profile hides a profile of the user with the same name.
fn warn_if_hidden(surroundings: &Surroundings, profile: &Definition, dialogs: &mut dyn Dialogs) {
    let profiles = load_definitions(&DefinitionDirectories::of_profiles(surroundings));
    if let Ok(loaded) = profiles.get(&profile.name)
        && loaded.scope != profile.scope
    {
        let path = shown(surroundings, &loaded.path);
        let notice = format!("In this project, {path} is used instead of it.");
        dialogs.notify(&notice, Level::Warning);
    }
}

/// The first step. A profile with a key must not become a project's, so that this is said before the
/// user has answered anything else.
fn choose_scope(
    surroundings: &Surroundings,
    name: &str,
    current: Option<&Definition>,
    dialogs: &mut dyn Dialogs,
) -> Option<Scope> {
    let scopes = [(Scope::Global, "Global"), (Scope::Project, "Project")];
    let options = scopes.map(|(scope, label)| {
        let profile = placed(surroundings, name, current, scope);
        format!("{label} ({})", shown(surroundings, &profile.path))
    });
    loop {
        let (scope, _) = *scopes.get(dialogs.select("Save to which scope?", &options)?)?;
        match current {
            Some(current) if scope == Scope::Project && current.configuration.api_key.is_some() => {
                let directories = DefinitionDirectories::of_profiles(surroundings);
                let error = DefinitionFileError::KeyInProject {
                    definition: current.label(),
                    global: directories.global,
                };
                dialogs.notify(&error.to_string(), Level::Warning);
            }
            _ => return Some(scope),
        }
    }
}

/// The profile as it is, or will be, in this scope.
fn placed(
    surroundings: &Surroundings,
    name: &str,
    current: Option<&Definition>,
    scope: Scope,
) -> Definition {
    let new = Definition::new(name, scope, &DefinitionDirectories::of_profiles(surroundings));
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
    profile: Definition,
    dialogs: &'a mut dyn Dialogs,
}

impl Wizard<'_> {
    fn provider_and_model(&mut self) -> Option<()> {
        let Configuration { provider, model, .. } = &mut self.profile.configuration;
        let title = "Provider (e.g. anthropic, openai, dashscope):";
        *provider = text(self.dialogs, title, provider.as_deref())?;
        let title = "Model (supports provider/id and :thinking shorthand):";
        *model = text(self.dialogs, title, model.as_deref())?;
        Some(())
    }

    fn system_prompt(&mut self) -> Option<()> {
        let current = self.profile.configuration.system_prompt.take();
        let question = match current {
            Some(_) => "A custom system prompt is set. Keep it?",
            None => "Set a custom system prompt?",
        };
        if self.dialogs.confirm("System prompt?", question) {
            let prefill = current.as_deref().unwrap_or("You are a helpful coding assistant.");
            let answer = self.dialogs.editor("System prompt:", prefill)?;
            self.profile.configuration.system_prompt = not_blank(&answer);
        }
        Some(())
    }

    fn appended_system_prompt(&mut self) -> Option<()> {
        let current = self.profile.configuration.append_system_prompt.take();
        let question = match current {
            Some(_) => "An appended system prompt is set. Keep it?",
            None => "Append text to the default system prompt?",
        };
        if self.dialogs.confirm("Append to system prompt?", question) {
            let answer = text(self.dialogs, "Append text:", current.as_deref())?;
            self.profile.configuration.append_system_prompt = answer.or(current);
        }
        Some(())
    }

    /// Leaving the list of levels keeps the level, and does not end the wizard.
    fn thinking_level(&mut self) {
        let current = self.profile.configuration.thinking_level.take();
        let question = match current {
            Some(level) => format!("Thinking level is {}. Set one?", level.word()),
            None => "Set a thinking level?".to_owned(),
        };
        if self.dialogs.confirm("Thinking level?", &question) {
            let words = ThinkingLevel::WORDS.map(|(word, _)| word.to_owned());
            let chosen = self.dialogs.select("Thinking level:", &words);
            let chosen = chosen.and_then(|index| ThinkingLevel::all().nth(index));
            self.profile.configuration.thinking_level = chosen.or(current);
        }
    }

    fn tools(&mut self) -> Option<()> {
        let Configuration { no_tools, tools, exclude_tools, .. } = &mut self.profile.configuration;
        let is_set = *no_tools || !tools.is_empty() || !exclude_tools.is_empty();
        let question = if is_set {
            "Tool config is set. Change it?"
        } else {
            "Restrict which tools the subagent can use?"
        };
        if !self.dialogs.confirm("Configure tools?", question) {
            return Some(());
        }
        *no_tools =
            self.dialogs.confirm("Disable all tools?", "The subagent gets no tools at all.");
        if *no_tools {
            tools.clear();
            exclude_tools.clear();
            return Some(());
        }
        let modes = ["Allowlist (only these tools)", "Blacklist (all tools except these)"];
        let mode = self.dialogs.select("Select tool mode:", &modes.map(str::to_owned))?;
        let (name, list, other) = match mode {
            0 => ("allowlist", tools, exclude_tools),
            _ => ("blacklist", exclude_tools, tools),
        };
        let title = format!("Tool {name} (comma-separated, e.g. read,bash,grep):");
        *list = names(self.dialogs, &title, list)?;
        other.clear();
        Some(())
    }

    fn extensions(&mut self) -> Option<()> {
        let Configuration { no_extensions, extensions, .. } = &mut self.profile.configuration;
        let question = if *no_extensions || !extensions.is_empty() {
            "Extension config is set. Change it?"
        } else {
            "Configure extension loading?"
        };
        if !self.dialogs.confirm("Configure extensions?", question) {
            return Some(());
        }
        let message = "The subagent loads no extensions.";
        *no_extensions = self.dialogs.confirm("Disable all extensions?", message);
        if *no_extensions {
            extensions.clear();
        } else {
            let title = "Extension paths (comma-separated):";
            *extensions = names(self.dialogs, title, extensions)?;
        }
        Some(())
    }

    fn skills(&mut self) -> Option<()> {
        let Definition { suggested_skills, load_skills, .. } = &mut self.profile;
        if !suggested_skills.is_empty() || !load_skills.is_empty() {
            let question = "Skill config is set. Remove existing skill configuration?";
            if self.dialogs.confirm("Remove skills?", question) {
                suggested_skills.clear();
                load_skills.clear();
            }
            return Some(());
        }
        let question = "Configure skill loading for the subagent?";
        if self.dialogs.confirm("Configure skills?", question) {
            let title = "Suggested skills (comma-separated skill names, model chooses to load):";
            *suggested_skills = names(self.dialogs, title, &[])?;
            let title = "Pre-loaded skills (comma-separated skill names, content injected into \
                         system prompt):";
            *load_skills = names(self.dialogs, title, &[])?;
        }
        Some(())
    }

    fn review(self) -> Option<Definition> {
        // It can be saved all the same: the fields that contradict may have no step here.
        if let Err(contradiction) = check_definition(&self.profile) {
            self.dialogs.notify(&contradiction.to_string(), Level::Warning);
        }
        let title = format!("Save profile \"{}\"?", self.profile.name);
        let message = format!("{}\n\nSave this profile?", definition_detail(&self.profile));
        if self.dialogs.confirm(&title, &message) {
            Some(self.profile)
        } else {
            self.dialogs.notify("Cancelled.", Level::Info);
            None
        }
    }
}

/// A text, or nothing if it was left empty. The outer `None` means that the user left the dialog.
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
