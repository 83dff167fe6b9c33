//! `status`: everything of this user on this machine.

use clap::Args;

/// Show which agents run and wait on this machine, in all of your projects
///
/// Says how many agents may run at a time, why others wait and since when, how much memory is free, which providers have
/// refused requests, and what was spent today. It changes nothing.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents status
  pi-subagents status --json | jq '.waiting[].waiting'
  pi-subagents watch --everywhere")]
pub(crate) struct MachineStatus {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
