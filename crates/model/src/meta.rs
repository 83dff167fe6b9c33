//! What a run is, before anything has happened in it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::short_text::short;
use crate::{
    Access, AccessPaths, Admission, Budget, CallId, Ledger, RunId, SessionId, WorktreePlan,
    short_optional_text, short_path, short_text,
};

/// The version of the run directory's format. A directory with a higher one is read as far as it
/// can be understood, and never written.
pub const FORMAT: u32 = 1;

/// Everything that the supervisor must know to carry out a run, except for the prompt (which has
/// a file of its own) and secrets (which are in no file): the contents of `meta.json`.
///
/// Thousands of runs of one call can wait, and share what is the same for all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Meta {
    pub format: u32,
    /// Also the name of the run's directory.
    pub run_id: RunId,
    pub session_id: SessionId,
    /// The call that asked for the run. Runs of earlier versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    #[serde(deserialize_with = "short_text")]
    pub name: String,
    pub owner: Owner,
    pub lifetime: Lifetime,
    /// What carries it out. Runs of earlier versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentKind>,
    /// The word for how the child speaks; runs of earlier versions speak pi's protocol. A word and
    /// not a closed set: an earlier version lists a run whose protocol it does not know.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "short_optional_text"
    )]
    pub protocol: Option<String>,
    pub command: Vec<String>,
    #[serde(deserialize_with = "short_path")]
    pub cwd: PathBuf,
    /// The directory of the run's own cgroup, where one can be had. Its last part is named after the
    /// run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<PathBuf>,
    /// Variables that are set in the child's environment, or, where there is no value, removed.
    pub environment: Arc<BTreeMap<String, Option<String>>>,
    /// What the agent may change. Runs of earlier versions could change everything.
    #[serde(default)]
    pub access: Access,
    /// The worktree of its own in which the agent works. Its task's directory is then the one below it that `cwd` is
    /// below the root of its repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<Box<WorktreePlan>>,
    /// Only of a run whose access is restricted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_paths: Option<Box<AccessPaths>>,
    /// The model that the agent is told to use, as the list of models spells it. Earlier versions called
    /// it `model`.
    #[serde(
        default,
        rename = "resolvedModel",
        alias = "model",
        skip_serializing_if = "Option::is_none",
        deserialize_with = "short_optional_text"
    )]
    pub model: Option<String>,
    /// The provider that was asked for, where it was named apart from the model.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "short_optional_text"
    )]
    pub provider: Option<String>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "short_optional_text"
    )]
    pub thinking_level: Option<String>,
    /// The models that the agent continues with when the one before has failed for good, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback_models: Vec<String>,
    /// How the agent is started with each of them, unless it changes its model by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback_starts: Vec<FallbackStart>,
    /// The model as the caller, the profile or the preset writes it.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "short_optional_text"
    )]
    pub requested_model: Option<String>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "short_optional_text"
    )]
    pub profile: Option<String>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "short_optional_text"
    )]
    pub preset: Option<String>,
    /// The scope of the preset, `global` or `project`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "short_optional_text"
    )]
    pub preset_source: Option<String>,
    /// The tools that the preset allows, if it allows only some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// What a profile puts in place of the agent's system prompt, or a preset adds to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// The file in the run directory that has the same text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt_path: Option<PathBuf>,
    /// What the caller asked for. The prompt can hold more: files, or what was said in earlier runs of
    /// the session. Runs of earlier versions name it only then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    pub limits: Limits,
    /// What must succeed after the agent's last word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<ShellCommand>,
    /// The JSON Schema that the answer must fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// Where the programs of the user write down what they learn and spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<Arc<Ledger>>,
    /// What decides when the agent may start. Without it, the agent starts at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admission: Option<Arc<Admission>>,
    /// Whether its supervisor takes messages to the agent, be it to refuse them. Those of earlier
    /// versions do not look for any.
    #[serde(default)]
    pub takes_messages: bool,
    /// Whether what the agent asks is asked of the user, and the agent asks. Otherwise it is answered at
    /// once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ask: bool,
    /// When it was asked for, in milliseconds since 1970.
    pub created_at: u64,
}

impl Meta {
    /// More fallback models are left out.
    pub const FALLBACK_MODELS: usize = 8;

    /// Forgets what only the start of the child needs, which is most of it: for lists and windows of
    /// many runs.
    pub fn forget_start(&mut self) {
        self.command = Vec::new();
        self.environment = Arc::default();
        self.fallback_starts = Vec::new();
        self.access_paths = None;
        self.ledger = None;
        self.admission = None;
        self.system_prompt = None;
        self.schema = None;
    }

    /// The same run with another model.
    #[must_use]
    pub fn with_fallback(&self, start: FallbackStart) -> Meta {
        let FallbackStart { model, command, environment } = start;
        // The name of a fallback model says which provider it has.
        let environment = Arc::new(environment);
        Meta { model: Some(model), provider: None, command, environment, ..self.clone() }
    }
}

/// How an agent is started with another model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are those of `Meta`")]
pub struct FallbackStart {
    pub model: String,
    pub command: Vec<String>,
    pub environment: BTreeMap<String, Option<String>>,
}

/// A command that prepares or judges the agent's work: it succeeds if it exits with code 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShellCommand {
    /// For `sh -c`, in the directory of the agent.
    pub command: String,
    /// A command that runs longer is stopped, and has failed.
    pub timeout_ms: u64,
}

impl ShellCommand {
    /// How long it may run if no time is named.
    pub const TIMEOUT_MS: u64 = 600_000;
}

/// Who asked for a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Owner {
    pub kind: OwnerKind,
    /// Which session or client, where the door has such a thing.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "short_optional_text"
    )]
    pub id: Option<String>,
}

/// The door through which a run was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum OwnerKind {
    Shell,
    Pi,
    Mcp,
}

/// What carries out a run. A word in files, so that an earlier version lists a run of an agent that it
/// does not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum AgentKind {
    /// pi.
    Pi,
    /// Our own agent: the program that supervises it, started once more.
    Builtin,
    /// A program that has no name here.
    Program,
    /// An agent of another make, or one that the user has named.
    Named(String),
}

impl AgentKind {
    /// The word for it, the same in files, in arguments and on the screen.
    pub fn word(&self) -> &str {
        match self {
            AgentKind::Pi => "pi",
            AgentKind::Builtin => "builtin",
            AgentKind::Program => "program",
            AgentKind::Named(name) => name,
        }
    }
}

impl From<String> for AgentKind {
    fn from(word: String) -> AgentKind {
        match word.as_str() {
            "pi" => AgentKind::Pi,
            "builtin" => AgentKind::Builtin,
            "program" => AgentKind::Program,
            _ => AgentKind::Named(short(word)),
        }
    }
}

impl From<AgentKind> for String {
    fn from(kind: AgentKind) -> String {
        kind.word().to_owned()
    }
}

/// Whether a run ends with its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifetime {
    /// It ends when its parent dies.
    Foreground,
    /// It outlives its parent.
    Background,
}

/// When a run is stopped by itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// How long the child may run; no limit if absent.
    pub timeout_ms: Option<u64>,
    /// How long after its last tool activity a child that is over its time is left alone.
    pub extend_timeout_debounce_ms: u64,
    /// How many identical tool calls in a row are a loop; zero turns the rule off.
    pub looping_tool_count: u32,
    /// How long a question of the agent waits for an answer. Runs of earlier versions ask nothing.
    #[serde(default = "question_timeout")]
    pub question_timeout_ms: u64,
    /// How much the run may spend.
    #[serde(default, skip_serializing_if = "Budget::is_unlimited")]
    pub budget: Budget,
    /// How large each log of the run may grow.
    pub log_bytes: u64,
}

impl Limits {
    /// The largest size of each log.
    pub const LOG_BYTES: u64 = 8 * 1024 * 1024;
    /// How long a question waits if the settings do not say.
    pub const QUESTION_TIMEOUT_MS: u64 = 120_000;
}

fn question_timeout() -> u64 {
    Limits::QUESTION_TIMEOUT_MS
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            timeout_ms: Some(600_000),
            extend_timeout_debounce_ms: 30_000,
            looping_tool_count: 5,
            question_timeout_ms: Limits::QUESTION_TIMEOUT_MS,
            budget: Budget::default(),
            log_bytes: Limits::LOG_BYTES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_a_word_and_an_unknown_one_a_name() {
        let named = AgentKind::Named("claude".to_owned());
        for kind in [AgentKind::Pi, AgentKind::Builtin, AgentKind::Program, named] {
            let word = serde_json::to_value(&kind).unwrap();
            assert_eq!(word, kind.word());
            assert_eq!(serde_json::from_value::<AgentKind>(word).unwrap(), kind);
        }
        let planted = AgentKind::from("x".repeat(1_000_000));
        assert!(planted.word().len() < 1000);
    }
}
