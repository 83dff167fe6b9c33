//! A task that another machine carries out.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Access, Limits};

/// Everything that another machine must know of a task to plan it with its own agents and keys. It has no secret, and names
/// no program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are those of `Meta`")]
pub struct RemoteTask {
    pub name: String,
    /// With its files and what was said in the session before, but without what an agent adds.
    pub prompt: String,
    /// The task without what was put around it.
    pub task: String,
    /// The name of an agent; that machine's usual one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The profile or preset, with what the task changes about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<RemoteDefinition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback_models: Vec<String>,
    /// The most that the agent may change, if the caller says so; else what is usual for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    pub limits: Limits,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Seconds until the check is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_timeout: Option<f64>,
    /// Whether what the agent asks is asked of the user.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ask: bool,
}

/// A profile or preset as the text of its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say it")]
pub struct RemoteDefinition {
    pub is_preset: bool,
    pub name: String,
    pub text: String,
}
