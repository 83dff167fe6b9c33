//! `/profile`: lists, shows and changes profiles from within a conversation.

use std::path::Path;

use plan::{
    Definition, DefinitionDirectories, DefinitionKind, Definitions, FileWarning, Scope,
    Surroundings, check_definition_name, definition_detail, definition_summary, delete_definition,
    import_definition, load_definitions,
};

use crate::definition_wizard::shown;
use crate::{Dialogs, Level, Preselected, edit_definition, save_definition, saved_notice};

const SUBCOMMANDS: [&str; 6] = ["list", "show", "create", "edit", "delete", "import"];

const USAGE: &str =
    "Usage: /profile [list|show <name>|create <name>|edit <name>|delete <name>|import <name>]";

/// Carries out the command, and tells the user what came of it.
pub fn profile_command(surroundings: &Surroundings, arguments: &str, dialogs: &mut dyn Dialogs) {
    let directories = DefinitionDirectories::of_profiles(surroundings);
    let profiles = load_definitions(&directories);
    let arguments = arguments.trim();
    let (word, name) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, ""));
    let mut command = Command { surroundings, directories, profiles, dialogs };
    match (word, name.trim()) {
        ("" | "list" | "ls", _) => command.list(),
        ("show" | "edit" | "import", "") => command.warn(&format!("Usage: /profile {word} <name>")),
        ("delete" | "rm" | "remove", "") => command.warn("Usage: /profile delete <name>"),
        ("show", name) => command.show(name),
        ("create" | "new", name) => command.create(name),
        ("edit", name) => command.edit(name),
        ("delete" | "rm" | "remove", name) => command.delete(name),
        ("import", name) => command.import(name),
        (name, "") if command.profiles.get(name).is_ok() => command.show(name),
        _ => command.warn(USAGE),
    }
}

/// Completions of the arguments that begin with `prefix`; none for arguments that are complete, because Enter would
/// take the completion instead of running the command.
pub fn complete_profile_command(surroundings: &Surroundings, prefix: &str) -> Vec<String> {
    let profiles = load_definitions(&DefinitionDirectories::of_profiles(surroundings));
    let names = |is_meant: fn(&Definition) -> bool| {
        let profiles = profiles.iter().filter(move |profile| is_meant(profile));
        profiles.map(|profile| profile.name.as_str())
    };
    let prefix = prefix.trim_start();
    let complete: Vec<String> = match prefix.split_once(char::is_whitespace) {
        None => {
            // The bare name of such a profile means the subcommand.
            let names = names(|_| true).filter(|name| !SUBCOMMANDS.contains(name));
            let words = SUBCOMMANDS.into_iter().chain(names);
            words.filter(|word| word.starts_with(prefix)).map(str::to_owned).collect()
        }
        Some((word, beginning)) => {
            let is_meant: fn(&Definition) -> bool = match word {
                "show" => |_| true,
                "edit" | "delete" | "rm" | "remove" => Definition::is_own,
                "import" => |profile| !profile.is_own(),
                _ => return Vec::new(),
            };
            let beginning = beginning.trim_start();
            let names = names(is_meant).filter(|name| name.starts_with(beginning));
            names.map(|name| format!("{word} {name}")).collect()
        }
    };
    let words = prefix.split_whitespace().collect::<Vec<&str>>().join(" ");
    if complete.contains(&words) { Vec::new() } else { complete }
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
        } else if self.profiles.get(name).is_ok_and(Definition::is_own) {
            self.warn(&format!(
                "Profile \"{name}\" already exists. Use /profile edit {name} to modify it."
            ));
        } else {
            // Its file may exist and not be loadable.
            self.warn_about(|path| is_named(path, name));
            self.ask(name, None);
        }
    }

    fn edit(&mut self, name: &str) {
        let Ok(current) = self.profiles.get(name).cloned() else {
            self.fail(&format!(
                "Profile \"{name}\" not found. Use /profile create {name} to create it."
            ));
            return self.warn_about(|path| is_named(path, name));
        };
        if !current.is_own() {
            return self.refuse_foreign(&current);
        }
        // Whatever could not be understood in the file will be lost.
        self.warn_about(|path| path == current.path);
        self.ask(name, Some(&current));
    }

    fn ask(&mut self, name: &str, current: Option<&Definition>) {
        let (surroundings, directories) = (self.surroundings, &self.directories);
        let edited = edit_definition(surroundings, directories, name, current, self.dialogs);
        if let Some(edited) = edited {
            save_definition(surroundings, directories, current, edited, self.dialogs);
        }
    }

    fn delete(&mut self, name: &str) {
        // A file that cannot be loaded can be deleted, too.
        let is_broken = self.profiles.warnings.iter().any(|warning| is_named(&warning.path, name));
        match self.profiles.get(name).cloned() {
            Ok(profile) if !profile.is_own() && !is_broken => {
                return self.refuse_foreign(&profile);
            }
            Err(_) if !is_broken => {
                return self.fail(&format!("Profile \"{name}\" not found."));
            }
            _ => {}
        }
        let question = format!("Delete subagent profile \"{name}\"?");
        if !self.dialogs.confirm("Delete profile?", &question, Preselected::No) {
            return;
        }
        match delete_definition(&self.directories, name) {
            Ok(_) => self.tell(&format!("Profile \"{name}\" deleted.")),
            Err(error) => self.fail(&error.to_string()),
        }
    }

    fn import(&mut self, name: &str) {
        let profile = match self.profiles.get(name) {
            Ok(profile) => profile.clone(),
            Err(unknown) => {
                self.fail(&unknown.not_found());
                return self.warn_about(|path| is_named(path, name));
            }
        };
        if profile.is_own() {
            return self.warn(&format!("Profile \"{name}\" is your own already."));
        }
        self.warn_about(|path| path == profile.path);
        match import_definition(&self.directories, &profile, Scope::Global) {
            Ok(copy) => self.tell(&saved_notice(&copy)),
            Err(error) => self.fail(&error.to_string()),
        }
    }

    /// Files of other programs are only read.
    fn refuse_foreign(&mut self, profile: &Definition) {
        let (name, path) = (&profile.name, shown(self.surroundings, &profile.path));
        self.warn(&format!(
            "Profile \"{name}\" belongs to Claude Code ({path}). Use /profile import {name} to \
             make a copy of your own."
        ));
    }

    /// Shows what is wrong with these files.
    fn warn_about(&mut self, is_meant: impl Fn(&Path) -> bool) {
        let warnings = self.profiles.all_warnings().filter(|warning| is_meant(&warning.path));
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
