//! pi's command line, and that of the built-in agent, which takes pi's arguments.

use std::collections::BTreeMap;

use model::{AgentKind, Argument, Secrets, variables};

use crate::start::{
    Configuration, Invocation, Start, StartError, ThinkingLevel, check_extra_argument, check_value,
};

/// The names of the files in the run directory that a command refers to.
const SYSTEM_PROMPT: &str = "system-prompt.md";
const APPEND_SYSTEM_PROMPT: &str = "append-system-prompt.md";
const CONVERSATION: &str = "child-session.jsonl";
const EXTENSION: &str = "child-extension.mjs";

/// The command line, the environment, the files and the secrets of one agent.
pub(crate) fn invocation(start: Start<'_>) -> Result<Invocation, StartError> {
    let configuration = start.configuration;
    check_extra_arguments(&start)?;
    let mut line = CommandLine::of(&start);
    line.words.extend(["--mode", "json", "-p"].map(Argument::from));
    if start.keeps_conversation {
        // It is made beforehand so that only its user can read it, and pi takes an empty one for
        // its own.
        line.file("--session", CONVERSATION, "");
    }
    line.flag("--no-session", !start.keeps_conversation);
    line.option("provider", "--provider", configuration.provider.as_deref())?;
    line.option("model", "--model", configuration.model.as_deref())?;
    if let Some(prompt) = &configuration.system_prompt {
        line.file("--system-prompt", SYSTEM_PROMPT, prompt);
    }
    if let Some(prompt) = &configuration.append_system_prompt {
        // A preset, which keeps its conversation, has this one prompt only.
        let name = if start.keeps_conversation { SYSTEM_PROMPT } else { APPEND_SYSTEM_PROMPT };
        line.file("--append-system-prompt", name, prompt);
    }
    let level = configuration.thinking_level.map(ThinkingLevel::word);
    line.option("thinkingLevel", "--thinking", level)?;
    line.tools(start.all_tools)?;
    line.flag("--no-extensions", configuration.no_extensions);
    line.flag("--no-skills", configuration.no_skills);
    line.flag("--no-context-files", configuration.no_context_files);
    for extension in &configuration.extensions {
        line.option("extensions", "--extension", Some(extension))?;
    }
    for path in &configuration.skills {
        line.option("suggestedSkills", "--skill", Some(&path.to_string_lossy()))?;
    }
    line.words.extend(configuration.extra_args.iter().cloned().map(Argument::from));
    let is_builtin = start.agent == AgentKind::Builtin;
    if is_builtin && !configuration.extensions.is_empty() {
        return Err(StartError::NoExtensions { origin: start.origin.title });
    }
    let is_copilot = is_copilot(configuration);
    // The built-in agent takes the key from where it is, and does not speak to Copilot.
    if (configuration.api_key.is_some() || is_copilot) && !is_builtin {
        line.file("-e", EXTENSION, include_str!("child-extension.mjs"));
    }
    let CommandLine { words, files, .. } = line;
    let mut secrets = Secrets::default();
    if let Some(key) = &configuration.api_key {
        secrets.insert(variables::PI_API_KEY, key.reveal().to_owned());
    }
    Ok(Invocation { environment: environment(&start, is_copilot), command: words, files, secrets })
}

fn environment(start: &Start<'_>, is_copilot: bool) -> BTreeMap<String, Option<String>> {
    let agent_dir = start.agent_dir.to_string_lossy().into_owned();
    let Configuration { api_key, key_provider, .. } = start.configuration;
    let variables = [
        (variables::PI_CODING_AGENT_DIR, Some(agent_dir)),
        (variables::GITHUB_COPILOT_INITIATOR, is_copilot.then(|| "agent".to_owned())),
        // If it is absent, the extension that hands the key over asks pi for the provider of the
        // model: a slash in a model's name need not end a provider's.
        (variables::KEY_PROVIDER, key_provider.clone().filter(|_| api_key.is_some())),
        // A key that the caller happens to have is not meant for this child.
        (variables::PI_API_KEY, None),
    ];
    variables.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Whether the model is one of GitHub Copilot, which wants to know who begins a conversation.
fn is_copilot(configuration: &Configuration) -> bool {
    configuration.provider.as_deref() == Some("github-copilot")
        || configuration.model.as_ref().is_some_and(|model| model.starts_with("github-copilot/"))
}

fn check_extra_arguments(start: &Start<'_>) -> Result<(), StartError> {
    let Configuration { no_tools, tools, exclude_tools, extra_args, .. } = start.configuration;
    let is_restricted = *no_tools || !tools.is_empty() || !exclude_tools.is_empty();
    for argument in extra_args {
        let flag = argument.split_once('=').map_or(argument.as_str(), |(flag, _)| flag);
        match flag {
            "--tools" | "-t" | "--no-tools" | "-nt" | "--exclude-tools" | "-xt"
                if is_restricted =>
            {
                let (argument, kind) = (argument.clone(), start.origin.kind);
                return Err(StartError::OverridesTools { argument, kind });
            }
            "--api-key" => return Err(StartError::ShowsKey),
            _ => check_extra_argument(argument)?,
        }
    }
    Ok(())
}

/// A command that grows, and the files that it refers to.
struct CommandLine<'a> {
    start: &'a Start<'a>,
    words: Vec<Argument>,
    files: BTreeMap<String, String>,
}

impl<'a> CommandLine<'a> {
    fn of(start: &'a Start<'a>) -> CommandLine<'a> {
        let words = start.program.iter().cloned().map(Argument::from).collect();
        CommandLine { start, words, files: BTreeMap::new() }
    }

    fn flag(&mut self, flag: &str, is_set: bool) {
        self.words.extend(is_set.then(|| Argument::from(flag)));
    }

    fn option(
        &mut self,
        field: &'static str,
        flag: &str,
        value: Option<&str>,
    ) -> Result<(), StartError> {
        if let Some(value) = value {
            check_value(&self.start.origin, field, value)?;
            self.words.extend([flag, value].map(Argument::from));
        }
        Ok(())
    }

    /// What can be too long for an argument.
    fn file(&mut self, flag: &str, name: &str, text: &str) {
        self.words.extend([Argument::from(flag), Argument::File(name.to_owned())]);
        self.files.insert(name.to_owned(), text.to_owned());
    }

    fn tools(&mut self, all_tools: Option<&[String]>) -> Result<(), StartError> {
        let Configuration { no_tools, tools, exclude_tools, .. } = self.start.configuration;
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

#[cfg(test)]
#[path = "start_tests.rs"]
mod tests;
