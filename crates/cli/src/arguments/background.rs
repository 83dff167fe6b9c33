//! `bg`: runs that go on by themselves.

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;

use crate::candidates;
use crate::notification::NotifyArguments;

use super::{AgentArguments, OutputArguments, WorkArguments, seconds};

/// Run tasks that outlive this command
///
/// Ids are those of runs, or beginnings of them that no other run has. `list` and `status` also say,
/// once and to standard error, which runs of the command line have ended.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  id=$(pi-subagents bg start --preset scout \"Where are errors handled?\")
  pi-subagents bg logs -f $id
  pi-subagents bg wait $id --timeout 600 && pi-subagents bg status $id
  pi-subagents bg stop $id")]
pub(crate) struct Background {
    #[command(subcommand)]
    pub(crate) command: BackgroundCommand,
}

impl Background {
    pub(crate) fn is_plain(&self) -> bool {
        matches!(&self.command, BackgroundCommand::Start(start) if start.output.plain)
    }
}

/// Each says at its own arguments what it does.
#[derive(Debug, Subcommand)]
pub(crate) enum BackgroundCommand {
    Start(Box<Start>),
    #[command(alias = "ls")]
    List(List),
    Status(Status),
    Wait(Wait),
    Logs(Logs),
    Stop(Stop),
}

/// Start a run and print its id
///
/// The run goes on when this command, its terminal or its whole session is gone.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  id=$(pi-subagents bg start --preset scout \"Where are errors handled?\")
  git diff | pi-subagents bg start --preset reviewer --name review -")]
pub(crate) struct Start {
    /// What the agent is told; `-` reads it from standard input
    #[arg(value_name = "TASK")]
    pub(crate) task: String,

    /// The preset that configures the agent; it must name a model, unless --model does
    #[arg(long, add = ArgValueCandidates::new(candidates::presets))]
    pub(crate) preset: String,

    /// What the run is called [default: the name of the preset]
    #[arg(long)]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) work: WorkArguments,

    #[command(flatten)]
    pub(crate) agent: AgentArguments,

    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// List the runs that have not ended
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents bg list
  pi-subagents bg list --all --everyone")]
pub(crate) struct List {
    /// Also those that have ended
    #[arg(long)]
    pub(crate) all: bool,
    /// Also those that pi sessions and other programs have started
    #[arg(long)]
    pub(crate) everyone: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Tell how a run stands, or how many there are
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents bg status
  pi-subagents bg status $id --json")]
pub(crate) struct Status {
    /// The run; all of the command line if absent
    #[arg(add = ArgValueCandidates::new(candidates::background_runs))]
    pub(crate) id: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Wait until runs have ended
///
/// The answer of a single run goes to standard output, as with `run`; of several, a line for each. The
/// exit code is 0 if all of them completed, and 1 if one did not, or if the time was over before. Ctrl-C ends the waiting, not the runs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents bg wait $id --timeout 600
  pi-subagents bg wait $first $second")]
pub(crate) struct Wait {
    /// The runs
    #[arg(
        required = true,
        value_name = "ID",
        add = ArgValueCandidates::new(candidates::background_runs)
    )]
    pub(crate) ids: Vec<String>,
    /// Wait no longer than this
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<f64>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) notify: NotifyArguments,
}

/// Print what a run did and said
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents bg logs $id
  pi-subagents bg logs -f $id")]
pub(crate) struct Logs {
    /// The run
    #[arg(add = ArgValueCandidates::new(candidates::background_runs))]
    pub(crate) id: String,
    /// Go on until the run has ended
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Print the events instead, a JSON document in each line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Stop runs with everything that they started
///
/// Returns when nothing of them is left: SIGTERM, five seconds, SIGKILL.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  pi-subagents bg stop $id
  pi-subagents bg stop --now $first $second")]
pub(crate) struct Stop {
    /// The runs
    #[arg(
        required = true,
        value_name = "ID",
        add = ArgValueCandidates::new(candidates::running_background_runs)
    )]
    pub(crate) ids: Vec<String>,
    /// SIGKILL at once
    #[arg(long)]
    pub(crate) now: bool,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
