//! The command line of Claude Code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::paths::SYSTEM_PROMPT;
use model::{Access, Argument, Secrets};

use super::tools::{WRITERS, is_of_server, translate};
use crate::profile_fields::{Configuration, ThinkingLevel, check_fields};
use crate::start::{
    AgentState, CommandLine, Invocation, Start, StartError, added_prompt, check_extra_argument,
    check_value,
};

const AGENT: &str = "Claude Code";
const PROVIDER: &str = "anthropic";
const APPEND_SYSTEM_PROMPT: &str = "append-system-prompt.md";
/// Where it keeps its state, instead of `.claude` in the home directory.
const STATE: &str = "CLAUDE_CONFIG_DIR";
const KEY: &str = "ANTHROPIC_API_KEY";
/// The server that is this program. Its tools start agents, and agents start none.
const OWN_SERVER: &str = "mcp__pi-subagents";

/// The command line, the environment, the files and the secrets of one agent.
pub(crate) fn invocation(start: &Start<'_>) -> Result<Invocation, StartError> {
    let configuration = start.configuration;
    let origin = || start.origin.title.clone();
    if !configuration.extensions.is_empty() {
        return Err(StartError::NoExtensions { origin: origin(), agent: AGENT });
    }
    check_extra_arguments(start)?;
    let mut warnings = check_fields(start, AGENT, &[])?;
    let mut line = CommandLine::of(start);
    line.words.extend(
        [
            "-p",
            // It can be spoken to while it works, and repeats what it was told when it reads it.
            "--input-format",
            "stream-json",
            "--replay-user-messages",
            "--output-format",
            "stream-json",
            "--verbose",
            "--include-partial-messages",
            // Its own list of sessions is the user's.
            "--no-session-persistence",
        ]
        .map(Argument::from),
    );
    line.words.extend(
        if start.ask {
            ["--permission-mode", "default", "--permission-prompt-tool", "stdio"].as_slice()
        } else {
            // What the agent may change is kept by the system; nothing is there to answer questions.
            &["--permission-mode", "bypassPermissions"]
        }
        .iter()
        .map(|word| Argument::from(*word)),
    );
    line.option("model", "--model", model(start)?)?;
    if let Some(level) = configuration.thinking_level.and_then(effort) {
        line.option("thinkingLevel", "--effort", Some(level))?;
    }
    if let Some(prompt) = &configuration.system_prompt {
        line.file("--system-prompt-file", SYSTEM_PROMPT, prompt);
    }
    if let Some(prompt) = added_prompt(start) {
        line.file("--append-system-prompt-file", APPEND_SYSTEM_PROMPT, &prompt);
    }
    warnings.extend(tools(&mut line, start)?);
    line.flag("--disable-slash-commands", configuration.no_skills);
    if let Some(cost) = start.max_cost_usd {
        // It tells what it has spent at its end, but knows it all the time.
        line.words.extend([Argument::from("--max-budget-usd"), Argument::from(cost.to_string())]);
    }
    if let Some(schema) = start.schema {
        // It takes no file. A schema is shorter than the longest argument.
        line.words.extend([Argument::from("--json-schema"), Argument::from(schema.to_string())]);
    }
    if configuration.no_extensions {
        // Hooks and plugins are switched on in the settings.
        line.words.extend(["--setting-sources", ""].map(Argument::from));
    }
    line.words.extend(configuration.extra_args.iter().cloned().map(Argument::from));
    let CommandLine { words, files, .. } = line;
    let mut secrets = Secrets::default();
    if let Some(key) = &configuration.api_key {
        match configuration.key_provider.as_deref() {
            Some(provider) if provider != PROVIDER => {
                let provider = provider.to_owned();
                let (origin, own) = (origin(), PROVIDER);
                return Err(StartError::OtherKey { origin, provider, agent: AGENT, own });
            }
            _ => secrets.insert(KEY, key.reveal().to_owned()),
        }
    }
    let (environment, state) = (environment(start), state(start));
    Ok(Invocation {
        command: words,
        environment,
        files,
        secrets,
        state,
        warnings,
        ..Invocation::default()
    })
}

/// The model, without the name of its provider.
fn model<'a>(start: &'a Start<'_>) -> Result<Option<&'a str>, StartError> {
    let Configuration { provider, model, .. } = start.configuration;
    let other = |provider: &str| {
        let (origin, provider) = (start.origin.title.clone(), provider.to_owned());
        StartError::OtherProvider { origin, provider, agent: AGENT, own: "Anthropic" }
    };
    if let Some(provider) = provider.as_deref().filter(|provider| *provider != PROVIDER) {
        return Err(other(provider));
    }
    let Some(model) = model.as_deref() else { return Ok(None) };
    // The names of other clouds contain slashes, too, behind something that names no provider.
    let is_provider = |name: &str| {
        name.chars()
            .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-')
    };
    match model.split_once('/') {
        Some((PROVIDER, model)) => Ok(Some(model)),
        Some((provider, _)) if is_provider(provider) => Err(other(provider)),
        _ => Ok(Some(model)),
    }
}

/// The word for how much the model thinks, unless it does not.
fn effort(level: ThinkingLevel) -> Option<&'static str> {
    match level {
        ThinkingLevel::Off => None,
        ThinkingLevel::Minimal | ThinkingLevel::Low => Some("low"),
        level => Some(level.word()),
    }
}

/// Restricts the tools. Returns which of those that were asked for do not exist.
fn tools(line: &mut CommandLine<'_>, start: &Start<'_>) -> Result<Vec<String>, StartError> {
    let Configuration { no_tools, tools, exclude_tools, no_extensions, .. } = start.configuration;
    let mut excluded = vec![OWN_SERVER.to_owned()];
    let (mut allowed, mut unknown) = (None, Vec::new());
    if *no_tools {
        allowed = Some(Vec::new());
    } else if !tools.is_empty() {
        let (known, none) = translate(tools, false);
        (allowed, unknown) = (Some(known), none);
    } else {
        excluded.extend(translate(exclude_tools, true).0);
    }
    if start.access == Access::Read {
        excluded.extend(WRITERS.map(str::to_owned));
    }
    let has_servers =
        allowed.as_ref().is_none_or(|allowed| allowed.iter().any(|tool| is_of_server(tool)));
    // The list of tools holds for its own tools, and not for those of servers.
    line.flag("--strict-mcp-config", !has_servers || *no_extensions);
    if let Some(allowed) = allowed {
        let own: Vec<&str> =
            allowed.iter().filter(|tool| !is_of_server(tool)).map(String::as_str).collect();
        for tool in &own {
            check_value(&start.origin, "tools", tool)?;
        }
        let list = own.join(",");
        // An empty list is no tools at all.
        line.words.extend([Argument::from("--tools"), Argument::from(list)]);
    }
    for tool in &excluded {
        check_value(&start.origin, "excludeTools", tool)?;
    }
    line.words.extend([Argument::from("--disallowedTools"), Argument::from(excluded.join(","))]);
    let warn = |tool: String| format!("{AGENT} has no tool like \"{tool}\"");
    Ok(unknown.into_iter().map(warn).collect())
}

fn environment(start: &Start<'_>) -> BTreeMap<String, Option<String>> {
    let configuration = start.configuration;
    let set = |name: &str, is_set: bool| is_set.then(|| (name.to_owned(), Some("1".to_owned())));
    let is_off = configuration.thinking_level == Some(ThinkingLevel::Off);
    [
        // What goes on in the background would end with the run, and an answer comes once.
        set("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", true),
        set("DISABLE_AUTOUPDATER", true),
        set("CLAUDE_CODE_DISABLE_THINKING", is_off),
        set("CLAUDE_CODE_DISABLE_CLAUDE_MDS", configuration.no_context_files),
        set("CLAUDE_CODE_DISABLE_AUTO_MEMORY", configuration.no_context_files),
        // For root it does without questions only in a sandbox, which a restricted agent is in.
        set("IS_SANDBOX", start.access.is_restricted()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What it writes for itself. Its settings, hooks and plugins are beside it.
fn state(start: &Start<'_>) -> AgentState {
    let Some((directory, file)) = state_paths(start) else { return AgentState::default() };
    let paths = ["projects", "todos", "tasks", "shell-snapshots", "session-env", "debug"];
    AgentState {
        paths: paths.iter().map(|name| directory.join(name)).collect(),
        settings: vec![directory, file],
        ..AgentState::default()
    }
}

/// The directory of its state, and the file that is beside it or in it.
fn state_paths(start: &Start<'_>) -> Option<(PathBuf, PathBuf)> {
    let named = (start.variable)(STATE).filter(|path| Path::new(path).is_absolute());
    match (named, start.home) {
        (Some(path), _) => {
            let directory = PathBuf::from(path);
            Some((directory.clone(), directory.join(".claude.json")))
        }
        (None, Some(home)) => Some((home.join(".claude"), home.join(".claude.json"))),
        (None, None) => None,
    }
}

/// The flags that would change what a field of ours has decided.
fn check_extra_arguments(start: &Start<'_>) -> Result<(), StartError> {
    let Configuration { no_tools, tools, exclude_tools, no_extensions, extra_args, .. } =
        start.configuration;
    let is_restricted = *no_tools || !tools.is_empty() || !exclude_tools.is_empty();
    for argument in extra_args {
        let flag = argument.split_once('=').map_or(argument.as_str(), |(flag, _)| flag);
        match flag {
            "--tools" | "--allowedTools" | "--allowed-tools" | "--disallowedTools"
            | "--disallowed-tools" | "--mcp-config" | "--agents" | "--agent"
                if is_restricted =>
            {
                let (argument, kind) = (argument.clone(), start.origin.kind);
                return Err(StartError::OverridesTools { argument, kind });
            }
            "--settings" | "--setting-sources" | "--plugin-dir" | "--plugin-url"
            | "--mcp-config"
                if *no_extensions || is_restricted =>
            {
                let (argument, kind) = (argument.clone(), start.origin.kind);
                return Err(StartError::OverridesTools { argument, kind });
            }
            _ => check_extra_argument(argument)?,
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "start_tests.rs"]
mod tests;
