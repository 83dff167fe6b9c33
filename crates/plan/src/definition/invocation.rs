//! What a definition means for the agent's command line.

use std::path::Path;

use super::{Definition, Scope, ThinkingLevel};
use crate::{LoadedSkill, ResolvedSkills, Trust};

/// What a definition adds to the command line of pi, or of a program that takes pi's arguments.
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

/// What an invocation depends on, besides the definition.
#[derive(Clone, Copy, Debug)]
pub struct InvocationContext<'a> {
    /// The names of all tools that the child could have, where the caller knows them.
    pub all_tools: Option<&'a [String]>,
    /// The skills that the definition names.
    pub skills: &'a ResolvedSkills,
    /// Whether a project's own definition may run code.
    pub trust: Trust,
    /// Whether the model is the caller's choice, and not the definition's.
    pub is_model_asked_for: bool,
}

/// A task with this definition must not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum InvocationError {
    #[error(
        "{definition} belongs to this project and sets {fields}, which can run any \
         program, but the project is not trusted. Look at {path}, then trust the project with \
         /trust in pi, or run with --approve."
    )]
    NotTrusted { definition: String, fields: String, path: String },
    #[error(
        "Refusing extraArg \"{argument}\" which would override {kind} tool restrictions. Use the \
         dedicated {kind} fields instead."
    )]
    OverridesTools { argument: String, kind: &'static str },
    #[error(
        "Refusing extraArg \"--api-key\": arguments can be seen by everybody on this machine. Use \
         the field apiKey instead."
    )]
    ShowsKey,
    #[error("Invalid extraArg: contains null byte")]
    NullByteInExtraArg,
    #[error("Refusing extraArg: potentially unsafe argument '{0}'")]
    UnsafeExtraArg(String),
    #[error("{definition} cannot be used: \"{field}\" contains a null byte")]
    NullByte { definition: String, field: &'static str },
    #[error("{definition} cannot be used: \"{field}\" begins with a hyphen, as an option does")]
    LooksLikeOption { definition: String, field: &'static str },
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

/// Turns a definition into arguments and prompts.
pub fn invocation(
    definition: &Definition,
    context: &InvocationContext<'_>,
) -> Result<Invocation, InvocationError> {
    check_trust(definition, context)?;
    check_extra_args(definition)?;
    let mut before = Arguments::new(definition);
    before.option("provider", "--provider", definition.provider.as_deref())?;
    before.option("model", "--model", definition.model.as_deref())?;
    let mut after = Arguments::new(definition);
    after.option(
        "thinkingLevel",
        "--thinking",
        definition.thinking_level.map(ThinkingLevel::word),
    )?;
    after.tools(context.all_tools)?;
    after.flag("--no-extensions", definition.no_extensions);
    after.flag("--no-skills", definition.no_skills);
    after.flag("--no-context-files", definition.no_context_files);
    for extension in &definition.extensions {
        after.option("extensions", "--extension", Some(extension))?;
    }
    for path in &context.skills.suggested {
        after.option("suggestedSkills", "--skill", Some(&path.to_string_lossy()))?;
    }
    after.list.extend_from_slice(&definition.extra_args);
    Ok(Invocation {
        system_prompt: definition.system_prompt.clone(),
        append_system_prompt: append_system_prompt(definition, context.skills),
        before_prompts: before.list,
        after_prompts: after.list,
    })
}

struct Arguments<'a> {
    definition: &'a Definition,
    list: Vec<String>,
}

impl Arguments<'_> {
    fn new(definition: &Definition) -> Arguments<'_> {
        Arguments { definition, list: Vec::new() }
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
            return Err(InvocationError::NullByte { definition: self.definition.label(), field });
        }
        // Whether the program would take it for a value is the program's to say.
        if value.starts_with('-') {
            let definition = self.definition.label();
            return Err(InvocationError::LooksLikeOption { definition, field });
        }
        self.list.extend([flag.to_owned(), value.to_owned()]);
        Ok(())
    }

    fn tools(&mut self, all_tools: Option<&[String]>) -> Result<(), InvocationError> {
        let Definition { no_tools, tools, exclude_tools, .. } = self.definition;
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

/// What is loaded follows the definition's own words after an empty line, which stands there even if
/// the definition has none.
fn append_system_prompt(definition: &Definition, skills: &ResolvedSkills) -> Option<String> {
    let own = definition.append_system_prompt.clone();
    let loaded: Vec<String> = skills.loaded.iter().map(LoadedSkill::block).collect();
    if loaded.is_empty() {
        return own;
    }
    Some(format!("{}\n\n{}", own.unwrap_or_default(), loaded.join("\n\n")))
}

/// A repository that was merely cloned must not choose what program runs.
fn check_trust(
    definition: &Definition,
    context: &InvocationContext<'_>,
) -> Result<(), InvocationError> {
    if definition.scope == Scope::Global || context.trust.allows() {
        return Ok(());
    }
    let fields: Vec<&str> = [
        ("\"extensions\"", !definition.extensions.is_empty()),
        ("\"extraArgs\"", !definition.extra_args.is_empty()),
        // The turns of a script call tools, and no model stands between them and the machine.
        ("\"model\" to a script", !context.is_model_asked_for && plays_script(definition)),
    ]
    .into_iter()
    .filter_map(|(field, is_set)| is_set.then_some(field))
    .collect();
    if fields.is_empty() {
        return Ok(());
    }
    Err(InvocationError::NotTrusted {
        definition: definition.label(),
        fields: fields.join(" and "),
        path: definition.path.display().to_string(),
    })
}

/// Whether the built-in agent would play a file in the place of a model.
fn plays_script(definition: &Definition) -> bool {
    definition.provider.as_deref() == Some("script")
        || definition.model.as_deref().is_some_and(|model| model.starts_with("script/"))
}

fn check_extra_args(definition: &Definition) -> Result<(), InvocationError> {
    let is_restricted =
        definition.no_tools || !definition.tools.is_empty() || !definition.exclude_tools.is_empty();
    for argument in &definition.extra_args {
        if is_restricted && selects_tools(argument) {
            let (argument, kind) = (argument.clone(), definition.kind.word());
            return Err(InvocationError::OverridesTools { argument, kind });
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
