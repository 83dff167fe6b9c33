//! `doctor`: what is installed and what is missing.

use clap::Args;

/// Show what is installed, what is missing and how to fix it
///
/// Checks agents, keys, models, profiles, presets, settings, pi's extension and the recorded runs. It
/// changes nothing, and shows only the names of keys. The exit code is 1 if there is a problem (✗),
/// and 0 otherwise, also with warnings (!).
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents doctor
  pi-subagents doctor --ping
  pi-subagents doctor --json | jq '.findings[] | select(.level != \"fine\")'")]
pub(crate) struct Doctor {
    /// Also ask the default model for one word, and tell how long it took; the run is recorded like
    /// any other
    #[arg(long)]
    pub(crate) ping: bool,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
