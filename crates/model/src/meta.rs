//! What a run is, before anything has happened in it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{CallId, RunId, SessionId};

/// The version of the run directory's format. A directory with a higher one is read as far as it
/// can be understood, and never written.
pub const FORMAT: u32 = 1;

/// Everything that the supervisor must know to carry out a run, except for the prompt (which has
/// a file of its own) and secrets (which are in no file): the contents of `meta.json`.
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
    pub name: String,
    pub owner: Owner,
    pub lifetime: Lifetime,
    /// What carries it out. Runs of earlier versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentKind>,
    /// The word for how the child speaks; runs of earlier versions speak pi's protocol. A word and
    /// not a closed set: an earlier version lists a run whose protocol it does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    pub command: Vec<String>,
    pub cwd: PathBuf,
    /// Variables that are set in the child's environment, or, where there is no value, removed.
    pub environment: BTreeMap<String, Option<String>>,
    pub model: Option<String>,
    /// The provider that was asked for, where it was named apart from the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<String>,
    /// The model as it was written, where the list of models spells it in another way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// The scope of the preset, `global` or `project`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset_source: Option<String>,
    /// The tools that the preset allows, if it allows only some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// What the caller asked for, where the prompt holds more than that (files, or what was said
    /// in earlier runs of the session), and for background runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    pub limits: Limits,
    /// When it was asked for, in milliseconds since 1970.
    pub created_at: u64,
}

/// Who asked for a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct Owner {
    pub kind: OwnerKind,
    /// Which session or client, where the door has such a thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

/// What carries out a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum AgentKind {
    Pi,
    /// Our own agent: the program that supervises it, started once more.
    Builtin,
    Program,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// How long the child may run; no limit if absent.
    pub timeout_ms: Option<u64>,
    /// How long after its last tool activity a child that is over its time is left alone.
    pub extend_timeout_debounce_ms: u64,
    /// How many identical tool calls in a row are a loop; zero turns the rule off.
    pub looping_tool_count: u32,
    /// How large each log of the run may grow.
    pub log_bytes: u64,
}

impl Limits {
    /// The largest size of each log.
    pub const LOG_BYTES: u64 = 8 * 1024 * 1024;
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            timeout_ms: Some(600_000),
            extend_timeout_debounce_ms: 30_000,
            looping_tool_count: 5,
            log_bytes: Limits::LOG_BYTES,
        }
    }
}
