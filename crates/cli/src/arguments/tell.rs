//! The arguments of `tell`.

use clap::Args;
use clap_complete::ArgValueCandidates;

use crate::candidates;

/// Tell a running agent something
///
/// The agent reads the message before it asks its model the next time, whichever program started it.
/// The command ends when the run has accepted the message; with --wait, when the agent has read it.
/// Codex, and programs given as an array, cannot be spoken to: for them, and for a run that has ended,
/// the message is refused, and the exit code is 1.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents tell review \"Not there, look in src/\"
  pi-subagents tell @last --wait \"Use the new API\"
  pi-subagents tell review --after \"Now write the changelog\"
  pi-subagents tell review --interrupt \"Stop the tests, they take too long\"")]
pub(crate) struct Tell {
    /// The run: a task's name, `@last`, or the id of a run or session, or its beginning
    #[arg(value_name = "RUN", add = ArgValueCandidates::new(candidates::sessions))]
    pub(crate) run: String,

    /// What to tell the agent; `-` reads it from standard input
    pub(crate) message: String,

    /// Deliver the message when the agent would have ended, as a further turn of the same run
    #[arg(long, conflicts_with = "interrupt")]
    pub(crate) after: bool,

    /// Stop what the agent is doing, and go on with the message
    #[arg(long)]
    pub(crate) interrupt: bool,

    /// Wait until the agent has read the message and its model has begun to answer
    #[arg(long)]
    pub(crate) wait: bool,

    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
