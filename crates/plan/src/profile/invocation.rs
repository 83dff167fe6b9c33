//! What a profile means for the agent's command line.

use std::path::Path;

use super::{Profile, Scope, ThinkingLevel};
use crate::{LoadedSkill, ResolvedSkills, Trust};

/// What a profile adds to the command line of pi, or of a program that takes pi's arguments.
///
/// The two prompts are not arguments yet: they can be of any length, and belong into files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    /// Replaces the agent's system prompt.
    pub system_prompt: Option<String>,
    /// Is added to the agent's system prompt.
    pub append_system_prompt: Option<String>,
    before_prompts: Vec<String>,
    after_prompts: Vec<String>,
}

/// What an invocation depends on, besides the profile.
#[derive(Clone, Copy, Debug)]
pub struct InvocationContext<'a> {
    /// The names of all tools that the child could have, where the caller knows them.
    pub all_tools: Option<&'a [String]>,
    /// The skills that the profile names.
    pub skills: &'a ResolvedSkills,
    /// Whether a project's own profile may run code.
    pub trust: Trust,
}

/// A task with this profile must not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum InvocationError {
    #[error(
        "Profile \"{profile}\" belongs to this project and sets {fields}, which can run any \
         program, but the project is not trusted. Look at {path}, then trust the project with \
         /trust in pi, or run with --approve."
    )]
    NotTrusted { profile: String, fields: &'static str, path: String },
    #[error(
        "Refusing extraArg \"{0}\" which would override profile tool restrictions. Use the \
         dedicated profile fields instead."
    )]
    OverridesTools(String),
    #[error(
        "Refusing extraArg \"--api-key\": arguments can be seen by everybody on this machine. Use \
         the field apiKey instead."
    )]
    ShowsKey,
    #[error("Invalid extraArg: contains null byte")]
    NullByteInExtraArg,
    #[error("Refusing extraArg: potentially unsafe argument '{0}'")]
    UnsafeExtraArg(String),
    #[error("Profile \"{profile}\" cannot be used: \"{field}\" contains a null byte")]
    NullByte { profile: String, field: &'static str },
}

impl Invocation {
    /// All arguments in their order, with the files that hold the two prompts. A file counts only
    /// if there is such a prompt.
    pub fn arguments(&self, system_prompt: &Path, append_system_prompt: &Path) -> Vec<String> {
        let mut arguments = self.before_prompts.clone();
        for (flag, prompt, path) in [
            ("--system-prompt", &self.system_prompt, system_prompt),
            ("--append-system-prompt", &self.append_system_prompt, append_system_prompt),
        ] {
            if prompt.is_some() {
                arguments.extend([flag.to_owned(), path.to_string_lossy().into_owned()]);
            }
        }
        arguments.extend_from_slice(&self.after_prompts);
        arguments
    }
}

/// Turns a profile into arguments and prompts.
pub fn invocation(
    profile: &Profile,
    context: &InvocationContext<'_>,
) -> Result<Invocation, InvocationError> {
    check_trust(profile, context.trust)?;
    check_extra_args(profile)?;
    let mut before = Arguments::new(profile);
    before.option("provider", "--provider", profile.provider.as_deref())?;
    before.option("model", "--model", profile.model.as_deref())?;
    let mut after = Arguments::new(profile);
    after.option("thinkingLevel", "--thinking", profile.thinking_level.map(ThinkingLevel::word))?;
    after.tools(context.all_tools)?;
    after.flag("--no-extensions", profile.no_extensions);
    after.flag("--no-skills", profile.no_skills);
    after.flag("--no-context-files", profile.no_context_files);
    for extension in &profile.extensions {
        after.option("extensions", "--extension", Some(extension))?;
    }
    for path in &context.skills.suggested {
        after.option("suggestedSkills", "--skill", Some(&path.to_string_lossy()))?;
    }
    after.list.extend_from_slice(&profile.extra_args);
    Ok(Invocation {
        system_prompt: profile.system_prompt.clone(),
        append_system_prompt: append_system_prompt(profile, context.skills),
        before_prompts: before.list,
        after_prompts: after.list,
    })
}

struct Arguments<'a> {
    profile: &'a Profile,
    list: Vec<String>,
}

impl Arguments<'_> {
    fn new(profile: &Profile) -> Arguments<'_> {
        Arguments { profile, list: Vec::new() }
    }

    fn flag(&mut self, flag: &str, is_set: bool) {
        if is_set {
            self.list.push(flag.to_owned());
        }
    }

    fn option(
        &mut self,
        field: &'static str,
        flag: &str,
        value: Option<&str>,
    ) -> Result<(), InvocationError> {
        let Some(value) = value else {
            return Ok(());
        };
        // No system takes such an argument, and the failure to start would not say why.
        if value.contains('\0') {
            return Err(InvocationError::NullByte { profile: self.profile.name.clone(), field });
        }
        self.list.extend([flag.to_owned(), value.to_owned()]);
        Ok(())
    }

    fn tools(&mut self, all_tools: Option<&[String]>) -> Result<(), InvocationError> {
        let Profile { no_tools, tools, exclude_tools, .. } = self.profile;
        if *no_tools {
            self.flag("--no-tools", true);
        } else if !tools.is_empty() {
            self.option("tools", "--tools", Some(&tools.join(",")))?;
        } else if !exclude_tools.is_empty() {
            let Some(all_tools) = all_tools else {
                let excluded = exclude_tools.join(",");
                return self.option("excludeTools", "--exclude-tools", Some(&excluded));
            };
            let is_left = |tool: &&String| !exclude_tools.contains(tool);
            let left: Vec<&str> = all_tools.iter().filter(is_left).map(String::as_str).collect();
            if left.is_empty() {
                // An empty list of tools would mean all of them.
                self.flag("--no-tools", true);
            } else {
                self.option("excludeTools", "--tools", Some(&left.join(",")))?;
            }
        }
        Ok(())
    }
}

/// What is loaded follows the profile's own words after an empty line, which stands there even if
/// the profile has none.
fn append_system_prompt(profile: &Profile, skills: &ResolvedSkills) -> Option<String> {
    let own = profile.append_system_prompt.clone();
    let loaded: Vec<String> = skills.loaded.iter().map(LoadedSkill::block).collect();
    if loaded.is_empty() {
        return own;
    }
    Some(format!("{}\n\n{}", own.unwrap_or_default(), loaded.join("\n\n")))
}

/// A repository that was merely cloned must not choose what program runs.
fn check_trust(profile: &Profile, trust: Trust) -> Result<(), InvocationError> {
    let fields = match (profile.extensions.is_empty(), profile.extra_args.is_empty()) {
        (true, true) => return Ok(()),
        (false, true) => "\"extensions\"",
        (true, false) => "\"extraArgs\"",
        (false, false) => "\"extensions\" and \"extraArgs\"",
    };
    if profile.scope == Scope::Global || trust.allows() {
        return Ok(());
    }
    Err(InvocationError::NotTrusted {
        profile: profile.name.clone(),
        fields,
        path: profile.path.display().to_string(),
    })
}

fn check_extra_args(profile: &Profile) -> Result<(), InvocationError> {
    let is_restricted =
        profile.no_tools || !profile.tools.is_empty() || !profile.exclude_tools.is_empty();
    for argument in &profile.extra_args {
        if is_restricted && selects_tools(argument) {
            return Err(InvocationError::OverridesTools(argument.clone()));
        }
        if argument == "--api-key" || argument.starts_with("--api-key=") {
            return Err(InvocationError::ShowsKey);
        }
        if argument.contains('\0') {
            return Err(InvocationError::NullByteInExtraArg);
        }
        if is_unsafe(argument) {
            let start = argument.chars().take(40).collect();
            return Err(InvocationError::UnsafeExtraArg(start));
        }
    }
    Ok(())
}

/// Whether pi takes the argument as a choice of tools.
fn selects_tools(argument: &str) -> bool {
    let flag = argument.split_once('=').map_or(argument, |(flag, _)| flag);
    matches!(flag, "--tools" | "-t" | "--no-tools" | "-nt" | "--exclude-tools" | "-xt")
}

/// Whether the argument would mean something to a shell. No shell ever sees it; whoever writes
/// such a thing expects one, and would be surprised.
fn is_unsafe(argument: &str) -> bool {
    let starts = |first: char| {
        first.is_whitespace()
            || matches!(first, '\u{feff}' | '|' | '&' | ';' | '$' | '\\' | '`' | '!')
    };
    argument.starts_with(starts)
        || argument.contains([';', '>', '<'])
        || argument.contains("&&")
        || argument.contains("||")
}

#[cfg(test)]
#[path = "invocation_tests.rs"]
mod tests;
