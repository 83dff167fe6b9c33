//! What is recorded of the processes of a run, for programs that must find them without its supervisor.

use serde::{Deserialize, Serialize};

/// What tells the agent of a run from every other process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentProcess {
    /// In clock ticks since the machine was started.
    pub start_time: u64,
    /// The start of the machine and the namespace in which the process id means this process.
    pub pid_space: String,
    /// How many processes the machine had started by then, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forks: Option<u64>,
    /// Whether the agent was started in the cgroup that `meta.json` names.
    #[serde(default)]
    pub in_cgroup: bool,
}

/// What was perhaps left of a run when it ended. A run of which nothing was left has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Leftovers {
    /// The processes that are known.
    #[serde(default)]
    pub processes: Vec<LeftProcess>,
    /// Where their ids mean these processes; see [`AgentProcess`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid_space: Option<String>,
    /// Why there may be others, if there may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

/// A process that was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names say the rest")]
pub struct LeftProcess {
    pub pid: u32,
    /// In clock ticks since the machine was started.
    pub start_time: u64,
}
