//! `models`: what can be asked here.

use clap::Args;

/// List the models that agents can use here, and which one is the default
///
/// Lists the models of the built-in agent for which there is a key, and those that pi lists, where pi is
/// installed. No model is asked. The default is marked with `*`. The exit code is 1 if there is no
/// such model.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents models
  pi-subagents models sonnet
  pi-subagents models --json | jq -r '.default.model'")]
pub(crate) struct Models {
    /// List only models with this text in their provider, id or name
    pub(crate) pattern: Option<String>,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
