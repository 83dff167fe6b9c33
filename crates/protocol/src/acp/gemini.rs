//! How Gemini CLI is started. Tools are restricted by a policy, a file of the run. (Settings of ours would not do: it
//! passes over a file of settings for the whole system that is not root's, and goes on without.)

use std::path::{Path, PathBuf};

use model::paths::SYSTEM_PROMPT;
use model::{Access, Argument, Mirror, Secrets};

use super::make::Make;
use super::start::{cannot, extra_arguments, translate};
use crate::profile_fields::Configuration;
use crate::start::{
    AgentState, CommandLine, Invocation, Start, StartError, added_prompt, check_value,
};

const AGENT: Make = Make::Gemini;
/// pi's names for what it can use.
const PROVIDERS: [&str; 3] = ["google", "google-gemini-cli", "google-vertex"];
const KEY: &str = "GEMINI_API_KEY";
/// The directory in which it looks for `.gemini`, instead of the home directory.
const HOME: &str = "GEMINI_CLI_HOME";
const POLICY_FILE: &str = "gemini-policy.toml";
/// The file that takes the place of its system prompt.
const PROMPT: &str = "GEMINI_SYSTEM_MD";
/// A name that nothing has.
const NOTHING: &str = "pi-subagents-nothing";

/// What it reads in its directory, and does not write but to sign in.
const ENTRIES: [&str; 14] = [
    ".env",
    "GEMINI.md",
    "agents",
    "commands",
    "extensions",
    "google_accounts.json",
    "installation_id",
    "mcp-oauth-tokens.json",
    "oauth_creds.json",
    "policies",
    "settings.json",
    "skills",
    "trustedFolders.json",
    "gemini-credentials.json",
];

/// Our names of its tools.
const TOOLS: [(&str, &[&str]); 9] = [
    ("read", &["read_file", "read_many_files"]),
    ("bash", &["run_shell_command", "list_background_processes", "read_background_output"]),
    ("edit", &["replace"]),
    ("write", &["write_file"]),
    ("grep", &["grep_search", "search_file_content"]),
    ("find", &["glob"]),
    ("ls", &["list_directory"]),
    ("web_search", &["google_web_search"]),
    ("fetch_content", &["web_fetch"]),
];

const OVERRIDING: [&str; 9] = [
    "--extensions",
    "-e",
    "--allowed-mcp-server-names",
    "--allowed-tools",
    "--policy",
    "--admin-policy",
    "--approval-mode",
    "--yolo",
    "-y",
];

pub(super) fn invocation(start: &Start<'_>) -> Result<Invocation, StartError> {
    let configuration = start.configuration;
    if configuration.no_extensions {
        let instead = Some("its hooks are switched on in its settings");
        return Err(cannot(start, "noExtensions", AGENT.title(), instead));
    }
    if configuration.no_context_files {
        let instead = Some("it always reads the GEMINI.md of its own directory");
        return Err(cannot(start, "noContextFiles", AGENT.title(), instead));
    }
    let mut line = CommandLine::of(start);
    line.flag("--acp", !start.program.iter().any(|word| word == "--acp"));
    line.option("model", "--model", model(start)?)?;
    let mut warnings = Vec::new();
    if let Some(level) = configuration.thinking_level {
        warnings.push(format!(
            "{} cannot be told how much to think, so that thinkingLevel \"{}\" has no effect",
            AGENT.title(),
            level.word()
        ));
    }
    if let Some(policy) = policy(start, &mut warnings)? {
        // The first is above every policy of the user, but does not count where the system has policies; the second does.
        line.file("--admin-policy", POLICY_FILE, &policy);
        line.file("--policy", POLICY_FILE, &policy);
    }
    if configuration.no_tools || !configuration.tools.is_empty() {
        line.words.extend(["--allowed-mcp-server-names", NOTHING].map(Argument::from));
    }
    line.words.extend(extra_arguments(start, &OVERRIDING)?);
    if configuration.api_key.is_some() {
        warnings.push(format!(
            "{} uses the key only if its own settings choose no other way to sign in",
            AGENT.title()
        ));
    }
    let CommandLine { words, mut files, .. } = line;
    let mut invocation = Invocation {
        command: words,
        secrets: secrets(start)?,
        state: state(start),
        preamble: added_prompt(start),
        warnings,
        ..Invocation::default()
    };
    if let Some(prompt) = &configuration.system_prompt {
        files.insert(SYSTEM_PROMPT.to_owned(), prompt.clone());
        invocation.file_variables.insert(PROMPT.to_owned(), SYSTEM_PROMPT.to_owned());
    }
    invocation.files = files;
    Ok(invocation)
}

/// The model, without the name of its provider.
fn model<'a>(start: &'a Start<'_>) -> Result<Option<&'a str>, StartError> {
    let Configuration { provider, model, .. } = start.configuration;
    let is_own = |name: &str| PROVIDERS.contains(&name);
    let other = |provider: &str| StartError::OtherProvider {
        origin: start.origin.title.clone(),
        provider: provider.to_owned(),
        agent: AGENT.title(),
        own: "Google",
    };
    if let Some(provider) = provider.as_deref().filter(|provider| !is_own(provider)) {
        return Err(other(provider));
    }
    match model.as_deref().map(|model| (model, model.split_once('/'))) {
        Some((_, Some((provider, model)))) if is_own(provider) => Ok(Some(model)),
        Some((_, Some((provider, _)))) if provider != "models" => Err(other(provider)),
        Some((model, _)) => Ok(Some(model)),
        None => Ok(None),
    }
}

/// The policy that restricts the tools, if anything does. A tool that it denies is not offered to the model.
fn policy(start: &Start<'_>, warnings: &mut Vec<String>) -> Result<Option<String>, StartError> {
    let Configuration { no_tools, tools, exclude_tools, no_skills, .. } = start.configuration;
    let (mut denied, mut allowed) = (Vec::new(), Vec::new());
    let is_only = *no_tools || !tools.is_empty();
    if is_only {
        let (known, unknown) =
            if *no_tools { Default::default() } else { translate(tools, &TOOLS) };
        let warn = |tool: String| format!("{} has no tool like \"{tool}\"", AGENT.title());
        warnings.extend(unknown.into_iter().map(warn));
        allowed = known;
    } else {
        let (known, unknown) = translate(exclude_tools, &TOOLS);
        denied.extend(known.into_iter().chain(unknown));
    }
    if start.access == Access::Read {
        // They could only fail.
        denied.extend(["replace", "write_file"].map(str::to_owned));
    }
    denied.extend(no_skills.then(|| "activate_skill".to_owned()));
    for tool in &denied {
        check_name(start, tool)?;
    }
    let rule = |tools: &[String], decision: &str, priority: u32| {
        let names: Vec<String> = tools.iter().map(|tool| format!("\"{tool}\"")).collect();
        let names = names.join(", ");
        let rule = format!("decision = \"{decision}\"\npriority = {priority}\n");
        (!tools.is_empty()).then(|| format!("[[rule]]\ntoolName = [{names}]\n{rule}"))
    };
    let rules: Vec<String> = [
        is_only.then(|| {
            "[[rule]]\ntoolName = \"*\"\ndecision = \"deny\"\npriority = 900\n".to_owned()
        }),
        // What it asks about is answered by the access of the run.
        rule(&allowed, "ask_user", 950),
        rule(&denied, "deny", 990),
    ]
    .into_iter()
    .flatten()
    .collect();
    Ok((!rules.is_empty()).then(|| rules.join("\n")))
}

/// Refuses a name that would not be one word of a policy.
fn check_name(start: &Start<'_>, name: &str) -> Result<(), StartError> {
    check_value(&start.origin, "excludeTools", name)?;
    if name.contains(['"', '\\', '\n']) {
        let instead = Some("it is no name of a tool");
        return Err(cannot(start, "excludeTools", AGENT.title(), instead));
    }
    Ok(())
}

fn secrets(start: &Start<'_>) -> Result<Secrets, StartError> {
    let Configuration { api_key, key_provider, .. } = start.configuration;
    let mut secrets = Secrets::default();
    let Some(key) = api_key else { return Ok(secrets) };
    match key_provider.as_deref().filter(|provider| *provider != PROVIDERS[0]) {
        Some(provider) => {
            let (origin, provider) = (start.origin.title.clone(), provider.to_owned());
            let (agent, own) = (AGENT.title(), PROVIDERS[0]);
            Err(StartError::OtherKey { origin, provider, agent, own })
        }
        None => {
            secrets.insert(KEY, key.reveal().to_owned());
            Ok(secrets)
        }
    }
}

/// It writes chats, logs and histories beside its settings. So it gets links to its settings in a directory of the run,
/// in which it can make everything else, and nothing that outlives the run.
fn state(start: &Start<'_>) -> AgentState {
    let named = (start.variable)(HOME).filter(|path| Path::new(path).is_absolute());
    let home = named.map(PathBuf::from).or_else(|| start.home.map(Path::to_owned));
    let Some(home) = home else { return AgentState::default() };
    let directory = home.join(".gemini");
    AgentState {
        settings: vec![directory.clone()],
        mirror: Some(Mirror {
            directory,
            variable: HOME.to_owned(),
            beneath: Some(".gemini".to_owned()),
            entries: Some(ENTRIES.map(str::to_owned).to_vec()),
            mounted: Vec::new(),
        }),
        ..AgentState::default()
    }
}
