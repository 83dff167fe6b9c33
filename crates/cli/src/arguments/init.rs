//! `init`: presets to begin with.

use clap::Args;
use clap_complete::ArgValueCandidates;

use crate::candidates;

/// Write presets to begin with: scout, reviewer, worker, planner
///
/// They are files of your own, in the agent directory, with the model that is the default now. On a
/// terminal it asks which ones you want; elsewhere name them, or use --all. It never replaces a
/// file.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents init
  pi-subagents init scout reviewer
  pi-subagents init --all --model anthropic/claude-haiku-4-5")]
pub(crate) struct Init {
    /// The presets to write
    #[arg(value_name = "NAME", conflicts_with = "all", add = ArgValueCandidates::new(candidates::starters))]
    pub(crate) names: Vec<String>,

    /// Write all of them
    #[arg(long)]
    pub(crate) all: bool,

    /// Write this model into them [default: the model that tasks use without a profile or preset]
    #[arg(long)]
    pub(crate) model: Option<String>,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
