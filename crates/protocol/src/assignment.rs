//! What an agent is to do, and within which bounds, as far as those must know it who speak with the agent.

use std::path::PathBuf;

use model::{Access, Meta};

/// What an agent is told, and what its reader must know to answer what the agent asks.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Assignment {
    pub prompt: String,
    pub cwd: PathBuf,
    /// What the agent may change. The system enforces it.
    pub access: Access,
    /// Whether the user is asked what the access does not answer.
    pub ask: bool,
    /// The name of the agent.
    pub agent: String,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub thinking_level: Option<String>,
}

impl Assignment {
    /// What a run is about.
    pub fn new(meta: &Meta, prompt: String) -> Assignment {
        Assignment {
            prompt,
            cwd: meta.cwd.clone(),
            access: meta.access,
            ask: meta.ask,
            agent: meta.agent.as_ref().map(|agent| agent.word().to_owned()).unwrap_or_default(),
            provider: meta.provider.clone(),
            model: meta.model.clone(),
            thinking_level: meta.thinking_level.clone(),
        }
    }
}
