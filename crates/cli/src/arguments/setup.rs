//! `setup`: what other programs get of this one.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct Setup {
    #[command(subcommand)]
    pub(crate) command: SetupCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SetupCommand {
    /// Give pi the sub-agents: its extension, in the agent directory
    Pi(SetupPi),
}

/// Puts the extension for pi into the agent directory.
///
/// It becomes `extensions/pi-subagents` there, with a link to this program beside it, so that both are
/// of one version. Can be repeated, for instance after an update; what is not part of the extension
/// stays as it is.
#[derive(Debug, Args)]
pub(crate) struct SetupPi {
    /// Take the extension away again
    #[arg(long)]
    pub(crate) remove: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
