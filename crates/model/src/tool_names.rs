//! The names of our tools, the same for models, in calls and on the screen.
#![expect(missing_docs, reason = "the names say it")]

pub const DELEGATE: &str = "delegate_to_subagents";
pub const OUTPUT: &str = "get_subagent_output";
pub const SESSION: &str = "get_subagent_session";
pub const PROFILES: &str = "list_subagent_profiles";
pub const SUBAGENT: &str = "subagent";
pub const BACKGROUND: &str = "background_agent";
pub const STATUS: &str = "background_agent_status";
pub const CONTROL: &str = "background_agent_control";
