//! `doctor`: what is found and what is missing.

use clap::Args;

/// Tell what is found and what is missing, with remedies
///
/// Looks at agents, keys, profiles, presets, settings, pi's extension and what is kept of runs, and
/// changes nothing. Keys are told by the names of their providers and variables only. The exit code
/// is 1 if something is wrong (✗), and 0 otherwise; warnings (!) alone do not count.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents doctor
  pi-subagents doctor --json | jq '.findings[] | select(.level != \"fine\")'")]
pub(crate) struct Doctor {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
