//! `/profile`: lists, shows and changes profiles from within a conversation.

use std::path::Path;

use plan::{
    DefinitionDirectories, DefinitionKind, Definitions, FileWarning, Surroundings,
    check_definition_name, definition_detail, definition_summary, delete_definition,
    load_definitions,
};

use crate::profile_wizard::shown;
use crate::{Dialogs, Level, edit_profile, save_profile};

const SUBCOMMANDS: [&str; 5] = ["list", "show", "create", "edit", "delete"];

const USAGE: &str = "Usage: /profile [list|show <name>|create <name>|edit <name>|delete <name>]";

/// Carries out the command, and tells the user what came of it.
pub fn profile_command(surroundings: &Surroundings, arguments: &str, dialogs: &mut dyn Dialogs) {
    let directories = DefinitionDirectories::of_profiles(surroundings);
    let profiles = load_definitions(&directories);
    let arguments = arguments.trim();
    let (word, name) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, ""));
    let mut command = Command { surroundings, directories, profiles, dialogs };
    match (word, name.trim()) {
        ("" | "list" | "ls", _) => command.list(),
        ("show" | "edit", "") => command.warn(&format!("Usage: /profile {word} <name>")),
        ("delete" | "rm" | "remove", "") => command.warn("Usage: /profile delete <name>"),
        ("show", name) => command.show(name),
        ("create" | "new", name) => command.create(name),
        ("edit", name) => command.edit(name),
        ("delete" | "rm" | "remove", name) => command.delete(name),
        (name, "") if command.profiles.get(name).is_ok() => command.show(name),
        _ => command.warn(USAGE),
    }
}

/// Completions of the arguments that begin with `prefix`.
pub fn complete_profile_command(surroundings: &Surroundings, prefix: &str) -> Vec<String> {
    let profiles = load_definitions(&DefinitionDirectories::of_profiles(surroundings));
    let names = profiles.iter().map(|profile| profile.name.as_str());
    let prefix = prefix.trim_start();
    match prefix.split_once(char::is_whitespace) {
        None => {
            // The bare name of such a profile means the subcommand.
            let names = names.filter(|name| !SUBCOMMANDS.contains(name));
            let words = SUBCOMMANDS.into_iter().chain(names);
            words.filter(|word| word.starts_with(prefix)).map(str::to_owned).collect()
        }
        Some((word @ ("show" | "edit" | "delete" | "rm" | "remove"), beginning)) => {
            let beginning = beginning.trim_start();
            let names = names.filter(|name| name.starts_with(beginning));
            names.map(|name| format!("{word} {name}")).collect()
        }
        Some(_) => Vec::new(),
    }
}

struct Command<'a> {
    surroundings: &'a Surroundings,
    directories: DefinitionDirectories,
    profiles: Definitions,
    dialogs: &'a mut dyn Dialogs,
}

impl Command<'_> {
    fn list(&mut self) {
        if self.profiles.iter().len() == 0 {
            let directory = shown(self.surroundings, &self.directories.global);
            self.tell(&format!(
                "No subagent profiles found. Add .md files to {directory}/ or use /profile create."
            ));
        } else {
            let summaries = self.profiles.iter().map(definition_summary);
            let lines: String = summaries.map(|summary| format!("\n  {summary}")).collect();
            self.tell(&format!("Subagent profiles:{lines}"));
        }
        self.warn_about(|_| true);
    }

    fn show(&mut self, name: &str) {
        match self.profiles.get(name) {
            Ok(profile) => {
                let detail = definition_detail(profile);
                self.tell(&detail);
            }
            Err(unknown) => {
                self.fail(&unknown.not_found());
                self.warn_about(|path| is_named(path, name));
            }
        }
    }

    fn create(&mut self, name: &str) {
        if check_definition_name(DefinitionKind::Profile, name).is_err() {
            self.warn("Usage: /profile create <name>  (alphanumeric, hyphens, underscores)");
        } else if self.profiles.get(name).is_ok() {
            self.warn(&format!(
                "Profile \"{name}\" already exists. Use /profile edit {name} to modify it."
            ));
        } else {
            // Its file may exist and not be loadable.
            self.warn_about(|path| is_named(path, name));
            if let Some(profile) = edit_profile(self.surroundings, name, None, self.dialogs) {
                save_profile(self.surroundings, None, profile, self.dialogs);
            }
        }
    }

    fn edit(&mut self, name: &str) {
        let Ok(current) = self.profiles.get(name).cloned() else {
            self.fail(&format!(
                "Profile \"{name}\" not found. Use /profile create {name} to create it."
            ));
            return self.warn_about(|path| is_named(path, name));
        };
        // Whatever could not be understood in the file will be lost.
        self.warn_about(|path| path == current.path);
        let current = Some(&current);
        if let Some(profile) = edit_profile(self.surroundings, name, current, self.dialogs) {
            save_profile(self.surroundings, current, profile, self.dialogs);
        }
    }

    fn delete(&mut self, name: &str) {
        // A file that cannot be loaded can be deleted, too.
        let is_known = self.profiles.get(name).is_ok()
            || self.profiles.warnings.iter().any(|warning| is_named(&warning.path, name));
        if !is_known {
            return self.fail(&format!("Profile \"{name}\" not found."));
        }
        if !self.dialogs.confirm("Delete profile?", &format!("Delete subagent profile \"{name}\"?"))
        {
            return;
        }
        match delete_definition(&self.directories, name) {
            Ok(_) => self.tell(&format!("Profile \"{name}\" deleted.")),
            Err(error) => self.fail(&error.to_string()),
        }
    }

    /// Shows what is wrong with these files.
    fn warn_about(&mut self, is_meant: impl Fn(&Path) -> bool) {
        let warnings = self.profiles.warnings.iter().filter(|warning| is_meant(&warning.path));
        let lines: Vec<String> = warnings.map(FileWarning::to_string).collect();
        if !lines.is_empty() {
            self.warn(&lines.join("\n"));
        }
    }

    fn tell(&mut self, message: &str) {
        self.dialogs.notify(message, Level::Info);
    }

    fn warn(&mut self, message: &str) {
        self.dialogs.notify(message, Level::Warning);
    }

    fn fail(&mut self, message: &str) {
        self.dialogs.notify(message, Level::Error);
    }
}

fn is_named(path: &Path, name: &str) -> bool {
    path.file_stem().is_some_and(|stem| stem == name)
}

#[cfg(test)]
mod tests;
