//! The command line of Codex.

use std::path::{Path, PathBuf};

use model::paths::SYSTEM_PROMPT;
use model::{Argument, Mirror, Secrets};

use crate::profile_fields::{Configuration, ThinkingLevel, check_fields};
use crate::start::{
    AgentState, CommandLine, Invocation, Start, StartError, added_prompt, check_extra_argument,
    check_value,
};

const AGENT: &str = "Codex";
const PROVIDER: &str = "openai";
/// pi's name for a subscription that Codex is signed in with.
const SUBSCRIPTION: &str = "openai-codex";
/// Where it keeps its state, instead of `.codex` in the home directory.
const STATE: &str = "CODEX_HOME";
const KEY: &str = "CODEX_API_KEY";
/// The file of the run directory with the schema of the answer.
const SCHEMA: &str = "schema.json";
/// What it reads there, and does not write but to sign in.
const SETTINGS: [&str; 10] = [
    "AGENTS.md",
    "AGENTS.override.md",
    "agents",
    "auth.json",
    "config.toml",
    "hooks.json",
    "plugins",
    "prompts",
    "rules",
    "skills",
];
/// A server of this program that the user has set up is switched off, and one that is not there is
/// switched off as well. Its tools start agents, and agents start none. Codex hands no variables to
/// servers, so that the server could not know.
const OWN_SERVER: &str = "mcp_servers.pi-subagents={command=\"true\",enabled=false}";

/// The tools that can be switched off one by one.
const TOOLS: [(&str, &[&str]); 2] = [
    ("bash", &["features.shell_tool=false", "features.unified_exec=false"]),
    ("web_search", &["web_search=\"disabled\""]),
];

/// The command line, the environment, the files and the secrets of one agent.
pub(crate) fn invocation(start: &Start<'_>) -> Result<Invocation, StartError> {
    let configuration = start.configuration;
    check_restrictions(start)?;
    let warnings = check_fields(start, AGENT, &[])?;
    for argument in &configuration.extra_args {
        check_extra(start, argument)?;
    }
    let mut line = CommandLine::of(start);
    line.words.extend(
        [
            "exec",
            "--json",
            "--color",
            "never",
            // Its own list of sessions is the user's.
            "--ephemeral",
            "--skip-git-repo-check",
            // The system keeps what the agent may change, also for what Codex itself writes. Its own
            // sandbox cannot be made inside of that one.
            "--sandbox",
            "danger-full-access",
        ]
        .map(Argument::from),
    );
    let (provider, model) = model(start);
    line.option("model", "--model", model)?;
    let mut settings = vec![OWN_SERVER.to_owned()];
    if let Some(provider) = provider.filter(|name| ![PROVIDER, SUBSCRIPTION].contains(name)) {
        check_name(start, "provider", provider)?;
        settings.push(format!("model_provider=\"{provider}\""));
    }
    if let Some(level) = configuration.thinking_level {
        settings.push(format!("model_reasoning_effort=\"{}\"", effort(level)));
    }
    settings
        .extend(configuration.no_skills.then(|| "skills.include_instructions=false".to_owned()));
    for tool in &configuration.exclude_tools {
        let known = TOOLS.iter().find(|(name, _)| name == tool);
        settings.extend(known.into_iter().flat_map(|(_, off)| off.iter().map(ToString::to_string)));
    }
    if configuration.no_extensions {
        line.flag("--ignore-user-config", true);
        let off = ["features.plugins=false", "features.apps=false", "features.hooks=false"];
        settings.extend(off.map(str::to_owned));
    }
    for setting in settings {
        line.words.extend([Argument::from("-c"), Argument::from(setting)]);
    }
    if let Some(prompt) = &configuration.system_prompt {
        line.files.insert(SYSTEM_PROMPT.to_owned(), prompt.clone());
        line.words.extend([
            Argument::from("-c"),
            Argument::Setting {
                name: "model_instructions_file".to_owned(),
                file: SYSTEM_PROMPT.to_owned(),
            },
        ]);
    }
    if let Some(schema) = start.schema {
        line.file("--output-schema", SCHEMA, &schema.to_string());
    }
    line.words.extend(configuration.extra_args.iter().cloned().map(Argument::from));
    line.flag("-", true);
    let CommandLine { words, files, .. } = line;
    let mut secrets = Secrets::default();
    if let Some(key) = &configuration.api_key {
        let own = configuration.key_provider.as_deref().or(provider);
        match own.filter(|own| *own != PROVIDER) {
            Some(provider) => {
                let (origin, provider) = (start.origin.title.clone(), provider.to_owned());
                return Err(StartError::OtherKey { origin, provider, agent: AGENT, own: PROVIDER });
            }
            None => secrets.insert(KEY, key.reveal().to_owned()),
        }
    }
    Ok(Invocation {
        command: words,
        files,
        secrets,
        // A backtrace would hide the reason of a failure.
        environment: [("RUST_LIB_BACKTRACE".to_owned(), Some("0".to_owned()))].into(),
        state: state(start),
        preamble: added_prompt(start),
        warnings,
        ..Invocation::default()
    })
}

/// The provider and the model, which are often written as one.
fn model<'a>(start: &'a Start<'_>) -> (Option<&'a str>, Option<&'a str>) {
    let Configuration { provider, model, .. } = start.configuration;
    match (provider.as_deref(), model.as_deref()) {
        (None, Some(model)) => match model.split_once('/') {
            Some((provider, model)) => (Some(provider), Some(model)),
            None => (None, Some(model)),
        },
        (Some(provider), Some(model)) => {
            let own = model.strip_prefix(provider).and_then(|model| model.strip_prefix('/'));
            (Some(provider), Some(own.unwrap_or(model)))
        }
        (provider, None) => (provider, None),
    }
}

/// Refuses a name that would not be one word of a setting.
fn check_name(start: &Start<'_>, field: &'static str, name: &str) -> Result<(), StartError> {
    check_value(&start.origin, field, name)?;
    if name.contains(['"', '\\', '\n']) {
        let (origin, provider) = (start.origin.title.clone(), name.to_owned());
        return Err(StartError::OtherProvider {
            origin,
            provider,
            agent: AGENT,
            own: "its settings",
        });
    }
    Ok(())
}

fn effort(level: ThinkingLevel) -> &'static str {
    match level {
        ThinkingLevel::Off => "none",
        ThinkingLevel::Max => "xhigh",
        level => level.word(),
    }
}

/// Refuses what should restrict the agent and cannot.
fn check_restrictions(start: &Start<'_>) -> Result<(), StartError> {
    let configuration = start.configuration;
    let refused = |field, instead| {
        let origin = start.origin.title.clone();
        StartError::CannotRestrict { origin, field, agent: AGENT, instead }
    };
    if !configuration.extensions.is_empty() {
        let origin = start.origin.title.clone();
        return Err(StartError::NoExtensions { origin, agent: AGENT });
    }
    if configuration.no_tools {
        return Err(refused("noTools", Some("it always has tools")));
    }
    let read_only = Some("`access: read` lets it change nothing");
    if !configuration.tools.is_empty() {
        return Err(refused("tools", read_only));
    }
    let can_go = |tool: &String| TOOLS.iter().any(|(name, _)| name == tool);
    if !configuration.exclude_tools.iter().all(can_go) {
        return Err(refused("excludeTools", read_only));
    }
    if configuration.no_context_files {
        let instead = Some("it always reads the AGENTS.md of its own directory");
        return Err(refused("noContextFiles", instead));
    }
    Ok(())
}

/// Refuses an argument that would undo what the fields have decided.
fn check_extra(start: &Start<'_>, argument: &str) -> Result<(), StartError> {
    let Configuration { exclude_tools, no_extensions, no_skills, .. } = start.configuration;
    let is_restricted = !exclude_tools.is_empty() || *no_extensions || *no_skills;
    let flag = argument.split_once('=').map_or(argument, |(flag, _)| flag);
    match flag {
        "-c" | "--config" | "--enable" | "--profile" | "-p" if is_restricted => {
            let (argument, kind) = (argument.to_owned(), start.origin.kind);
            Err(StartError::OverridesTools { argument, kind })
        }
        _ => check_extra_argument(argument),
    }
}

/// It writes databases, logs and skills of its own beside its settings. So it gets links to its settings in a
/// directory of the run, in which it can make everything else, and nothing that outlives the run.
fn state(start: &Start<'_>) -> AgentState {
    let named = (start.variable)(STATE).filter(|path| Path::new(path).is_absolute());
    let directory = named.map(PathBuf::from).or_else(|| Some(start.home?.join(".codex")));
    let Some(directory) = directory else { return AgentState::default() };
    let entries = Some(SETTINGS.map(str::to_owned).to_vec());
    AgentState {
        settings: vec![directory.clone()],
        mirror: Some(Mirror {
            directory,
            variable: STATE.to_owned(),
            beneath: None,
            entries,
            mounted: Vec::new(),
        }),
        ..AgentState::default()
    }
}

#[cfg(test)]
#[path = "start_tests.rs"]
mod tests;
