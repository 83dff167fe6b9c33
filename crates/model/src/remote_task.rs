//! A task that another machine carries out.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Access, Limits};

/// The machines of the fleet that carry out a task, in place of this one: `fleet`, or `fleet:POOL`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FleetPool(String);

/// The text says nothing of where a task is carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} must be \"fleet\", or \"fleet:POOL\" with the name of a pool of workers")]
pub struct InvalidPool(String);

impl FleetPool {
    /// The pool of tasks and workers that name none.
    pub const DEFAULT: &str = "default";

    /// Reads where a task is carried out.
    pub fn parse(text: &str) -> Result<FleetPool, InvalidPool> {
        let invalid = || InvalidPool(text.chars().take(80).collect());
        let rest = text.strip_prefix("fleet").ok_or_else(invalid)?;
        if rest.is_empty() {
            return FleetPool::named(FleetPool::DEFAULT);
        }
        let pool = rest.strip_prefix(':').and_then(|name| FleetPool::named(name).ok());
        pool.ok_or_else(invalid)
    }

    /// The pool with this name.
    pub fn named(name: &str) -> Result<FleetPool, InvalidPool> {
        let invalid = || InvalidPool(format!("fleet:{name}").chars().take(80).collect());
        if is_fleet_name(name) { Ok(FleetPool(name.to_owned())) } else { Err(invalid()) }
    }

    /// The name of the pool.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for FleetPool {
    type Error = InvalidPool;

    fn try_from(text: String) -> Result<FleetPool, InvalidPool> {
        FleetPool::parse(&text)
    }
}

impl From<FleetPool> for String {
    fn from(pool: FleetPool) -> String {
        format!("fleet:{}", pool.0)
    }
}

/// Whether a text can name a pool, a batch or a task of the fleet: 1 to 128 letters, digits, dots, hyphens and underscores,
/// of which the first is a letter or digit.
pub fn is_fleet_name(text: &str) -> bool {
    let is_inner = |byte: u8| matches!(byte, b'.' | b'-' | b'_');
    let is_safe = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || is_inner(byte));
    let begins = text.bytes().next().is_some_and(|byte| !is_inner(byte));
    is_safe && begins && text.len() <= 128
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_named_behind_the_word() {
        let named = |text: &str| FleetPool::parse(text).map(|pool| pool.name().to_owned());
        assert_eq!(named("fleet"), Ok("default".to_owned()));
        assert_eq!(named("fleet:gpu.large"), Ok("gpu.large".to_owned()));
        for text in ["", "fleet:", "fleets", "gpu", "fleet:*", "fleet:a b", "fleet:.a"] {
            assert!(named(text).is_err(), "{text}");
        }
        let pool = FleetPool::parse("fleet:gpu").unwrap();
        let text = serde_json::to_string(&pool).unwrap();
        assert_eq!(serde_json::from_str::<FleetPool>(&text).unwrap(), pool);
    }
}
