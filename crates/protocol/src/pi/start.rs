//! pi's command line, and that of the built-in agent, which takes pi's arguments.

use std::collections::BTreeMap;

use model::paths::{SYSTEM_PROMPT, StateDir};
use model::{AgentKind, Argument, Meta, Mirror, Secrets, variables};

use super::version::{OF_SERVER, check_provider, without_servers};
use crate::profile_fields::{Configuration, ThinkingLevel, check_fields};
use crate::start::{
    AgentState, CommandLine, Invocation, Start, StartError, bounds, check_extra_argument,
};

/// The names of the files in the run directory that a command refers to.
const APPEND_SYSTEM_PROMPT: &str = "append-system-prompt.md";
const CONVERSATION: &str = "child-session.jsonl";
const EXTENSION: &str = "child-extension.mjs";

const PI: &str = "pi";
const BUILTIN: &str = "the built-in agent";

/// The arguments of JSON mode, in which the prompt is the whole standard input.
pub(crate) const JSON_MODE: &[&str] = &["--mode", "json", "-p"];
/// The arguments of RPC mode, in which standard input has commands.
pub(crate) const RPC_MODE: &[&str] = &["--mode", "rpc"];

/// Whether these arguments mean something in JSON mode only: they choose the mode, or bring files or
/// further prompts.
pub(crate) fn need_json_mode(extra_args: &[String]) -> bool {
    let mut is_value_possible = false;
    extra_args.iter().any(|argument| {
        let is_option = argument.starts_with('-');
        let flag = argument.split_once('=').map_or(argument.as_str(), |(flag, _)| flag);
        let chooses_mode = matches!(flag, "--mode" | "-p" | "--print");
        // What follows an option can be its value.
        let is_prompt = !is_option && (argument.starts_with('@') || !is_value_possible);
        is_value_possible = is_option;
        chooses_mode || is_prompt
    })
}

/// The file from which an agent with this command goes on with its conversation.
pub(crate) fn conversation_file(command: &[String]) -> Option<&str> {
    let option = command.iter().position(|word| word == "--session")?;
    command.get(option + 1).map(String::as_str)
}

/// The command line, the environment, the files and the secrets of one agent.
pub(crate) fn invocation(start: Start<'_>, mode: &[&str]) -> Result<Invocation, StartError> {
    let configuration = start.configuration;
    let is_builtin = start.agent == AgentKind::Builtin;
    check_extra_arguments(&start)?;
    let warnings = check_fields(&start, if is_builtin { BUILTIN } else { PI }, &[])?;
    check_provider(&start.origin.title, configuration, start.version)?;
    let mut line = CommandLine::of(&start);
    line.words.extend(mode.iter().copied().map(Argument::from));
    if start.keeps_conversation {
        // It is made beforehand so that only its user can read it, and pi takes an empty one for
        // its own.
        line.file("--session", CONVERSATION, "");
    }
    line.flag("--no-session", !start.keeps_conversation);
    line.option("provider", "--provider", configuration.provider.as_deref())?;
    line.option("model", "--model", configuration.model.as_deref())?;
    if is_builtin {
        // It changes its model by itself, also after tools have run.
        for model in configuration.fallback_models.iter().take(Meta::FALLBACK_MODELS) {
            line.option("fallbackModels", "--fallback-model", Some(model))?;
        }
    }
    if let Some(prompt) = &configuration.system_prompt {
        line.file("--system-prompt", SYSTEM_PROMPT, prompt);
    }
    if let Some(prompt) = appended_prompt(&start) {
        // A preset, which keeps its conversation, has this one prompt only.
        let name = if start.keeps_conversation { SYSTEM_PROMPT } else { APPEND_SYSTEM_PROMPT };
        line.file("--append-system-prompt", name, &prompt);
    }
    let level = configuration.thinking_level.map(ThinkingLevel::word);
    line.option("thinkingLevel", "--thinking", level)?;
    tools(&mut line, &start)?;
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
    if is_builtin && !configuration.extensions.is_empty() {
        return Err(StartError::NoExtensions { origin: start.origin.title, agent: BUILTIN });
    }
    let is_copilot = is_copilot(&start);
    // The built-in agent takes the key from where it is, and does not speak to Copilot.
    if (configuration.api_key.is_some() || is_copilot) && !is_builtin {
        line.file("-e", EXTENSION, include_str!("child-extension.mjs"));
    }
    let CommandLine { words, files, .. } = line;
    let mut secrets = Secrets::default();
    if let Some(key) = &configuration.api_key {
        secrets.insert(variables::PI_API_KEY, key.reveal().to_owned());
    }
    let (environment, state) = (environment(&start, is_copilot), state(&start));
    Ok(Invocation {
        environment,
        command: words,
        files,
        secrets,
        state,
        warnings,
        ..Invocation::default()
    })
}

/// What is added to the system prompt: also what the agent may not change, so that it does not try.
fn appended_prompt(start: &Start<'_>) -> Option<String> {
    let prompt = start.configuration.append_system_prompt.as_deref();
    let parts: Vec<&str> = [prompt, bounds(start.access)].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// pi reads its settings and logins only while it holds a lock on them, which is a directory beside
/// the file. So it gets links to all of its files, beside which it can make one. The files themselves
/// stay as they are: a key in `auth.json` can be a command.
fn state(start: &Start<'_>) -> AgentState {
    let run_files =
        if start.keeps_conversation { vec![CONVERSATION.to_owned()] } else { Vec::new() };
    if start.agent == AgentKind::Builtin {
        return AgentState { run_files, ..AgentState::default() };
    }
    AgentState {
        run_files,
        paths: vec![StateDir::of_user(start.agent_dir).sessions()],
        mirror: Some(Mirror {
            directory: start.agent_dir.to_owned(),
            variable: variables::PI_CODING_AGENT_DIR.to_owned(),
            beneath: None,
            entries: None,
            // Since 1.5.1 it locks the file itself.
            mounted: vec!["auth.json".to_owned()],
        }),
        ..AgentState::default()
    }
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
fn is_copilot(start: &Start<'_>) -> bool {
    const COPILOT: &str = "github-copilot";
    let Configuration { provider, model, .. } = start.configuration;
    match (provider, model) {
        (None, None) => start.default_provider == Some(COPILOT),
        (provider, model) => {
            let of_model = model.as_ref().and_then(|model| model.split_once('/'));
            provider.as_deref() == Some(COPILOT)
                || of_model.is_some_and(|(provider, _)| provider == COPILOT)
        }
    }
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

fn tools(line: &mut CommandLine<'_>, start: &Start<'_>) -> Result<(), StartError> {
    let Configuration { no_tools, tools, exclude_tools, .. } = start.configuration;
    let is_of_server = |tool: &String| tool.starts_with(OF_SERVER);
    if *no_tools {
        line.flag("--no-tools", true);
        close_servers(line, start);
    } else if !tools.is_empty() {
        line.option("tools", "--tools", Some(&tools.join(",")))?;
        if !tools.iter().any(is_of_server) {
            close_servers(line, start);
        }
    } else if !exclude_tools.is_empty() {
        let Some(all_tools) = start.all_tools else {
            let excluded = exclude_tools.join(",");
            return line.option("excludeTools", "--exclude-tools", Some(&excluded));
        };
        let is_left = |tool: &&String| !exclude_tools.contains(tool);
        let left: Vec<String> = all_tools.iter().filter(is_left).cloned().collect();
        if left.is_empty() {
            // An empty list of tools would mean all of them.
            line.flag("--no-tools", true);
        } else {
            line.option("excludeTools", "--tools", Some(&left.join(",")))?;
        }
        // A list without a tool of a server would leave all of them.
        if exclude_tools.iter().any(is_of_server) && !left.iter().any(is_of_server) {
            close_servers(line, start);
        }
    }
    Ok(())
}

fn close_servers(line: &mut CommandLine<'_>, start: &Start<'_>) {
    line.words.extend(without_servers(start.version).map(Argument::from));
}

#[cfg(test)]
#[path = "start_tests.rs"]
mod tests;
