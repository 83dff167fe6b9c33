//! The command line of GitHub Copilot.

use std::path::{Path, PathBuf};

use model::{Access, Argument, Mirror, Secrets};

use super::make::Make;
use super::start::{OWN_SERVER, cannot, extra_arguments, preamble, translate};
use crate::profile_fields::{Configuration, ThinkingLevel};
use crate::start::{AgentState, CommandLine, Invocation, Start, StartError, check_value};

const AGENT: Make = Make::Copilot;
/// pi's name for it.
const PROVIDER: &str = "github-copilot";
const KEY: &str = "COPILOT_GITHUB_TOKEN";
/// Where it keeps its state, instead of `.copilot` in the home directory.
const STATE: &str = "COPILOT_HOME";

/// Where it unpacks itself, among other things: what is there runs, so that no agent may write it.
const CACHE: &str = "COPILOT_CACHE_HOME";

/// What it reads there, and does not write but to sign in.
const ENTRIES: [&str; 8] = [
    "agents",
    "config.json",
    "copilot-instructions.md",
    "installed-plugins",
    "lsp-config.json",
    "mcp-config.json",
    "settings.json",
    "skills",
];

/// Our names of its tools. A command goes on in the background, so that others read and stop it.
const TOOLS: [(&str, &[&str]); 9] = [
    ("read", &["view"]),
    ("bash", &["bash", "write_bash", "read_bash", "stop_bash", "list_bash"]),
    ("edit", &["edit", "apply_patch"]),
    ("write", &["create"]),
    ("grep", &["grep", "rg"]),
    ("find", &["glob"]),
    ("ls", &["view"]),
    ("web_search", &["web_search"]),
    ("fetch_content", &["web_fetch"]),
];

const OVERRIDING: [&str; 6] = [
    "--available-tools",
    "--excluded-tools",
    "--additional-mcp-config",
    "--enable-mcp-server",
    "--plugin-dir",
    "--agent",
];

pub(super) fn invocation(start: &Start<'_>) -> Result<Invocation, StartError> {
    let Configuration { thinking_level, no_extensions, no_skills, no_context_files, .. } =
        start.configuration;
    if *no_context_files {
        // There is a flag, which it does not heed in this mode.
        let instead = Some("it always reads AGENTS.md and its like");
        return Err(cannot(start, "noContextFiles", AGENT.title(), instead));
    }
    if *no_extensions {
        let instead = Some("it always loads its plugins and servers");
        return Err(cannot(start, "noExtensions", AGENT.title(), instead));
    }
    let mut line = CommandLine::of(start);
    line.flag("--acp", !start.program.iter().any(|word| word == "--acp"));
    line.words.extend(
        ["--no-auto-update", "--no-ask-user", "--disable-mcp-server", OWN_SERVER]
            .map(Argument::from),
    );
    line.option("model", "--model", model(start)?)?;
    line.option("thinkingLevel", "--reasoning-effort", thinking_level.map(effort))?;
    let mut warnings = tools(&mut line, start, *no_skills)?;
    line.words.extend(extra_arguments(start, &OVERRIDING)?);
    let (preamble, warning) = preamble(start, AGENT.title());
    warnings.extend(warning);
    Ok(Invocation {
        command: line.words,
        secrets: secrets(start)?,
        state: state(start),
        preamble,
        warnings,
        ..Invocation::default()
    })
}

/// The model, without the name of its provider.
fn model<'a>(start: &'a Start<'_>) -> Result<Option<&'a str>, StartError> {
    let Configuration { provider, model, .. } = start.configuration;
    if let Some(provider) = provider.as_deref().filter(|provider| *provider != PROVIDER) {
        return Err(StartError::OtherProvider {
            origin: start.origin.title.clone(),
            provider: provider.to_owned(),
            agent: AGENT.title(),
            own: "GitHub Copilot",
        });
    }
    // The models of a provider of one's own can have slashes in their names.
    let own = |model: &'a str| model.strip_prefix(PROVIDER)?.strip_prefix('/');
    Ok(model.as_deref().map(|model| own(model).unwrap_or(model)))
}

fn effort(level: ThinkingLevel) -> &'static str {
    match level {
        ThinkingLevel::Off => "none",
        level => level.word(),
    }
}

/// Restricts the tools. Returns which of those that were asked for do not exist.
fn tools(
    line: &mut CommandLine<'_>,
    start: &Start<'_>,
    no_skills: bool,
) -> Result<Vec<String>, StartError> {
    let Configuration { no_tools, tools, exclude_tools, .. } = start.configuration;
    let (mut allowed, mut excluded) = (None, Vec::new());
    let mut warnings = Vec::new();
    if *no_tools {
        // An empty list would be none at all.
        allowed = Some(vec!["none".to_owned()]);
    } else if !tools.is_empty() {
        let (known, unknown) = translate(tools, &TOOLS);
        let warn = |tool: &String| format!("{} has no tool like \"{tool}\"", AGENT.title());
        warnings = unknown.iter().map(warn).collect();
        allowed = Some(if known.is_empty() { vec!["none".to_owned()] } else { known });
    } else {
        let (known, unknown) = translate(exclude_tools, &TOOLS);
        excluded.extend(known.into_iter().chain(unknown));
    }
    if start.access == Access::Read {
        // They could only fail.
        excluded.extend(["create", "edit", "apply_patch"].map(str::to_owned));
    }
    excluded.extend(no_skills.then(|| "skill".to_owned()));
    for tool in allowed.iter().flatten().chain(&excluded) {
        check_value(&start.origin, "excludeTools", tool)?;
    }
    let mut list = |flag: &str, tools: &[String]| {
        line.words.push(Argument::from(format!("{flag}={}", tools.join(","))));
    };
    if let Some(allowed) = &allowed {
        list("--available-tools", allowed);
    }
    if !excluded.is_empty() {
        list("--excluded-tools", &excluded);
    }
    Ok(warnings)
}

fn secrets(start: &Start<'_>) -> Result<Secrets, StartError> {
    let Configuration { api_key, key_provider, .. } = start.configuration;
    let mut secrets = Secrets::default();
    let Some(key) = api_key else { return Ok(secrets) };
    match key_provider.as_deref().filter(|provider| *provider != PROVIDER) {
        Some(provider) => {
            let (origin, provider) = (start.origin.title.clone(), provider.to_owned());
            let (agent, own) = (AGENT.title(), PROVIDER);
            Err(StartError::OtherKey { origin, provider, agent, own })
        }
        None => {
            secrets.insert(KEY, key.reveal().to_owned());
            Ok(secrets)
        }
    }
}

/// It writes sessions and logs beside its settings. So it gets links to its settings in a directory of the run, in which
/// it can make everything else, and nothing that outlives the run.
fn state(start: &Start<'_>) -> AgentState {
    let named = (start.variable)(STATE).filter(|path| Path::new(path).is_absolute());
    let directory = named.map(PathBuf::from).or_else(|| Some(start.home?.join(".copilot")));
    let Some(directory) = directory else { return AgentState::default() };
    AgentState {
        settings: vec![directory.clone()],
        mirror: Some(Mirror {
            directory,
            variable: STATE.to_owned(),
            beneath: None,
            entries: Some(ENTRIES.map(str::to_owned).to_vec()),
            mounted: Vec::new(),
        }),
        private: vec![CACHE.to_owned()],
        ..AgentState::default()
    }
}
