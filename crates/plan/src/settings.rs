//! `settings.json`, the user's and the project's.

mod reader;

use std::collections::BTreeMap;
use std::path::PathBuf;

use model::{Access, Limits};
use serde_json::Value;

use crate::{Agent, NamedAgent, Surroundings, did_you_mean, similar_names};
use reader::Reader;

/// The settings under the key `subagents`; the project's win over the user's.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Settings {
    pub agent: Option<Agent>,
    /// The agents that the user has named, by their names.
    pub agents: BTreeMap<String, NamedAgent>,
    /// Seconds that an active agent gets beyond its timeout.
    pub extend_timeout_debounce: f64,
    /// How many identical tool calls in a row are a loop.
    pub looping_tool_count: u32,
    pub max_lines_per_window: usize,
    /// How wide the preview of a tool call may be; as wide as the terminal if absent.
    pub command_preview_width: Option<usize>,
    /// How many tasks of one call run at a time.
    pub max_concurrency: usize,
    /// How many agents of the user run at a time, over all programs and projects; what is usual for the machine if absent.
    pub machine_concurrency: Option<usize>,
    /// How many bytes of memory are kept free; what is usual if absent.
    pub memory_reserve: Option<u64>,
    pub tools: ToolFamilies,
    /// Seconds after which a call of an MCP client that cannot show progress is answered. The tasks
    /// go on.
    pub mcp_answer_after: f64,
    /// The most that agents may change, if it is set. What is usual depends on the agent.
    pub access: Option<Access>,
    /// Why the limit is not known, if it is not. No agent is started then.
    pub unknown_access: Option<String>,
    /// What agents with the access `workspace` may change besides their directories; the usual caches
    /// if absent. A path is absolute or begins with `~`.
    pub writable_paths: Option<Vec<String>>,
    /// Whether the answer of `delegate_to_subagents` holds what the agents said.
    pub inline_answers: bool,
    /// How many US dollars all agents of the user may spend on a day together.
    pub daily_cost_usd: Option<f64>,
    /// Whether the user is asked what agents ask.
    pub ask: bool,
    /// Seconds that a question of an agent waits for an answer.
    pub question_timeout: f64,
    /// The server of the fleet.
    pub fleet: FleetSettings,
}

/// How the server of the fleet is reached. Only the user's own settings say it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct FleetSettings {
    pub url: Option<String>,
    pub credentials: Option<PathBuf>,
    pub ca: Option<PathBuf>,
}

/// The names of all settings, as they stand below the key `subagents`.
pub const SETTINGS: [&str; 18] = [
    "agent",
    "agents",
    "extend_timeout_debounce",
    "looping_tool_count",
    "maxLinesPerWindow",
    "commandPreviewWidth",
    "maxConcurrency",
    "machineConcurrency",
    "memoryReserve",
    "tools",
    "mcpAnswerAfter",
    "access",
    "writablePaths",
    "inlineAnswers",
    "ask",
    "questionTimeout",
    "fleet",
    "dailyCostUsd",
];

/// One of the files that settings are read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFile {
    /// Also if there is no such file.
    pub path: PathBuf,
    /// Whether the path exists.
    pub is_there: bool,
    /// What is wrong with it, without its path.
    pub problems: Vec<String>,
    /// The keys below `subagents` that are no settings.
    pub unknown: Vec<String>,
    /// Whether no task starts until it is right, because it may limit what agents can change.
    pub blocks_tasks: bool,
}

/// The families of tools that are offered to models. Each costs tokens in every request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolFamilies {
    /// Both.
    #[default]
    All,
    /// Tools that delegate tasks, with profiles.
    Profiles,
    /// Tools that run agents with a preset, in the foreground and in the background.
    Presets,
}

impl ToolFamilies {
    const WORDS: [(&'static str, ToolFamilies); 3] = [
        ("all", ToolFamilies::All),
        ("profiles", ToolFamilies::Profiles),
        ("presets", ToolFamilies::Presets),
    ];

    fn parse(value: &Value) -> Option<ToolFamilies> {
        let word = value.as_str()?;
        ToolFamilies::WORDS.iter().find(|(known, _)| *known == word).map(|(_, families)| *families)
    }
}

impl Default for Settings {
    fn default() -> Settings {
        let limits = Limits::default();
        Settings {
            agent: None,
            agents: BTreeMap::new(),
            extend_timeout_debounce: limits.extend_timeout_debounce_ms as f64 / 1000.0,
            looping_tool_count: limits.looping_tool_count,
            max_lines_per_window: 15,
            command_preview_width: None,
            max_concurrency: 4,
            machine_concurrency: None,
            memory_reserve: None,
            tools: ToolFamilies::All,
            mcp_answer_after: 45.0,
            access: None,
            unknown_access: None,
            writable_paths: None,
            inline_answers: true,
            daily_cost_usd: None,
            ask: false,
            question_timeout: limits.question_timeout_ms as f64 / 1000.0,
            fleet: FleetSettings::default(),
        }
    }
}

/// Reads both files. What is wrong in them is a warning, and the default is used.
pub fn load_settings(surroundings: &Surroundings) -> (Settings, Vec<String>) {
    let reader = Reader::of(surroundings);
    let warnings = reader.files.iter().flat_map(|file| {
        let problems = file.problems.iter().cloned();
        let problems = problems.chain(file.unknown.iter().filter_map(|name| mistyped(name)));
        problems.map(|problem| format!("{}: {problem}", file.path.display()))
    });
    (reader.settings, warnings.collect())
}

/// What to say of a name that is nearly a setting: it may be a limit that its user counts on. `doctor` tells of the others.
fn mistyped(name: &str) -> Option<String> {
    // Its warning says more.
    if !similar_names(name, ["access"]).is_empty() {
        return None;
    }
    let similar = similar_names(name, SETTINGS);
    let meant = did_you_mean(&similar);
    (!similar.is_empty()).then(|| format!("there is no setting \"subagents.{name}\".{meant}"))
}

/// What was found in both files, the user's first.
pub fn inspect_settings(surroundings: &Surroundings) -> Vec<SettingsFile> {
    Reader::of(surroundings).files
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
