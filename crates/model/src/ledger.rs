//! Where the programs of a user write down what they learn and spend.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::short_path;

/// Where the programs of a user write down what they learn of agents and providers and what they spend, and the limit of the
/// user's settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ledger {
    /// The directory, which lasts.
    #[serde(deserialize_with = "short_path")]
    pub directory: PathBuf,
    /// How many US dollars all agents of the user may spend on a day together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_cost_usd: Option<f64>,
}
