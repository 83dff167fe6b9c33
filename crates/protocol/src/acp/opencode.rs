//! How opencode is started. Everything that is decided here is a setting in a variable, which wins over its files.

use std::path::{Path, PathBuf};

use model::{Access, Mirror, variables};
use serde_json::{Map, Value, json};

use super::make::Make;
use super::start::{OWN_SERVER, cannot, extra_arguments, translate};
use crate::profile_fields::Configuration;
use crate::start::{
    AgentState, CommandLine, Invocation, Start, StartError, added_prompt, check_value,
};

const AGENT: Make = Make::Opencode;
/// Its settings as JSON.
const SETTINGS: &str = "OPENCODE_CONFIG_CONTENT";

/// The directory that holds the one with its data.
const DATA: &str = "XDG_DATA_HOME";
const SIGN_INS: [&str; 3] = ["account.json", "auth.json", "mcp-auth.json"];

/// Our names of what it permits: one word covers all its tools that change files.
const TOOLS: [(&str, &[&str]); 9] = [
    ("read", &["read"]),
    ("bash", &["bash"]),
    ("edit", &["edit"]),
    ("write", &["edit"]),
    ("grep", &["grep"]),
    ("find", &["glob"]),
    ("ls", &["list"]),
    ("web_search", &["websearch"]),
    ("fetch_content", &["webfetch"]),
];

/// What it does without asking unless it is told to ask.
const ASKED: [&str; 3] = ["bash", "edit", "webfetch"];

pub(super) fn invocation(start: &Start<'_>) -> Result<Invocation, StartError> {
    let configuration = start.configuration;
    if configuration.no_extensions {
        let instead = Some("its servers and plugins are switched on in its settings");
        return Err(cannot(start, "noExtensions", AGENT.title(), instead));
    }
    if configuration.no_context_files {
        let instead = Some("it always reads the AGENTS.md of its own directory");
        return Err(cannot(start, "noContextFiles", AGENT.title(), instead));
    }
    let mut line = CommandLine::of(start);
    line.flag("acp", !start.program.iter().skip(1).any(|word| word == "acp"));
    line.words.extend(extra_arguments(start, &[])?);
    let mut warnings = Vec::new();
    let mut settings = settings(start, &mut warnings)?;
    let mut invocation = Invocation {
        command: line.words,
        state: state(start),
        preamble: added_prompt(start),
        warnings,
        ..Invocation::default()
    };
    // Its own list of sessions is the user's.
    for (name, value) in [("OPENCODE_DB", ":memory:"), ("OPENCODE_DISABLE_AUTOUPDATE", "1")] {
        invocation.environment.insert(name.to_owned(), Some(value.to_owned()));
    }
    if let Some(key) = &configuration.api_key {
        invocation.secrets.insert(variables::PI_API_KEY, key.reveal().to_owned());
    }
    match (start.variable)(SETTINGS).filter(|text| !text.trim().is_empty()) {
        // What the user has there can hold keys, so that it is written nowhere.
        Some(text) => {
            let origin = start.origin.title.clone();
            let Ok(mut own) = serde_json::from_str::<Value>(&text) else {
                return Err(StartError::NotJson { origin, variable: SETTINGS });
            };
            merge(&mut own, settings);
            settings = own;
            invocation.secrets.insert(SETTINGS, settings.to_string());
        }
        None => {
            invocation.environment.insert(SETTINGS.to_owned(), Some(settings.to_string()));
        }
    }
    Ok(invocation)
}

fn settings(start: &Start<'_>, warnings: &mut Vec<String>) -> Result<Value, StartError> {
    let Configuration { no_tools, tools, exclude_tools, .. } = start.configuration;
    let Configuration { system_prompt, no_skills, api_key, .. } = start.configuration;
    let mut settings = json!({"autoupdate": false, "share": "disabled"});
    let mut rules = Map::new();
    if *no_tools || !tools.is_empty() {
        // What is named last counts.
        rules.insert("*".to_owned(), json!("deny"));
        let (known, unknown) =
            if *no_tools { Default::default() } else { translate(tools, &TOOLS) };
        for tool in known.iter().chain(unknown.iter().filter(|tool| is_of_server(tool))) {
            rules.insert(tool.clone(), json!("allow"));
        }
        let missing = unknown.iter().filter(|tool| !is_of_server(tool));
        warnings
            .extend(missing.map(|tool| format!("{} has no tool like \"{tool}\"", AGENT.title())));
    } else {
        let (known, unknown) = translate(exclude_tools, &TOOLS);
        for tool in known.into_iter().chain(unknown) {
            rules.insert(tool, json!("deny"));
        }
    }
    if start.ask {
        for tool in ASKED {
            let is_denied = rules.get("*").or(rules.get(tool)).is_some_and(|rule| rule == "deny");
            let is_allowed = rules.get(tool).is_some_and(|rule| rule == "allow");
            if is_allowed || !is_denied {
                rules.insert(tool.to_owned(), json!("ask"));
            }
        }
    }
    if start.access == Access::Read {
        rules.insert("edit".to_owned(), json!("deny"));
    }
    if *no_skills {
        rules.insert("skill".to_owned(), json!("deny"));
    }
    if !rules.is_empty() {
        settings["permission"] = Value::Object(rules);
    }
    if let Some(prompt) = system_prompt {
        check_value(&start.origin, "body", prompt).or_else(|error| match error {
            StartError::LooksLikeOption { .. } => Ok(()),
            error => Err(error),
        })?;
        settings["agent"]["build"]["prompt"] = json!(prompt);
    }
    settings["mcp"][OWN_SERVER] = json!({"enabled": false});
    if api_key.is_some() {
        let origin = start.origin.title.clone();
        let Some(provider) = key_provider(start) else {
            return Err(StartError::KeyWithoutProvider { origin, agent: AGENT.title() });
        };
        let key = format!("{{env:{}}}", variables::PI_API_KEY);
        settings["provider"][provider]["options"]["apiKey"] = json!(key);
    }
    Ok(settings)
}

/// Whose key it is.
fn key_provider<'a>(start: &'a Start<'_>) -> Option<&'a str> {
    let Configuration { provider, model, key_provider, .. } = start.configuration;
    let named = key_provider.as_deref().or(provider.as_deref());
    named.or_else(|| Some(model.as_deref()?.split_once('/')?.0))
}

/// Whether a tool belongs to a server of the Model Context Protocol.
fn is_of_server(tool: &str) -> bool {
    tool.contains('_')
}

/// Puts settings over others.
fn merge(settings: &mut Value, over: Value) {
    match (settings, over) {
        (Value::Object(settings), Value::Object(over)) => {
            for (name, value) in over {
                merge(settings.entry(name).or_insert(Value::Null), value);
            }
        }
        (settings, over) => *settings = over,
    }
}

/// It writes logs, snapshots and caches, also of programs that it runs, beside its sign-in. So it gets links to the sign-in
/// in a directory of the run, in which it can make everything else, and nothing that outlives the run.
fn state(start: &Start<'_>) -> AgentState {
    let place = |variable: &str, usual: &str| -> Option<PathBuf> {
        let named = (start.variable)(variable).filter(|path| Path::new(path).is_absolute());
        let directory = named.map(PathBuf::from).or_else(|| Some(start.home?.join(usual)))?;
        Some(directory.join("opencode"))
    };
    let data = place(DATA, ".local/share");
    let mirror = data.clone().map(|directory| Mirror {
        directory,
        variable: DATA.to_owned(),
        beneath: Some("opencode".to_owned()),
        entries: Some(SIGN_INS.map(str::to_owned).to_vec()),
        mounted: Vec::new(),
    });
    AgentState {
        settings: place("XDG_CONFIG_HOME", ".config").into_iter().chain(data).collect(),
        mirror,
        private: ["XDG_STATE_HOME", "XDG_CACHE_HOME"].map(str::to_owned).to_vec(),
        ..AgentState::default()
    }
}
