//! What decides when the agents of a user may start.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where the programs of a user agree on what may start, and the limits of the user's settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Admission {
    /// The directories that can hold the locks, the best first. All programs take the first one that is, or can be made, this
    /// user's alone.
    pub directories: Vec<PathBuf>,
    /// How many agents run at a time, over all programs and projects.
    pub machine_concurrency: usize,
    /// How many bytes of memory are kept free; absent for what is usual. With zero,
    /// memory decides nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_reserve: Option<u64>,
}
