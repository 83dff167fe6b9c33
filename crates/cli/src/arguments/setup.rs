//! `setup`: what other programs get of this one.

use clap::{Args, Subcommand};

/// Put what this program carries where other programs find it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents setup pi")]
pub(crate) struct Setup {
    #[command(subcommand)]
    pub(crate) command: SetupCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SetupCommand {
    Pi(SetupPi),
}

/// Give pi the sub-agents: its extension, in the agent directory
///
/// It becomes `extensions/pi-subagents` there, with a link to this program beside it, so that both are
/// of one version. Can be repeated, for instance after an update; what is not part of the extension
/// stays as it is.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents setup pi
  pi-subagents setup pi --remove")]
pub(crate) struct SetupPi {
    /// Take the extension away again
    #[arg(long)]
    pub(crate) remove: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
